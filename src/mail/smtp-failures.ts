import type { NodemailerError } from 'nodemailer'
import { askedToSlowDown, failed, inTrouble, unanswered } from './define-mailer.ts'
import type { DeliveryResult } from './mailer.ts'

/** How far a hand-over has come: the connection is not ready yet, the conversation is on, all has been written. */
export type Progress = 'connecting' | 'talking' | 'written'

/** Replies that ask for a log-in or for encryption: a mistake of the operator, which must not cost mail. */
const ACCESS_REPLIES = new Set([530, 534, 535, 538])
const LOG_IN_CODES = new Set(['EAUTH', 'ENOAUTH', 'EOAUTH2'])
const UNRESOLVED = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EDNS'])
const UNREACHABLE = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'])
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|certificate/

const NO_TLS =
  'Check the port in SMTP_URL, and smtp:// against smtps://. Only in a network that you trust, ?tls=optional lets a ' +
  'server without TLS have the password.'

/** Meaning of a failed hand-over; `reason` is the text of the server or the network. */
export function explainSmtp(error: NodemailerError, progress: Progress, reason: string): DeliveryResult {
  const advice = adviceFor(error, progress)
  if (advice !== null) return inTrouble('account', reason, advice)
  if (refused(error)) return failed('permanent', reason)
  if (asksToSlowDown(error)) return askedToSlowDown(reason)
  const answered = error.response !== undefined
  return progress === 'written' && !answered ? unanswered(reason) : failed('temporary', reason)
}

/** Advice for the operator; null when the failure is about the message. */
function adviceFor(error: NodemailerError, progress: Progress): string | null {
  const { response = '', responseCode = 0 } = error
  const codes = [error.code ?? '', originalCode(error)]
  const has = (known: Set<string>) => codes.some((code) => known.has(code))
  if (ACCESS_REPLIES.has(responseCode) || has(LOG_IN_CODES)) {
    if (/TLS|encrypt/i.test(response)) return 'Add ?requireTLS=true to SMTP_URL, or use smtps://.'
    return 'Check the user name and the password in SMTP_URL.'
  }
  if (has(UNRESOLVED)) return 'Check the host name in SMTP_URL, and that this machine can resolve it.'
  if (has(UNREACHABLE)) return 'Check the host and the port in SMTP_URL, and that the server runs.'
  // The words of a server may name the recipient, so they tell nothing about its certificate.
  const ownWords = error.response === undefined ? error.message : ''
  if (CERTIFICATE.test(`${codes.join(' ')} ${ownWords}`)) {
    return 'Use the host name of the certificate in SMTP_URL, and name an own authority in NODE_EXTRA_CA_CERTS.'
  }
  if (codes.includes('ETLS')) return NO_TLS
  if (progress !== 'connecting') return null
  return 'Check the port in SMTP_URL, smtp:// against smtps://, and whether the server takes connections.'
}

const originalCode = (error: object): string =>
  'originalCode' in error && typeof error.originalCode === 'string' ? error.originalCode : ''

/** True when the server, or nodemailer before it, refused this message or its addresses for good. */
function refused({ code, response, responseCode, permanent }: NodemailerError): boolean {
  if (code !== 'EENVELOPE' && code !== 'EMESSAGE') return false
  return responseCode === undefined ? response === undefined : permanent === true
}

/**
 * What receivers answer to too much mail: 421, or a code of RFC 3463 for a system that takes none (4.3.2), congestion
 * (4.4.5) and policy (4.7). The codes for one mailbox (4.1, 4.2), which greylisting uses too, say nothing about others.
 */
const SLOW_DOWN = /^(?:421|45\d[ -](?:4\.3\.2|4\.4\.5|4\.7\.\d+))\b/

/** A server that refuses before it has heard of a recipient speaks for itself. */
const asksToSlowDown = ({ command = '', response = '' }: NodemailerError): boolean =>
  /^(?:RCPT|DATA)/.test(command) && SLOW_DOWN.test(response)
