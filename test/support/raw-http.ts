import { connect, type Socket } from 'node:net'

export type RawAnswer = { status: number; headers: Record<string, string>; body: string }

/** A connection on which a test writes bytes as it likes, and reads the answers to what it wrote. */
export type RawConnection = {
  socket: Socket
  write: (data: string | Buffer) => void
  /** The next answer; fails when the server closes the connection instead, or takes too long. */
  answer: (options?: { head?: boolean }) => Promise<RawAnswer>
  /** Resolves when the server has closed its side; ours may still send. */
  closed: Promise<void>
  /** What broke the connection, if something did. */
  broken: () => Error | null
  end: () => void
}

const TIMEOUT_MS = 10_000

export function openRaw(url: string): RawConnection {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  let received: Buffer = Buffer.alloc(0)
  let failure: Error | null = null
  let broken: Error | null = null
  let changed = () => {}
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    changed()
  })
  const fail = (error: Error) => {
    failure ??= error
    changed()
  }
  socket.on('error', (error) => {
    broken = error
    fail(error)
  })
  const closed = new Promise<void>((resolve) => {
    for (const event of ['end', 'close']) {
      socket.on(event, () => {
        fail(new Error('the server has closed the connection'))
        resolve()
      })
    }
  })
  const answer = (options: { head?: boolean } = {}) =>
    new Promise<RawAnswer>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer, only: ${received}`)), TIMEOUT_MS)
      changed = () => {
        const parsed = takeAnswer(received, options.head ?? false)
        if (!parsed && !failure) return
        clearTimeout(timer)
        changed = () => {}
        if (!parsed) return reject(failure)
        received = parsed.rest
        resolve(parsed.answer)
      }
      changed()
    })
  return {
    socket,
    write: (data) => socket.write(data),
    answer,
    closed,
    broken: () => broken,
    end: () => socket.destroy(),
  }
}

/** The first whole answer of what was received, without interim (1xx) ones; null when more has to come. */
function takeAnswer(received: Buffer, head: boolean): { answer: RawAnswer; rest: Buffer } | null {
  const end = received.indexOf('\r\n\r\n')
  if (end === -1) return null
  const [statusLine = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n')
  const status = Number(statusLine.split(' ')[1])
  const rest = received.subarray(end + 4)
  if (status < 200) return takeAnswer(rest, head)
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const length = head ? 0 : Number(headers['content-length'] ?? 0)
  if (rest.length < length) return null
  return {
    answer: { status, headers, body: rest.subarray(0, length).toString() },
    rest: rest.subarray(length),
  }
}
