import type { DeliveryResult, Mailer, OutgoingMail } from './mailer.ts'
import { UnsendableMail } from './mime.ts'

const longestReason = 500

type Provider = Pick<Mailer, 'provider' | 'concurrency'> & {
  /** Hands one message over; may throw. Ends within a bounded time. */
  deliver(mail: OutgoingMail): Promise<DeliveryResult>
  /** What an error thrown by `deliver` means for the message. */
  explain(error: unknown): DeliveryResult
  /** Frees what the provider holds, once nothing is under way any more. */
  release?(): void
}

/** A mailer that keeps the promises of the interface whatever its provider does. */
export function defineMailer({ provider, concurrency, deliver, explain, release }: Provider): Mailer {
  const underWay = new Set<Promise<DeliveryResult>>()
  let closed = false

  async function attempt(mail: OutgoingMail): Promise<DeliveryResult> {
    try {
      return await deliver(mail)
    } catch (error) {
      return error instanceof UnsendableMail ? failed('permanent', error.message) : explain(error)
    }
  }

  return {
    provider,
    concurrency,
    async send(mail) {
      if (closed) return failed('temporary', 'The service is shutting down')
      const delivery = attempt(mail)
      underWay.add(delivery)
      const result = await delivery
      underWay.delete(delivery)
      return result
    },
    async close() {
      closed = true
      await Promise.all(underWay)
      release?.()
    },
  }
}

/** A failed hand-over whose reason fits the `error` field: one line of at most 500 characters. */
export function failed(kind: 'temporary' | 'permanent', reason: string): DeliveryResult {
  return { kind, reason: reason.replace(/\s+/g, ' ').trim().slice(0, longestReason) }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
