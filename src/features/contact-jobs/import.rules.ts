import { z } from 'zod'
import type { ImportRow } from './csv/csv.rules.ts'

const failedRow = z.object({
  /** Number of the row in a spreadsheet; the header is row 1. */
  row: z.int(),
  /** Trimmed and in lower case, as a contact would have it. */
  email: z.string().nullable(),
  error: z.string(),
})
export type FailedRow = z.output<typeof failedRow>

export type ValidRow = ImportRow & { row: number }

const MAX_ERRORS = 100
const count = z.int().default(0)

/** Every row is counted once: totalRows = created + updated + unchanged + failed, when the import is done. */
const importResult = z.object({
  ...{ totalRows: count, created: count, updated: count, unchanged: count, failed: count },
  /** The first MAX_ERRORS. */
  errors: z.array(failedRow).default([]),
})
export type ImportResult = z.output<typeof importResult>

/** The result so far, from the row of the job; zeros when nothing is stored. */
export const readResult = (stored: unknown): ImportResult => importResult.parse(stored ?? {})

export const withFailures = (result: ImportResult, failed: FailedRow[]): ImportResult => ({
  ...result,
  failed: result.failed + failed.length,
  errors: [...result.errors, ...failed].slice(0, MAX_ERRORS),
})

/** All rows of one address as one change, in the order of the addresses so that locks are taken in one order. */
export type Person = ImportRow & {
  /** Rows after the first one that change the values of the rows before, and those that do not. */
  changes: number
  repeats: number
}

/** A statement can write a contact once, so rows of the same address are merged; the last one wins. */
export function byAddress(rows: ValidRow[]): Person[] {
  const people = new Map<string, Person>()
  for (const { email, subscribed, set } of rows) {
    const known = people.get(email)
    if (!known) {
      people.set(email, { email, subscribed, set, changes: 0, repeats: 0 })
      continue
    }
    const changesState = subscribed !== null && subscribed !== known.subscribed
    const changesData = Object.entries(set).some(([key, value]) => known.set[key] !== value)
    if (changesState || changesData) known.changes += 1
    else known.repeats += 1
    known.subscribed = subscribed ?? known.subscribed
    known.set = Object.fromEntries([...Object.entries(known.set), ...Object.entries(set)])
  }
  return [...people.values()].sort((a, b) => (a.email < b.email ? -1 : 1))
}

/**
 * The same change with the values that later rows of the file will have given: otherwise importing a file again
 * would change its contacts back and forth.
 */
export function withLastWord(person: Person, later: ImportRow): Person {
  const changed = Object.entries(later.set).filter(([key]) => Object.hasOwn(person.set, key))
  const subscribed = person.subscribed === null ? null : (later.subscribed ?? person.subscribed)
  return { ...person, subscribed, set: Object.fromEntries([...Object.entries(person.set), ...changed]) }
}

/**
 * Counts the outcome of each address; one that a concurrent request created at the same moment is unchanged.
 */
export function addOutcomes(
  result: ImportResult,
  people: Person[],
  outcomes: ReadonlyMap<string, string>,
): ImportResult {
  const sum = { ...result }
  for (const { email, changes, repeats } of people) {
    const outcome = outcomes.get(email)
    sum.unchanged += repeats
    if (outcome === 'created') {
      sum.created += 1
      sum.updated += changes
    } else if (outcome === 'updated') sum.updated += 1 + changes
    else sum.unchanged += 1 + changes
  }
  return sum
}
