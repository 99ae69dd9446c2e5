import { startSmtpServer } from '../test/support/mail-sink.ts'

/**
 * A real SMTP server that reads every message and keeps none. Run as a process of its own; it prints its port,
 * then answers each line "count" on standard input with how many messages have come, and when (epoch ms), how many of
 * them came more than once, and when the last one to an address that begins with "fresh" came. A line "hold N" has each
 * answer wait for N milliseconds from then on. A line "fresh N" is answered when as many to addresses that begin with
 * "fresh" have come, or after ten seconds: who measures them need not ask all the time.
 */
const LONGEST_WAIT_MS = 10_000

let count = 0
let first = 0
let last = 0
let fresh = 0
let freshAt = 0
let holdMs = 0
const seen = new Set<string>()
let repeated = 0
let awaited = Number.POSITIVE_INFINITY
let overdue: NodeJS.Timeout | undefined

const { port } = await startSmtpServer({
  disabledCommands: ['AUTH', 'STARTTLS'],
  onData(stream, { envelope }, callback) {
    stream.on('end', () => {
      count += 1
      last = Date.now()
      if (count === 1) first = last
      note(envelope.rcptTo[0]?.address ?? '')
      setTimeout(callback, holdMs)
    })
    stream.resume()
  },
})

/** Every recipient of the benches gets one message. */
function note(to: string): void {
  if (to.startsWith('fresh')) {
    fresh += 1
    freshAt = last
    if (fresh >= awaited) tell()
  }
  if (seen.has(to)) repeated += 1
  seen.add(to)
}

console.log(JSON.stringify({ port }))

process.stdin.setEncoding('utf8')
process.stdin.on('data', (line: string) => {
  if (line.includes('reset')) {
    count = 0
    first = 0
    fresh = 0
    repeated = 0
    seen.clear()
  }
  if (line.startsWith('hold')) holdMs = Number(line.split(' ')[1])
  if (line.startsWith('fresh')) {
    awaited = Number(line.split(' ')[1])
    if (fresh < awaited) {
      overdue = setTimeout(tell, LONGEST_WAIT_MS)
      return
    }
  }
  tell()
})
process.stdin.on('end', () => process.exit(0))

function tell(): void {
  awaited = Number.POSITIVE_INFINITY
  clearTimeout(overdue)
  console.log(JSON.stringify({ count, first, last, fresh, freshAt, repeated }))
}
