import type { Services } from '../../ctx.ts'
import { newId } from '../../lib/ids.ts'
import { within } from '../../lib/within.ts'
import { takeFromWindow } from '../../limits.ts'
import type { Mailer } from '../../mail/mailer.ts'
import type { Metrics } from '../../metrics.ts'
import { LEASE_MS, LEASE_RENEWAL_MS, MAX_ATTEMPTS } from './delivery.rules.ts'
import {
  type ClaimedEmail,
  claimDueMail,
  type ProjectWithDueMail,
  projectsWithDueMail,
  renewLeases,
  takeOverExpired,
} from './delivery.sql.ts'
import { givenUp, Outbox, type Outcome, outcomeOf, suppressionOf } from './delivery.ts'
import { Settler } from './delivery-settler.ts'

/** How often workers look for due mail without being told. */
const POLL_MS = 1_000
const TAKE_OVER_MS = 5_000
/** Claimed messages per connection of the provider: enough that no connection waits for the database. */
const CLAIMED_PER_CONNECTION = 10
const STOP_TIMEOUT_MS = 8_000
const CLOSE_TIMEOUT_MS = 1_000

/**
 * Takes due mail from the `emails` table, which is the delivery queue itself, hands it to the provider and
 * settles it. Any number of workers may run; `for update skip locked` keeps them apart, and a lease gives the
 * mail of a dead one to the others.
 */
export class DeliveryWorker {
  readonly #services: Services
  readonly #mailer: Mailer
  readonly #metrics: Metrics
  readonly #outbox: Outbox
  readonly #settler: Settler
  readonly #claimId: string
  readonly #waiting: ClaimedEmail[] = []
  readonly #claimed = new Map<string, ClaimedEmail>()
  #active = 0
  #stopping = false
  #wake: (() => void) | null = null
  #woken = false
  #loop: Promise<void> | null = null
  readonly #timers: NodeJS.Timeout[] = []

  constructor(services: Services, mailer: Mailer, metrics: Metrics) {
    this.#services = services
    this.#mailer = mailer
    this.#metrics = metrics
    this.#outbox = new Outbox(services)
    this.#claimId = newId(services.now())
    this.#settler = new Settler(services, this.#claimId, ({ id }) => this.#claimed.delete(id))
  }

