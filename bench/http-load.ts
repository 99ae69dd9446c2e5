import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A request that is ready to be written; `at` makes each one different. */
export type RequestAt = (index: number) => { path: string; key: string; body: object }

export type LoadResult = { rate: number; p50: number; p95: number; p99: number; failed: number }

const percentile = (sorted: number[], part: number) => sorted[Math.floor((sorted.length - 1) * part)] ?? 0

export const percentileOf = (latencies: number[]): LoadResult => summary(latencies, 1, 0)

export function summary(latencies: number[], seconds: number, failed: number): LoadResult {
  const sorted = latencies.toSorted((a, b) => a - b)
  return {
    rate: latencies.length / seconds,
    p50: percentile(sorted, 0.5),
    p95: percentile(sorted, 0.95),
    p99: percentile(sorted, 0.99),
    failed,
  }
}

/**
 * Posts over kept-alive connections as fast as answers come, for so many seconds or requests. Written on bare
 * sockets, because a load generator takes its share of the two cores that it measures.
 */
export async function load(
  url: string,
  requestAt: RequestAt,
  options: { connections: number; seconds: number; requests?: number },
): Promise<LoadResult> {
  const { hostname, port } = new URL(url)
  const state = { next: 0, failed: 0, latencies: [] as number[] }
  const startedAt = performance.now()
  const deadline = startedAt + options.seconds * 1000
  const more = () =>
    performance.now() < deadline && state.next < (options.requests ?? Number.POSITIVE_INFINITY)
  const runners = Array.from({ length: options.connections }, async () => {
    const socket = connect(Number(port), hostname)
    socket.setNoDelay(true)
    await once(socket, 'connect')
    const answers = readAnswers(socket)
    while (more()) {
      const bytes = encode(hostname, requestAt(state.next++))
      const sentAt = performance.now()
      socket.write(bytes)
      const { value: status } = await answers.next()
      state.latencies.push(performance.now() - sentAt)
      if (status !== 200) state.failed += 1
    }
    socket.destroy()
  })
  await Promise.all(runners)
  return summary(state.latencies, (performance.now() - startedAt) / 1000, state.failed)
}

function encode(host: string, { path, key, body }: ReturnType<RequestAt>): string {
  const json = JSON.stringify(body)
  return `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`
}

/** Status codes of the answers on a connection; every answer has a Content-Length. */
async function* readAnswers(socket: Socket): AsyncGenerator<number> {
  let rest = ''
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    rest += chunk.toString('latin1')
    for (;;) {
      const head = rest.indexOf('\r\n\r\n')
      if (head === -1) break
      const length = Number(/content-length: (\d+)/i.exec(rest.slice(0, head))?.[1] ?? 0)
      if (rest.length < head + 4 + length) break
      const status = Number(rest.slice(9, 12))
      rest = rest.slice(head + 4 + length)
      yield status
    }
  }
}
