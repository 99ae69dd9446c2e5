/** Midnight (UTC) at the beginning of the month, or of one `later`. */
export const monthOf = (time: Date, later = 0): Date =>
  new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + later))

/** A month as names have it: 202612. */
export const monthName = (month: Date): string => month.toISOString().slice(0, 7).replace('-', '')
