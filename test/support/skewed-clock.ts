/*
 * Preloaded into a process (`--import`), it shifts that process's clock by CLOCK_AHEAD_MS. Only what tells the time
 * of day is shifted; timers run as always.
 */
const ahead = Number(process.env.CLOCK_AHEAD_MS ?? 0)
const RealDate = Date

class ShiftedDate extends RealDate {
  constructor(...given: [] | [value: number | string | Date]) {
    if (given.length === 0) super(RealDate.now() + ahead)
    // The other ways to make a date have more arguments, which pass through.
    else super(...given)
  }

  static override now(): number {
    return RealDate.now() + ahead
  }
}

Object.defineProperty(globalThis, 'Date', { value: ShiftedDate, configurable: true, writable: true })
