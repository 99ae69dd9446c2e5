const LONGEST_WAIT_MS = 10_000

/**
 * Counts what a stand-in for a provider takes, and tells: it prints `hello`, then answers each line "count" on standard
 * input with how many messages have come in how many calls, and when (epoch ms), how many of them came more than once,
 * and when the last one to an address that begins with "fresh" came. A line "hold N" has each answer wait for N
 * milliseconds from then on. A line "fresh N" is answered when as many to addresses that begin with "fresh" have come, or
 * after ten seconds: who measures them need not ask all the time.
 */
export function countArrivals(hello: object) {
  const counts = { count: 0, calls: 0, first: 0, last: 0, fresh: 0, freshAt: 0, repeated: 0 }
  const seen = new Set<string>()
  let holdMs = 0
  let awaited = Number.POSITIVE_INFINITY
  let overdue: NodeJS.Timeout | undefined

  function tell(): void {
    awaited = Number.POSITIVE_INFINITY
    clearTimeout(overdue)
    console.log(JSON.stringify(counts))
  }

  console.log(JSON.stringify(hello))
  process.stdin.setEncoding('utf8')
  process.stdin.on('data', (line: string) => {
    if (line.includes('reset')) {
      Object.assign(counts, { count: 0, calls: 0, first: 0, fresh: 0, repeated: 0 })
      seen.clear()
    }
    if (line.startsWith('hold')) holdMs = Number(line.split(' ')[1])
    if (line.startsWith('fresh')) {
      awaited = Number(line.split(' ')[1])
      if (counts.fresh < awaited) {
        overdue = setTimeout(tell, LONGEST_WAIT_MS)
        return
      }
    }
    tell()
  })
  process.stdin.on('end', () => process.exit(0))

  /** Every recipient of the benches gets one message. */
  function note(to: string): void {
    if (to.startsWith('fresh')) {
      counts.fresh += 1
      counts.freshAt = counts.last
      if (counts.fresh >= awaited) tell()
    }
    if (seen.has(to)) counts.repeated += 1
    seen.add(to)
  }

  return {
    /** Notes a call; resolves when it is to be answered. */
    async take(recipients: string[]): Promise<void> {
      counts.last = Date.now()
      if (counts.count === 0) counts.first = counts.last
      counts.calls += 1
      counts.count += recipients.length
      for (const to of recipients) note(to)
      if (holdMs > 0) await new Promise((resolve) => setTimeout(resolve, holdMs))
    },
  }
}
