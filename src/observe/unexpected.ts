import type { Logger } from 'pino'
import { isDatabaseSlow, isDatabaseUnavailable, ProjectBusyError } from '../db/sql.ts'
import { AppError, databaseSlow, internalError, projectBusy, serviceUnavailable } from '../errors.ts'
import { logDatabaseAway } from './log.ts'

/**
 * The error that the caller receives: an AppError as it is, anything else as 503 or 500 without its cause.
 */
export function publicCause(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof ProjectBusyError) return projectBusy()
  if (isDatabaseSlow(error)) return databaseSlow()
  return isDatabaseUnavailable(error) ? serviceUnavailable() : internalError()
}

/** No request can be served then, so every one would log the same. */
const isDatabaseAway = (error: unknown): boolean =>
  isDatabaseUnavailable(error) && !isDatabaseSlow(error) && !(error instanceof ProjectBusyError)

/** A cause that the caller is not told goes to the log, under the id that the caller is told. */
export function logUnexpected(error: unknown, log: Logger, requestId: string): void {
  if (error instanceof AppError) return
  if (isDatabaseAway(error)) logDatabaseAway(log, error)
  else if (isDatabaseUnavailable(error)) log.warn({ err: error, requestId }, 'database unavailable')
  else log.error({ err: error, requestId }, 'unexpected error')
}

export function toAppError(error: unknown, log: Logger, requestId: string): AppError {
  logUnexpected(error, log, requestId)
  return publicCause(error)
}
