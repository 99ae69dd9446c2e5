import type { Services } from '../../ctx.ts'
import { storableText } from '../../lib/text/storable.ts'
import type { DeliveryResult, Mailer, OutgoingMail } from '../../mail/mailer.ts'
import { domainOf } from '../../messages/email-address.rules.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { ProviderWatch } from '../provider-troubles/provider-watch.ts'
import type { MailBody } from './contents.ts'
import type { DueEmail } from './delivery.sql.ts'
import { Outbox } from './outbox.ts'
import { givenBack, type Outcome, outcomeOf, refusalOf, type TakenEmail } from './outcome.ts'

const UNVERIFIED = 'The sender domain is not verified at present.'

/** A message with all that is needed to hand it over; `body` is null when it has expired. */
export type Prepared = { taken: TakenEmail; email: DueEmail; body: MailBody | null }

type Leaving = Prepared & { mail: OutgoingMail }

/** Hands messages to the provider, and returns the outcomes. */
export class HandOver {
  readonly #services: Services
  readonly #mailer: Mailer
  readonly #metrics: Metrics
  readonly #watch: ProviderWatch
  readonly #outbox: Outbox

  constructor(services: Services, mailer: Mailer, metrics: Metrics, watch: ProviderWatch) {
    this.#services = services
    this.#mailer = mailer
    this.#metrics = metrics
    this.#watch = watch
    this.#outbox = new Outbox(services)
  }

  /**
   * One message, or several with the same sender and the same common parts; an outcome for each, or null when they
   * cannot leave together. `isHeld` is asked last: they may have become another worker's meanwhile.
   */
  async deliver(messages: Prepared[], isHeld: () => boolean): Promise<Outcome[] | null> {
    try {
      return await this.#deliver(messages, isHeld)
    } catch (error) {
      const emailIds = messages.map(({ email }) => email.id)
      this.#services.log.error({ err: error, emailIds }, 'delivery failed unexpectedly')
      const reason = 'The message could not be prepared for delivery.'
      return messages.map(({ email, taken }) =>
        outcomeOf(email, taken.attempts, { kind: 'temporary', reason }, Math.random()),
      )
    }
  }

  async #deliver(messages: Prepared[], isHeld: () => boolean): Promise<Outcome[] | null> {
    const prepared = await Promise.all(messages.map((message) => this.#outgoing(message)))
    const leaving = prepared.filter((one) => 'mail' in one)
    const isOurs = isHeld()
    const results = isOurs ? await this.#send(leaving) : null
    if (isOurs && !results) return null
    let next = 0
    return prepared.map((one) => {
      if (!('mail' in one)) return one
      const result = results?.[next++]
      return result ? this.#outcomeOf(one, result) : givenBack(null)
    })
  }

  /** A message as the provider takes it, or why it is not handed over. */
  async #outgoing({ taken, email, body }: Prepared): Promise<Leaving | Outcome> {
    const refusal = refusalOf(email, body, taken.attempts)
    if (refusal || !body) return refusal ?? givenBack(null)
    const counts = this.#mailer.provider === 'mailbox' || !email.domainMailboxOnly
    if (email.domainStatus !== 'VERIFIED' || !counts) {
      return outcomeOf(email, taken.attempts, { kind: 'temporary', reason: UNVERIFIED }, Math.random())
    }
    const waitMs = this.#watch.waitOf(domainOf(email.from))
    if (waitMs > 0) return givenBack(null, waitMs)
    return { taken, email, body, mail: await this.#outbox.outgoing(email, body) }
  }

  async #send(leaving: Leaving[]): Promise<DeliveryResult[] | null> {
    const mails = leaving.map(({ mail }) => mail)
    const [only, ...others] = mails
    if (!only) return []
    return others.length > 0 ? this.#mailer.sendTogether(mails) : [await this.#mailer.send(only)]
  }

  #outcomeOf({ taken, email }: Leaving, result: DeliveryResult): Outcome {
    if (taken.attempts === 1) this.#metrics.deliveryDelay.observe(taken.lateMs / 1000)
    this.#metrics.deliveries.labels(this.#mailer.provider, result.kind).inc()
    const domain = domainOf(email.from)
    if (result.kind === 'provider') {
      this.#watch.failed(result, domain)
      const wait = this.#watch.waitOf(domain)
      return givenBack(storableText(`${result.reason} ${result.advice}`), wait)
    }
    if (result.kind === 'sent') this.#watch.succeeded(domain)
    if (result.kind === 'temporary' && result.uncertain) this.#metrics.uncertainDeliveries.inc()
    const outcome = outcomeOf(email, taken.attempts, result, Math.random())
    if (outcome.status === 'FAILED') {
      this.#services.log.warn({ emailId: email.id, reason: outcome.error }, 'email given up')
    }
    return outcome
  }
}
