import { domainToASCII } from 'node:url'
import Mailgun from 'mailgun.js'
import { defineMailer, failed, messageOf } from './define-mailer.ts'
import type { DeliveryResult, Mailer } from './mailer.ts'
import { composeRaw, UnsendableMail } from './mime.ts'

export type MailgunOptions = {
  apiKey: string
  /** Where the API is: `https://api.mailgun.net`, or `https://api.eu.mailgun.net` for domains in the EU. */
  url: string
  /** Milliseconds for a whole hand-over. */
  timeoutMs?: number | undefined
  concurrency?: number | undefined
}

/** Hands mail to Mailgun's HTTP API as the finished MIME message, through the domain of its sender. */
export function createMailgunMailer(options: MailgunOptions): Mailer {
  const { apiKey, url, timeoutMs = 30_000, concurrency = 20 } = options
  const client = new Mailgun(FormData).client({ username: 'api', key: apiKey, url, timeout: timeoutMs })

  return defineMailer({
    provider: 'mailgun',
    concurrency,
    async deliver(mail) {
      const domain = asciiDomain(mail.from.address)
      const to = mail.to.address.replace(/[^@]*$/, asciiDomain(mail.to.address))
      const message = await composeRaw(mail)
      const answer = await within(timeoutMs, client.messages.create(domain, { to, message }))
      // A page of another server may answer 200 as well; only Mailgun names the message.
      if (!answer.id) return failed('temporary', 'Mailgun: the answer names no message, check MAILGUN_URL')
      return { kind: 'sent', providerMessageId: answer.id.replace(/^<|>$/g, '') }
    },
    explain,
  })
}

function asciiDomain(address: string): string {
  const domain = domainToASCII(address.slice(address.lastIndexOf('@') + 1))
  if (domain === '') throw new UnsendableMail(`${JSON.stringify(address)} is not an email address`)
  return domain
}

/** The client's own time-out counts from the last byte, so that an answer that trickles in would never end. */
async function within<T>(milliseconds: number, answer: Promise<T>): Promise<T> {
  const { promise: overdue, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer within ${milliseconds} ms`)), milliseconds)
  try {
    return await Promise.race([answer, overdue])
  } finally {
    clearTimeout(timer)
  }
}

function explain(error: unknown): DeliveryResult {
  const status = error instanceof Error && 'status' in error ? Number(error.status) : undefined
  const details = error instanceof Error && 'details' in error ? String(error.details) : ''
  const reason = `Mailgun: ${details || messageOf(error)}`
  if (status === undefined || !answered(status, messageOf(error))) return failed('temporary', reason)
  return failed(refused(status) ? 'permanent' : 'temporary', `${reason} (${status})`)
}

/**
 * The client reports trouble on the way as status 400 too, with the error's code (ECONNREFUSED) in place of the
 * reason phrase (Bad Request); for an answer that has no phrase it puts ERR_BAD_REQUEST there. "Incorrect url"
 * is its own word for an API that answers, but not to this path.
 */
function answered(status: number, phrase: string): boolean {
  if (status !== 400 || phrase === 'ERR_BAD_REQUEST') return true
  return phrase !== 'Incorrect url' && !/^[A-Z\d_]*$/.test(phrase)
}

/** 401 and 403 are the operator's key; the rest of 4xx is about this message. */
function refused(status: number): boolean {
  return status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status)
}
