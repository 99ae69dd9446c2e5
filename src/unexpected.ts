import type { Logger } from 'pino'
import { isDatabaseUnavailable } from './db/sql.ts'
import { AppError, internalError, serviceUnavailable } from './errors.ts'

/**
 * What the caller is told of an error: an AppError as it is, anything else as 503 when the database is away
 * and as 500 otherwise. The cause goes to the log, never into the answer.
 */
export function toAppError(error: unknown, log: Logger, requestId: string): AppError {
  if (error instanceof AppError) return error
  if (isDatabaseUnavailable(error)) {
    log.warn({ err: error, requestId }, 'database unavailable')
    return serviceUnavailable()
  }
  log.error({ err: error, requestId }, 'unexpected error')
  return internalError()
}
