import { failed, inTrouble, unanswered } from '../define-mailer.ts'
import type { DeliveryResult } from '../mailer.ts'

/** An error of the SDK: the name that Amazon or Node gives it; `status` is 0 when there was no answer. */
export type SesFailure = { name: string; message: string; status: number }

const CHECK_KEY =
  'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, and that they may ses:SendEmail (IAM).'
const CHECK_DOMAIN =
  'Look at the identity in Amazon SES: it must be verified in AWS_REGION. In the sandbox recipients have to be verified too.'
const CHECK_ACCOUNT =
  'Look at the account dashboard of Amazon SES: whether sending is paused, and its quotas.'
const CHECK_SET = 'Check SES_CONFIGURATION_SET: it must exist in AWS_REGION and not be paused.'
const CHECK_PLACE = 'Check AWS_REGION and SES_ENDPOINT. This machine must be able to reach it.'

/** Errors that every service of Amazon has (docs.aws.amazon.com/ses/latest/APIReference-V2/CommonErrors.html). */
const ABOUT_ACCESS =
  /^(?:AccessDenied|ExpiredToken|IncompleteSignature|InvalidClientTokenId|InvalidSignature|MissingAuthenticationToken|NotAuthorized|OptInRequired|RequestExpired|SignatureDoesNotMatch|UnrecognizedClient|CredentialsProviderError)/
const ABOUT_RATE = /^(?:TooManyRequests|Throttling|LimitExceeded)/
const ABOUT_ACCOUNT = /^(?:AccountSuspended|SendingPaused)/
/** No connection was opened. */
const NOT_REACHED =
  /^(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EPROTO)$|CERT|SELF_SIGNED|UNABLE_TO_/

/** Meaning of a failed hand-over. */
export function explainSes(failure: SesFailure): DeliveryResult {
  const { name, message, status } = failure
  const reason = `Amazon SES: ${message || name}${status > 0 ? ` (${status})` : ''}`
  if (ABOUT_ACCESS.test(name)) return inTrouble('account', reason, CHECK_KEY)
  if (status === 0) return onTheWay(name, reason)
  if (ABOUT_RATE.test(name) || status === 429) return inTrouble('account', reason, CHECK_ACCOUNT)
  if (ABOUT_ACCOUNT.test(name)) return inTrouble('account', reason, CHECK_ACCOUNT)
  if (name.startsWith('MailFromDomainNotVerified')) return inTrouble('domain', reason, CHECK_DOMAIN)
  // "Email address is not verified. The following identities failed the check in region …".
  if (/\bnot verified\b/i.test(message)) return inTrouble('domain', reason, CHECK_DOMAIN)
  if (/configuration set/i.test(message)) return inTrouble('account', reason, CHECK_SET)
  if (name.startsWith('NotFound')) return inTrouble('account', reason, CHECK_SET)
  if (status === 408 || status >= 500) return failed('temporary', reason)
  if (status === 401 || status === 403) return inTrouble('account', reason, CHECK_KEY)
  if (isAnswerOfSes(failure)) return failed('permanent', reason)
  return inTrouble('account', reason, CHECK_PLACE)
}

export const pausedAccount = inTrouble(
  'account',
  'Amazon SES: sending is paused for the account',
  CHECK_ACCOUNT,
)

/** Another server that answers there knows none of its names. */
const isAnswerOfSes = ({ name, status }: SesFailure): boolean =>
  status >= 400 &&
  /^(?:MessageRejected|BadRequest|InvalidParameter|ValidationException|.*Exception$)/.test(name)

/** Once there is a connection, it is unknown how much of the message the other end has read. */
function onTheWay(name: string, reason: string): DeliveryResult {
  if (NOT_REACHED.test(name)) return inTrouble('account', reason, CHECK_PLACE)
  return unanswered(reason)
}
