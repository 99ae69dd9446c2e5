import type { Services } from '../../ctx.ts'
import type { Mailer } from '../../mail/mailer.ts'
import { domainOf } from '../../messages/email-address.rules.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { ProviderWatch } from '../provider-troubles/provider-watch.ts'
import { storable } from './delivery.rules.ts'
import type { DueEmail } from './delivery.sql.ts'
import { Outbox } from './outbox.ts'
import { givenBack, type Outcome, outcomeOf, refusalOf, type TakenEmail } from './outcome.ts'

const UNVERIFIED = 'The sender domain is not verified at present.'

/** Hands messages to the provider, one by one, and returns the outcomes. */
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

  /** `isHeld` is asked last: the message may have become another worker's meanwhile. */
  async deliver(taken: TakenEmail, email: DueEmail, text: string, isHeld: () => boolean): Promise<Outcome> {
    try {
      return await this.#deliver(taken, email, text, isHeld)
    } catch (error) {
      this.#services.log.error({ err: error, emailId: email.id }, 'delivery failed unexpectedly')
      const reason = 'The message could not be prepared for delivery.'
      return outcomeOf(email, taken.attempts, { kind: 'temporary', reason }, Math.random())
    }
  }

  async #deliver(
    { attempts, lateMs }: TakenEmail,
    email: DueEmail,
    text: string,
    isHeld: () => boolean,
  ): Promise<Outcome> {
    const refusal = refusalOf(email, attempts)
    if (refusal) return refusal
    const counts = this.#mailer.provider === 'mailbox' || !email.domainMailboxOnly
    if (email.domainStatus !== 'VERIFIED' || !counts) {
      return outcomeOf(email, attempts, { kind: 'temporary', reason: UNVERIFIED }, Math.random())
    }
    const domain = domainOf(email.from)
    const waitMs = this.#watch.waitOf(domain)
    if (waitMs > 0) return givenBack(null, waitMs)
    const mail = await this.#outbox.outgoing(email, email.html ?? '', text)
    if (!isHeld()) return givenBack(null)
    if (attempts === 1) this.#metrics.deliveryDelay.observe(lateMs / 1000)
    const result = await this.#mailer.send(mail)
    this.#metrics.deliveries.labels(this.#mailer.provider, result.kind).inc()
    if (result.kind === 'provider') {
      this.#watch.failed(result, domain)
      const wait = this.#watch.waitOf(domain)
      return givenBack(storable(`${result.reason} ${result.advice}`), wait)
    }
    if (result.kind === 'sent') this.#watch.succeeded(domain)
    if (result.kind === 'temporary' && result.uncertain) this.#metrics.uncertainDeliveries.inc()
    const outcome = outcomeOf(email, attempts, result, Math.random())
    if (outcome.status === 'FAILED') {
      this.#services.log.warn({ emailId: email.id, reason: outcome.error }, 'email given up')
    }
    return outcome
  }
}
