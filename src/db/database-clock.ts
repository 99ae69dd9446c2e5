/**
 * The time by the database's clock, for a statement: clocks of processes may disagree, it alone decides what is due.
 * `shift` is the place of what tests add to it, in milliseconds; it is 0 otherwise.
 */
export const databaseNow = (shift: string): string => `(now() + ${shift}::float8 * interval '1 millisecond')`
