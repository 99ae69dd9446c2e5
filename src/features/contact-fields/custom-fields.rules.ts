import type { FieldType } from '../contacts/contact-data.rules.ts'

/** How many values of a field have which type. */
export type TypeCounts = {
  strings: number
  /** Dates among the strings. */
  dates: number
  numbers: number
  booleans: number
  objects: number
  arrays: number
}

/** The type that most values have; `date` when all strings are dates. */
export function typeFrom(counts: TypeCounts): FieldType {
  const text: FieldType = counts.strings > 0 && counts.dates === counts.strings ? 'date' : 'string'
  const ranked: [FieldType, number][] = [
    [text, counts.strings],
    ['number', counts.numbers],
    ['boolean', counts.booleans],
    ['object', counts.objects],
    ['array', counts.arrays],
  ]
  return ranked.reduce((most, one) => (one[1] > most[1] ? one : most))[0]
}

/** Percent with one decimal; a field that a contact has is never shown as 0. */
export const coverageOf = (contacts: number, looked: number): number =>
  contacts === 0 ? 0 : Math.max(0.1, Math.round((contacts / looked) * 1000) / 10)

/** The key in `data` that a caller means by `plan` or `data.plan`; a dot in a key is written `\.`. */
export const keyOf = (field: string): string => field.replace(/^data\./, '').replace(/\\([\\.])/g, '$1')
