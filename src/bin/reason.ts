import { isDatabaseUnavailable, sqlState } from '../db/sql.ts'
import { ConfigurationError } from '../environment.ts'
import { AppError } from '../errors.ts'
import { OperatorError } from '../lib/operator-error.ts'

/** Advice when the server runs but refuses the connection, by SQLSTATE. */
const REFUSALS: Record<string, string> = {
  '28P01': 'Correct the user and the password in DATABASE_URL',
  '28000': 'Correct the user in DATABASE_URL, or let it in (pg_hba.conf of the server)',
  '3D000': 'Create the database, or correct its name in DATABASE_URL',
  '42501': 'Make the user of DATABASE_URL the owner of the database',
}

/** Says on one line what failed and how to fix it; undefined when it is a fault of ours. */
export function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof ConfigurationError) {
    return `The configuration is not valid: ${error.message.replaceAll('\n', '; ')}`
  }
  if (error instanceof OperatorError) return error.message
  if (error instanceof AppError) {
    const { errors } = error.extras
    return errors ? errors.map(({ field, message }) => `${field} ${message}`).join('; ') : error.message
  }
  const state = sqlState(error) ?? ''
  const advice = REFUSALS[state]
  if (advice) return `The database refuses the connection: ${error.message}. ${advice}.`
  if (!isDatabaseUnavailable(error)) return undefined
  return `The database does not answer: ${messageOf(error) || state}. Start it, or correct DATABASE_URL.`
}

/** A name with several addresses fails with an error for each of them, and no message. */
const messageOf = (error: Error): string =>
  error instanceof AggregateError && error.message === ''
    ? error.errors.map((one: unknown) => (one instanceof Error ? one.message : String(one))).join(', ')
    : error.message
