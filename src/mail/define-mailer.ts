import { within } from '../lib/async/within.ts'
import type { DeliveryResult, Mailer, OutgoingMail, ProviderTrouble } from './mailer.ts'
import { UnsendableMail } from './mime.ts'

const LONGEST_REASON = 500

/** Milliseconds. */
const LONGEST_CHECK_MS = 10_000

const TITLES = { mailbox: 'Mailbox', smtp: 'SMTP', mailgun: 'Mailgun' }

type Provider = Pick<Mailer, 'provider' | 'concurrency'> & {
  warnings?: readonly string[]
  /** Hands one message over within a bounded time. Throws when the message cannot be prepared. */
  deliver(mail: OutgoingMail): Promise<DeliveryResult>
  /** The outcome that any message would have now; `sent` when it would be accepted. Never throws. */
  probe?(): Promise<DeliveryResult>
  /** Frees what the provider holds, once nothing is under way any more. */
  release?(): void
}

/** A mailer that keeps the promises of the interface whatever its provider does. */
export function defineMailer(given: Provider): Mailer {
  const { provider, concurrency, warnings = [], deliver, probe, release } = given
  const underWay = new Set<Promise<DeliveryResult>>()
  let closed = false

  async function attempt(mail: OutgoingMail): Promise<DeliveryResult> {
    try {
      return await deliver(mail)
    } catch (error) {
      if (error instanceof UnsendableMail) return failed('permanent', error.message)
      return failed('temporary', `${TITLES[provider]}: ${messageOf(error)}`)
    }
  }

  return {
    provider,
    concurrency,
    warnings,
    async send(mail) {
      if (closed) return failed('temporary', 'The service is shutting down')
      const delivery = attempt(mail)
      underWay.add(delivery)
      const result = await delivery
      underWay.delete(delivery)
      return result
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

function troubleIn(result: DeliveryResult): ProviderTrouble | null {
  if (result.kind === 'sent') return null
  const advice = result.kind === 'provider' ? result.advice : 'Look at the provider, if this lasts.'
  return { reason: result.reason, advice }
}

/** A failed hand-over whose reason fits the `error` field. */
export function failed(kind: 'temporary' | 'permanent', reason: string): DeliveryResult {
  return { kind, reason: asReason(reason) }
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
