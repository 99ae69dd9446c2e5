import { within } from '../lib/async/within.ts'
import type { DeliveryResult, Mailer, OutgoingMail, ProviderTrouble, Together } from './mailer.ts'
import { UnsendableMail } from './mime.ts'

const LONGEST_REASON = 500

/** Milliseconds. */
const LONGEST_CHECK_MS = 10_000

const TITLES = { mailbox: 'Mailbox', smtp: 'SMTP', mailgun: 'Mailgun', ses: 'Amazon SES' }

type Provider = Pick<Mailer, 'provider' | 'concurrency'> & {
  warnings?: readonly string[]
  /** Hands one message over within a bounded time. Throws when the message cannot be prepared. */
  deliver(mail: OutgoingMail): Promise<DeliveryResult>
  together?: Together
  /** The same for many, as `sendTogether` of a mailer says. Throws when one of them cannot be prepared. */
  deliverTogether?(mails: OutgoingMail[]): Promise<DeliveryResult[] | null>
  /** The outcome that any message would have now; `sent` when it would be accepted. Never throws. */
  probe?(): Promise<DeliveryResult>
  /** Frees what the provider holds, once nothing is under way any more. */
  release?(): void
}

/** A mailer that keeps the promises of the interface whatever its provider does. */
export function defineMailer(given: Provider): Mailer {
  const { provider, concurrency, warnings = [], deliver, together = null, probe, release } = given
  const underWay = new Set<Promise<unknown>>()
  let closed = false

  async function untilDone<Result>(delivery: Promise<Result>): Promise<Result> {
    underWay.add(delivery)
    const result = await delivery
    underWay.delete(delivery)
    return result
  }

  async function attempt(mail: OutgoingMail): Promise<DeliveryResult> {
    try {
      return await deliver(mail)
    } catch (error) {
      if (error instanceof UnsendableMail) return failed('permanent', error.message)
      return failed('temporary', `${TITLES[provider]}: ${messageOf(error)}`)
    }
  }

  async function attemptTogether(mails: OutgoingMail[]): Promise<DeliveryResult[] | null> {
    try {
      return (await given.deliverTogether?.(mails)) ?? null
    } catch (error) {
      if (error instanceof UnsendableMail) return null
      return mails.map(() => failed('temporary', `${TITLES[provider]}: ${messageOf(error)}`))
    }
  }

  return {
    provider,
    concurrency,
    warnings,
    together,
    async send(mail) {
      return closed ? CLOSED : untilDone(attempt(mail))
    },
    async sendTogether(mails) {
      return closed ? mails.map(() => CLOSED) : untilDone(attemptTogether(mails))
    },
    async check() {
      if (!probe) return null
      const answer = await within(LONGEST_CHECK_MS, probe())
      return troubleIn(answer ?? failed('temporary', `No answer within ${LONGEST_CHECK_MS / 1000} s`))
    },
    async close() {
      closed = true
      await Promise.all(underWay)
      release?.()
    },
  }
}

const CLOSED = failed('temporary', 'The service is shutting down')

function troubleIn(result: DeliveryResult): ProviderTrouble | null {
  if (result.kind === 'sent') return null
  const advice = result.kind === 'provider' ? result.advice : 'Look at the provider, if this lasts.'
  return { reason: result.reason, advice }
}

/** A failed hand-over whose reason fits the `error` field. */
export function failed(kind: 'temporary' | 'permanent', reason: string): DeliveryResult {
  return { kind, reason: asReason(reason) }
}

/** The receiving side asks for less mail. */
export function askedToSlowDown(reason: string): DeliveryResult {
  return { kind: 'temporary', reason: asReason(reason), slowDown: true }
}

/** The provider may have accepted the message: it was handed over, and no answer came. */
export function unanswered(reason: string): DeliveryResult {
  return { kind: 'temporary', reason: asReason(reason), uncertain: true }
}

export function inTrouble(scope: 'account' | 'domain', reason: string, advice: string): DeliveryResult {
  return { kind: 'provider', scope, reason: asReason(reason), advice }
}

/** One line of at most 500 characters. */
function asReason(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, LONGEST_REASON)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
