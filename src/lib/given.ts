export type Given<Fields> = { [Key in keyof Fields]?: Exclude<Fields[Key], undefined> }

/** The fields that are there; null is a value, undefined is none. */
export function given<Fields extends object>(fields: Fields): Given<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  // The compiler does not follow keys through entries.
  return Object.fromEntries(entries) as Given<Fields>
}
