import type { SMTPServerError } from 'smtp-server'
import type { AppError, ErrorCode } from '../errors.ts'
import { cutText } from '../lib/text/cut-text.ts'

/** A reply code (RFC 5321, 4.2) and its enhanced status code (RFC 3463). */
type Status = [code: number, enhanced: `${4 | 5}.${number}.${number}`]

const STATUS_OF: Partial<Record<ErrorCode, Status>> = {
  MISSING_AUTH: [535, '5.7.8'],
  INVALID_API_KEY: [535, '5.7.8'],
  RATE_LIMIT_EXCEEDED: [451, '4.7.1'],
  PAYLOAD_TOO_LARGE: [552, '5.3.4'],
  INVALID_IDEMPOTENCY_KEY: [554, '5.6.0'],
  CONFLICT: [451, '4.3.0'],
  // It comes again later, when the cap may have been raised.
  BILLING_LIMIT_EXCEEDED: [452, '4.2.2'],
}

/** Of a bad message, by the part that is bad. */
const STATUS_OF_FIELD: Record<string, Status> = {
  from: [553, '5.1.7'],
  to: [553, '5.1.3'],
  attachments: [552, '5.3.4'],
}

const UNREADABLE: Status = [554, '5.6.0']
const REFUSED: Status = [550, '5.7.1']
const OURS: Status = [451, '4.3.0']
const UNDER_WAY: Status = [451, '4.5.0']
const REPEATED: Status = [554, '5.5.0']

function statusOf({ code, statusCode, extras }: AppError): Status {
  const known = STATUS_OF[code]
  if (known) return known
  if (code === 'VALIDATION_ERROR') {
    return STATUS_OF_FIELD[extras.errors?.[0]?.field.split('.')[0] ?? ''] ?? UNREADABLE
  }
  if (code === 'IDEMPOTENCY_KEY_REUSED') {
    return extras.details?.originalStatusCode === null ? UNDER_WAY : REPEATED
  }
  return statusCode >= 500 ? OURS : REFUSED
}

/** RFC 5321, 4.5.3.1.5, has 512 octets for a line. */
const LONGEST_TEXT = 450

/** The error as the SMTP server writes it: code, enhanced code, what is wrong and what to do, in ASCII. */
export function reply([code, enhanced]: Status, text: string): SMTPServerError {
  const line = cutText(text.replace(/[^\x20-\x7e]/g, '?'), LONGEST_TEXT)
  return Object.assign(new Error(`${enhanced} ${line}`), { responseCode: code })
}

/** The reply for an error of the service. An error of ours names the request, which is in the log. */
export function replyOf(error: AppError, requestId: string): SMTPServerError {
  const field = error.extras.errors?.[0]
  const what = field ? `${field.field} ${field.message}.` : error.message
  const id = error.statusCode >= 500 ? ` (${requestId})` : ''
  return reply(statusOf(error), [what + id, error.extras.suggestion ?? ''].join(' ').trim())
}

export const TOO_MANY_CONNECTIONS = reply([421, '4.7.0'], 'Too many connections of this project; use fewer.')
export const STOPPING = reply([421, '4.3.2'], 'The service is being restarted; try again in a moment.')
export const TOO_SLOW = reply([421, '4.4.2'], 'The connection was idle, or too slow, for too long.')
export const NEEDS_TLS = reply([538, '5.7.11'], 'Keys are taken over TLS only.')
export const NO_RELAY = reply([550, '5.7.1'], 'Relay access denied: the domain receives no mail here.')
export const BAD_RECIPIENT = reply([553, '5.1.3'], 'The recipient is not an email address.')
export const unreadable = (text: string): SMTPServerError => reply(UNREADABLE, text)
