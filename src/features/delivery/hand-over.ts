import type { Services } from '../../ctx.ts'
import { storableText } from '../../lib/text/storable.ts'
import type { DeliveryResult, Mailer, OutgoingMail } from '../../mail/mailer.ts'
import { domainOf } from '../../messages/email-address.rules.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import type { ProviderWatch } from '../provider-troubles/provider-watch.ts'
import type { DueEmail } from './delivery.sql.ts'
import type { MailBody } from './outbox.ts'
import { Outbox } from './outbox.ts'
import { givenBack, type Outcome, outcomeOf, refusalOf, type TakenEmail } from './outcome.ts'
import { DestinationLimits } from './pacing/destination-limits.ts'
import { DestinationPauses } from './pacing/destination-pauses.ts'
import { type Permit, WarmUps } from './pacing/warm-ups.ts'

const SLOWED_DOWN = 'The destination has asked for less mail; this message waits, and no attempt is counted.'
const LIMITED = 'Mail to this destination is at its limit; this message waits, and no attempt is counted.'
const UNVERIFIED = 'The sender domain is not verified at present.'

/** How old mail waits for the end of a pause at most: as long as the retry schedule lasts. */
const LONGEST_PAUSED_MS = 24 * 3_600_000

/** A message with all that is needed to hand it over; `body` is null when it has expired. */
export type Prepared = { taken: TakenEmail; email: DueEmail; body: MailBody | null }

/** `permit` is of the warm-up of its sender domain; null without one. */
type Leaving = Prepared & { mail: OutgoingMail; permit: Permit | null }

/** Hands messages to the provider, and returns the outcomes. */
export class HandOver {
  readonly #services: Services
  readonly #mailer: Mailer
  readonly #metrics: Metrics
  readonly #watch: ProviderWatch
  readonly #outbox: Outbox
  readonly #pauses: DestinationPauses
  readonly #limits: DestinationLimits
  readonly #warmUps: WarmUps

  constructor(services: Services, mailer: Mailer, metrics: Metrics, watch: ProviderWatch) {
    this.#services = services
    this.#mailer = mailer
    this.#metrics = metrics
    this.#watch = watch
    this.#outbox = new Outbox(services)
    const { destinationPauseSeconds, destinationLimits } = services.config
    const now = () => performance.now() + services.clockShift()
    this.#pauses = new DestinationPauses(destinationPauseSeconds * 1_000, now)
    // The others connect to the destinations themselves.
    const connects = mailer.provider === 'smtp'
    this.#limits = new DestinationLimits(destinationLimits, { connects, now })
    this.#warmUps = new WarmUps(services, now)
  }

  /** Puts off a message that has to wait by the warm-up of its sender or for its destination; null when it may be handed over. */
  putOff(taken: TakenEmail, email: DueEmail): Outcome | null {
    const held = this.#warmUps.heldBack(email, taken.priority)
    if (held) return givenBack(held.reason, held.waitMs)
    const pausedMs = this.#pauses.putOff(email, taken.priority)
    if (pausedMs !== null && !this.#isOld(email)) return waiting(taken, SLOWED_DOWN, pausedMs)
    const limitedMs = this.#limits.putOff(taken, email)
    return limitedMs === null ? null : waiting(taken, LIMITED, limitedMs)
  }

  /** Old mail is handed over during a pause, so that its attempts come to an end where the destination never takes it. */
  #isOld({ createdAt }: DueEmail): boolean {
    return this.#services.now().getTime() - createdAt.getTime() > LONGEST_PAUSED_MS
  }

  /** Waits a moment for a connection that the destination of a message may have: how to give it back, or null. */
  connect(taken: TakenEmail | undefined): Promise<(() => void) | null> {
    return this.#limits.connect(taken)
  }

  /** A message was handed over, which took so long, or it was not. */
  ended(taken: TakenEmail, handOverMs: number | null): void {
    this.#limits.ended(taken, handOverMs)
  }

  /** After how many milliseconds to look for mail of the project that was put off; null: not before the next sweep. */
  lookAfter(projectId: string): number | null {
    return this.#limits.lookAfter(projectId)
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
    if (!results) await Promise.all(leaving.map(({ email, permit }) => this.#warmUps.giveBack(email, permit)))
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
    // Others may have heard so since the message was prepared.
    const later = this.putOff(taken, email)
    if (later) return later
    const mail = await this.#outbox.outgoing(email, body)
    const permit = await this.#warmUps.take(email, taken.priority)
    if (permit && 'reason' in permit) return givenBack(permit.reason, permit.waitMs)
    return { taken, email, body, mail, permit }
  }

  async #send(leaving: Leaving[]): Promise<DeliveryResult[] | null> {
    const mails = leaving.map(({ mail }) => mail)
    const [only, ...others] = mails
    if (!only) return []
    return others.length > 0 ? this.#mailer.sendTogether(mails) : [await this.#mailer.send(only)]
  }

  #outcomeOf({ taken, email, permit }: Leaving, result: DeliveryResult): Outcome {
    if (taken.attempts === 1) this.#metrics.deliveryDelay.observe(taken.lateMs / 1000)
    this.#metrics.deliveries.labels(this.#mailer.provider, result.kind).inc()
    const domain = domainOf(email.from)
    if (result.kind === 'provider') {
      this.#watch.failed(result, domain)
      void this.#warmUps.giveBack(email, permit)
      const wait = this.#watch.waitOf(domain)
      return givenBack(storableText(`${result.reason} ${result.advice}`), wait)
    }
    if (result.kind === 'sent') {
      this.#watch.succeeded(domain)
      this.#pauses.accepted(email)
    }
    if (result.kind === 'temporary' && result.slowDown) this.#slowDown(email, result.reason)
    if (result.kind === 'temporary' && result.uncertain) this.#metrics.uncertainDeliveries.inc()
    const outcome = outcomeOf(email, taken.attempts, result, Math.random())
    if (outcome.status === 'FAILED') {
      this.#services.log.warn({ emailId: email.id, reason: outcome.error }, 'email given up')
    }
    return outcome
  }

  #slowDown(email: DueEmail, reason: string): void {
    const pauseMs = this.#pauses.askedToSlowDown(email)
    if (pauseMs === null) return
    const domains = { from: domainOf(email.from), to: domainOf(email.toEmail) }
    this.#services.log.warn(
      { ...domains, pauseMs, reason },
      'a destination asks for less mail; its mail waits',
    )
  }
}

/** The rows of a campaign are wide and many; they are written when their mail has left. */
const waiting = ({ priority }: TakenEmail, reason: string, waitMs: number): Outcome =>
  givenBack(priority === PRIORITIES.campaign ? null : reason, waitMs)
