/** A clock that tests move by hand; it starts at the real time and otherwise stands still or runs on. */
export type Clock = {
  now: () => Date
  /** What it was advanced by, which is added to the database's clock as well. */
  shift: () => number
  advance: (milliseconds: number) => void
}

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE

/** Runs with the real time, shifted by what it was advanced. */
export function shiftedClock(): Clock {
  let shift = 0
  return {
    now: () => new Date(Date.now() + shift),
    shift: () => shift,
    advance: (milliseconds) => {
      shift += milliseconds
    },
  }
}
