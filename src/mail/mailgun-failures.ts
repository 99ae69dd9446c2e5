import { failed, inTrouble, unanswered } from './define-mailer.ts'
import type { DeliveryResult } from './mailer.ts'

/**
 * An error of the client: an answer's status and its text, trouble on the way as status 400; 0 is anything
 * else.
 */
export type MailgunFailure = { status: number; phrase: string; details: string }

const CHECK_URL =
  'Check MAILGUN_URL: https://api.mailgun.net, or https://api.eu.mailgun.net for domains in the EU.'
const CHECK_KEY = 'Check MAILGUN_API_KEY, and that MAILGUN_URL is the region of its account.'
const CHECK_DOMAIN =
  'Look at the domain in Mailgun: it must be added to the account, verified and not disabled.'
const CHECK_ACCOUNT = 'Look at the account in Mailgun: its plan, its payments and whether it is activated.'

/** Texts of Mailgun, with various statuses, when it does not serve the sender's domain. */
const ABOUT_DOMAIN =
  /\bdomain\b.*(?:not found|unverified|not verified|not allowed to send|disabled|inactive)|sandbox (?:sub)?domain/i
const ABOUT_ACCOUNT = /\baccount\b.*(?:disabled|suspended|terminated|inactive|activate)|free accounts/i

/** Meaning of a failed hand-over. A key that has sent before is right, so a 401 is then about the domain. */
export function explainMailgun(failure: MailgunFailure, keyWorks: boolean): DeliveryResult {
  const { status, phrase, details } = failure
  if (!answered(failure)) return onTheWay(failure)
  const reason = `Mailgun: ${details || phrase} (${status})`
  if (status === 429 || status === 408 || status >= 500) return failed('temporary', reason)
  if (ABOUT_DOMAIN.test(details)) return inTrouble('domain', reason, CHECK_DOMAIN)
  if (status === 402 || ABOUT_ACCOUNT.test(details)) return inTrouble('account', reason, CHECK_ACCOUNT)
  if (status === 401 || status === 403) return inTrouble(keyWorks ? 'domain' : 'account', reason, CHECK_KEY)
  if (status === 404 || status === 405) return inTrouble('account', reason, CHECK_URL)
  if (status === 421) return inTrouble('domain', reason, CHECK_DOMAIN)
  return failed('permanent', reason)
}

/** A page of another server answers 200 as well; only Mailgun names the message. */
export const notMailgun = inTrouble('account', 'Mailgun: the answer names no message', CHECK_URL)

/**
 * The client reports trouble on the way as status 400 too, with the error's code (ECONNREFUSED) in place of the
 * reason phrase (Bad Request); for an answer that has no phrase it puts ERR_BAD_REQUEST there. "Incorrect url"
 * is its own word for an API that answers, but not to this path.
 */
function answered({ status, phrase }: MailgunFailure): boolean {
  if (status !== 400 || phrase === 'ERR_BAD_REQUEST') return status !== 0
  return phrase !== INCORRECT_URL && !/^[A-Z\d_]*$/.test(phrase)
}

const INCORRECT_URL = 'Incorrect url'

/** No connection was opened: the address is wrong, or another service than the API answers there. */
const NOT_REACHED =
  /^(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPROTO)$|CERT|SELF_SIGNED|UNABLE_TO_/

/** Once there is a connection, it is unknown how much of the message the other end has read. */
function onTheWay({ phrase, details }: MailgunFailure): DeliveryResult {
  const reason = `Mailgun: ${details || phrase}`
  if (phrase === INCORRECT_URL) return inTrouble('account', reason, CHECK_URL)
  if (!NOT_REACHED.test(phrase)) return unanswered(reason)
  return inTrouble('account', reason, `${CHECK_URL} This machine must be able to reach it.`)
}