  start(): void {
    this.#loop = this.#run()
    this.#timers.push(
      setInterval(() => this.#guard('claims could not be renewed', () => this.#renew()), LEASE_RENEWAL_MS),
      setInterval(() => this.#guard('claims could not be taken over', () => this.#takeOver()), TAKE_OVER_MS),
    )
    this.#guard('claims could not be taken over', () => this.#takeOver())
  }

  /** Looks for due mail now instead of at the next poll. */
  wake(): void {
    this.#woken = true
    this.#wake?.()
  }

  /** Lets hand-overs under way finish, for a while, and gives back what was only claimed. */
  async stop(): Promise<void> {
    this.#stopping = true
    const deadline = Date.now() + STOP_TIMEOUT_MS
    for (const timer of this.#timers) clearInterval(timer)
    this.wake()
    if (this.#loop) await within(STOP_TIMEOUT_MS, this.#loop)
    for (const email of this.#waiting.splice(0)) this.#settler.giveBack(email)
    while (this.#claimed.size > 0 && Date.now() < deadline) await this.#pause(20)
    this.#settler.giveUp()
    // A provider that does not answer must not keep the process.
    await within(CLOSE_TIMEOUT_MS, this.#mailer.close())
  }

  #guard(message: string, work: () => Promise<void>): void {
    work().catch((error: unknown) => this.#services.log.warn({ err: error }, message))
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      this.#woken = false
      try {
        const resting = await this.#takeMail()
        if (resting > 0 && !this.#woken) await this.#pause(resting)
      } catch (error) {
        this.#services.log.warn({ err: error }, 'mail could not be taken for delivery')
        await this.#pause(POLL_MS)
      }
    }
  }

  async #pause(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = null
  }

  /** One look at every project with due mail. Returns how long to rest, in milliseconds. */
  async #takeMail(): Promise<number> {
    const free = this.#mailer.concurrency * CLAIMED_PER_CONNECTION - this.#claimed.size
    if (free < this.#mailer.concurrency) return POLL_MS
    const { sql } = this.#services.database
    const projects = await sql(projectsWithDueMail, [this.#services.now(), free])
    if (projects.length === 0) return POLL_MS
    const share = Math.max(1, Math.floor(free / projects.length))
    let taken = 0
    let throttledUntil = Number.POSITIVE_INFINITY
    for (const project of projects) {
      const result = await this.#takeFrom(project, Math.min(share, project.due))
      taken += result.taken
      throttledUntil = Math.min(throttledUntil, result.throttledUntil)
    }
    if (taken > 0) return 0
    return Math.min(POLL_MS, Math.max(10, throttledUntil - this.#services.now().getTime()))
  }

  async #takeFrom(
    project: ProjectWithDueMail,
    wanted: number,
  ): Promise<{ taken: number; throttledUntil: number }> {
    const { database, config } = this.#services
    const limit = project.sendRatePerSecond ?? config.sendRatePerSecond
    const now = this.#services.now()
    let granted = wanted
    let throttledUntil = Number.POSITIVE_INFINITY
    if (limit > 0) {
      const window = { limit, milliseconds: 1_000 }
      const permits = await takeFromWindow(database.sql, project.projectId, 'SENDS', window, wanted, now)
      granted = permits.granted
      if (granted < wanted) throttledUntil = permits.resetAt
    }
    if (granted === 0) return { taken: 0, throttledUntil }
    const leaseUntil = new Date(now.getTime() + LEASE_MS)
    const values = [project.projectId, now, granted, this.#claimId, leaseUntil]
    const emails = await database.sql(claimDueMail, values)
    for (const email of emails) this.#accept(email)
    return { taken: emails.length, throttledUntil }
  }

  #accept(email: ClaimedEmail): void {
    const held = this.#claimed.get(email.id)
    if (held) {
      // Claimed again after our own lease ran out: the hand-over that is still under way settles it.
      held.leaseUntil = email.leaseUntil
      return
    }
    this.#claimed.set(email.id, email)
    this.#waiting.push(email)
    this.#fillConnections()
  }

  #fillConnections(): void {
    while (this.#active < this.#mailer.concurrency && !this.#stopping) {
      const email = this.#waiting.shift()
      if (!email) return
      if (email.leaseUntil <= this.#services.now()) {
        // It could not be renewed in time, so another worker may be sending it by now.
        this.#claimed.delete(email.id)
        continue
      }
      this.#active += 1
      // #handOver catches everything itself.
      void this.#handOver(email)
    }
  }

  async #handOver(email: ClaimedEmail): Promise<void> {
    const outcome = await this.#deliver(email).catch((error: unknown) => {
      this.#services.log.error({ err: error, emailId: email.id }, 'delivery failed unexpectedly')
      const reason = 'The message could not be prepared for delivery.'
      return outcomeOf(email, { kind: 'temporary', reason }, this.#services.now(), Math.random())
    })
    this.#active -= 1
    this.#settler.finish(email, outcome)
    this.#fillConnections()
    if (this.#waiting.length < this.#mailer.concurrency) this.wake()
  }

  async #deliver(email: ClaimedEmail): Promise<Outcome> {
    const suppression = suppressionOf(email)
    if (suppression) return givenUp(email, 'SUPPRESSED', suppression)
    if (email.attempts > MAX_ATTEMPTS) {
      return givenUp(email, 'FAILED', 'Every attempt to hand this message over was cut off.')
    }
    if (email.domainStatus === null) {
      return givenUp(email, 'FAILED', 'The sender domain was removed from the project.')
    }
    if (email.domainStatus !== 'VERIFIED') {
      const reason = 'The sender domain is not verified at present.'
      return outcomeOf(email, { kind: 'temporary', reason }, this.#services.now(), Math.random())
    }
    if (email.html === null) return givenUp(email, 'FAILED', 'The body of this message has expired.')
    const mail = await this.#outbox.outgoing(email, email.html)
    const { now } = this.#services
    if (email.attempts === 1) {
      this.#metrics.deliveryDelay.observe(Math.max(0, now().getTime() - email.dueAt.getTime()) / 1000)
    }
    const result = await this.#mailer.send(mail)
    this.#metrics.deliveries.labels(this.#mailer.provider, result.kind).inc()
    const outcome = outcomeOf(email, result, now(), Math.random())
    if (outcome.status === 'FAILED') {
      this.#services.log.warn({ emailId: email.id, reason: outcome.error }, 'email given up')
    }
    return outcome
  }

  async #renew(): Promise<void> {
    const held = [...this.#claimed.values()]
    if (held.length === 0) return
    const until = new Date(this.#services.now().getTime() + LEASE_MS)
    const projects = held.map(({ projectId }) => projectId)
    const ids = held.map(({ id }) => id)
    const renewed = await this.#services.database.sql(renewLeases, [this.#claimId, until, projects, ids])
    for (const { id } of renewed) {
      const email = this.#claimed.get(id)
      if (email) email.leaseUntil = until
    }
  }

  async #takeOver(): Promise<void> {
    const taken = await this.#services.database.sql(takeOverExpired, [this.#services.now()])
    if (taken.length === 0) return
    this.#metrics.uncertainDeliveries.inc(taken.length)
    this.#services.log.warn({ emails: taken.map(({ id }) => id) }, 'mail taken over from a dead worker')
    this.wake()
  }
}
