import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { SMTPServerError, SMTPServerSession } from 'smtp-server'
import { UnreadableMessage } from '../lib/mime/read-message.ts'
import { toAppError } from '../observe/unexpected.ts'
import { replyOf, unreadable } from './replies.ts'

type Done<Result> = (error?: SMTPServerError | null, result?: Result) => void

/**
 * A handler of the server from work that returns the answer, or throws: a reply of its own, an error of the service, or
 * anything else, which the log has under the id that the reply tells.
 */
export function answering<Given, Result>(
  log: Logger,
  work: (given: Given, session: SMTPServerSession, requestId: string) => Promise<Result>,
): (given: Given, session: SMTPServerSession, done: Done<Result>) => void {
  return (given, session, done) => {
    const requestId = randomUUID()
    work(given, session, requestId).then(
      (result) => done(null, result),
      (error: unknown) => done(asReply(error, log, requestId)),
    )
  }
}

const isReply = (error: unknown): error is SMTPServerError =>
  error instanceof Error && 'responseCode' in error && typeof error.responseCode === 'number'

function asReply(error: unknown, log: Logger, requestId: string): SMTPServerError {
  if (isReply(error)) return error
  if (error instanceof UnreadableMessage) return unreadable(error.message)
  return replyOf(toAppError(error, log, requestId), requestId)
}
