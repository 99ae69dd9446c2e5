import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts'

export type FailedContact = { contactId: string; error: string }

/** Every contact is counted once: totalRequested = success + unchanged + failure, when the job is done. */
export type BulkResult = {
  totalRequested: number
  successCount: number
  unchangedCount: number
  failureCount: number
  /** The first 100. */
  errors: FailedContact[]
}

const MAX_ERRORS = 100

const count = (value: JsonValue | undefined): number => (typeof value === 'number' ? value : 0)

/** The result so far, from the row of the job; nothing yet when it is empty. */
export function readBulkResult(stored: unknown): BulkResult {
  const result: JsonObject = isJsonObject(stored) ? stored : {}
  const errors = Array.isArray(result.errors) ? result.errors.filter(isJsonObject) : []
  return {
    totalRequested: count(result.totalRequested),
    successCount: count(result.successCount),
    unchangedCount: count(result.unchangedCount),
    failureCount: count(result.failureCount),
    errors: errors.map(({ contactId, error }) => ({ contactId: String(contactId), error: String(error) })),
  }
}

/** Which of some contacts there are, and how many of them were changed. */
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
