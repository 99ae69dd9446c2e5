import Mailgun from 'mailgun.js'
import type { MailgunMessageData } from 'mailgun.js/definitions'
import { domainOf } from '../messages/email-address.rules.ts'
import { defineMailer, messageOf } from './define-mailer.ts'
import type { DeliveryResult, Mailer } from './mailer.ts'
import { batchOf, TOGETHER } from './mailgun-batch.ts'
import { explainMailgun, type MailgunFailure, notMailgun } from './mailgun-failures.ts'
import { composeMessage, SigningKeys } from './mime.ts'

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
  const keys = new SigningKeys()

  // Some keys are for one domain only: once it has sent, a refused key is trouble of the other domain.
  let keyWorks = false
  const explain = (error: unknown) => explainMailgun(failureOf(error), keyWorks)

  async function handOver(domain: string, data: MailgunMessageData): Promise<DeliveryResult> {
    const { id } = await within(timeoutMs, client.messages.create(domain, data))
    if (!id) return notMailgun
    keyWorks = true
    return { kind: 'sent', providerMessageId: id.replace(/^<|>$/g, '') }
  }

  return defineMailer({
    provider: 'mailgun',
    concurrency,
    async deliver(mail) {
      const { to, raw } = await composeMessage(mail, keys)
      return handOver(domainOf(mail.from.address), { to, message: raw }).catch(explain)
    },
    together: TOGETHER,
    async deliverTogether(mails) {
      const [first] = mails
      const batch = batchOf(mails)
      if (!first || !batch) return null
      const result = await handOver(domainOf(first.from.address), batch).catch(explain)
      return result.kind === 'permanent' ? null : mails.map(() => result)
    },
    async probe() {
      try {
        await client.domains.list({ limit: 1 })
      } catch (error) {
        // A key that may only send is refused here; it is proved by sending.
        const { status } = failureOf(error)
        if (status !== 403 && !(status === 401 && keyWorks)) return explain(error)
      }
      return { kind: 'sent', providerMessageId: null }
    },
  })
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

/** An error that is not the client's came when an answer was awaited or read. */
function failureOf(error: unknown): MailgunFailure {
  const phrase = messageOf(error)
  if (!(error instanceof Error && 'status' in error)) return { status: 0, phrase, details: '' }
  const details = 'details' in error && error.details !== undefined ? String(error.details) : ''
  return { status: Number(error.status), phrase, details }
}
