import { z } from 'zod'

const failedContact = z.object({ contactId: z.string(), error: z.string() })
export type FailedContact = z.output<typeof failedContact>

const MAX_ERRORS = 100
const count = z.int().default(0)

/** Every contact is counted once: totalRequested = success + unchanged + failure, when the job is done. */
const bulkResult = z.object({
  ...{ totalRequested: count, successCount: count, unchangedCount: count, failureCount: count },
  /** The first MAX_ERRORS. */
  errors: z.array(failedContact).default([]),
})
export type BulkResult = z.output<typeof bulkResult>

/** The result so far, from the row of the job; zeros when nothing is stored. */
export const readBulkResult = (stored: unknown): BulkResult => bulkResult.parse(stored ?? {})

/** The existing ones of some contacts, and how many of them were changed. */
export type Outcome = { known: ReadonlySet<string>; changed: number }

export function withOutcome(result: BulkResult, ids: string[], { known, changed }: Outcome): BulkResult {
  const unknown = ids.filter((id) => !known.has(id))
  const errors = unknown.map((contactId) => ({ contactId, error: 'There is no such contact.' }))
  return {
    totalRequested: result.totalRequested,
    successCount: result.successCount + changed,
    unchangedCount: result.unchangedCount + known.size - changed,
    failureCount: result.failureCount + unknown.length,
    errors: [...result.errors, ...errors].slice(0, MAX_ERRORS),
  }
}
