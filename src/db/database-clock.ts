/**
 * The time by the database's clock, for a statement: clocks of processes may disagree, it alone decides what is due.
 * `:clockShift` is what tests add to it, in milliseconds; it is 0 otherwise.
 */
export const DATABASE_NOW = "(now() + :clockShift::float8 * interval '1 millisecond')"
