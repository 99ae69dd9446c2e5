import { wakeFollowers } from '../../changes/followers.ts'
import type { Ctx, Services } from '../../ctx.ts'
import { isDatabaseUnavailable, sqlState } from '../../db/sql.ts'
import type { Consumer } from '../../generated/prisma/enums.ts'
import { newId } from '../../lib/ids.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import type { Outcome, TakenEmail } from './outcome.ts'
import { dropDelivery, settleDeliveries } from './settle.sql.ts'

const RETRY_MS = 1_000
/** Outcomes of campaign mail wait so long for others: a statement with two of them costs as much as one with ten. */
const GATHER_MS = 50
/** These errors say nothing about the values: a row is locked, a statement took too long, a deadlock. */
const PASSING = new Set(['55P03', '57014', '40P01', '40001'])

const isPassing = (error: unknown): boolean => PASSING.has(sqlState(error) ?? '')
/** The database is away: every message would fail alike. */
const isAway = (error: unknown): boolean => isDatabaseUnavailable(error) && !isPassing(error)
/** The same statement will never succeed. */
const hasBadValues = (error: unknown): boolean => !isDatabaseUnavailable(error) && !isPassing(error)

type Settled = { email: TakenEmail; outcome: Outcome; written: () => void }

const mayWait = ({ email }: Settled): boolean => email.priority === PRIORITIES.campaign

/**
 * Stores the outcomes of messages. An outcome is kept in memory until the database has it: losing it would send the
 * message again.
 */
export class Settler {
  readonly #services: Services
  #finished: Settled[] = []
  /** Outcomes that are tried again in a moment. */
  readonly #parked = new Set<Settled>()
  #isSettling = false
  #gathering: NodeJS.Timeout | null = null
  #stopped = false

  constructor(services: Services) {
    this.#services = services
  }

  /** Resolves when the outcome is written, or when the process stops without having reached the database. */
  settle(email: TakenEmail, outcome: Outcome): Promise<void> {
    return new Promise((written) => this.#add({ email, outcome, written }))
  }

  #add(settled: Settled): void {
    if (this.#stopped) {
      settled.written()
      return
    }
    // Others that do not wait are written by the next statement, and take this one with them.
    const isApart = this.#finished.length === 0 || this.#gathering !== null
    this.#finished.push(settled)
    if (isApart && mayWait(settled)) this.#gathering ??= setTimeout(() => this.#writeNow(), GATHER_MS)
    else this.#writeNow()
  }

  #writeNow(): void {
    if (this.#gathering) clearTimeout(this.#gathering)
    this.#gathering = null
    // #settleAll catches everything itself.
    if (!this.#isSettling) void this.#settleAll()
  }

  /** Gives up. Messages that are not settled are handed over again by the worker that gets their job. */
  stop(): void {
    this.#stopped = true
    for (const { written } of [...this.#finished.splice(0), ...this.#parked]) written()
    this.#parked.clear()
  }

  /**
   * Messages that finish while a statement runs are settled by the next one, so a busy worker settles in batches. Campaign
   * mail among itself waits for the end of its time.
   */
  async #settleAll(): Promise<void> {
    this.#isSettling = true
    while (this.#finished.length > 0 && this.#gathering === null) {
      const batch = this.#finished
      this.#finished = []
      await this.#writeApart(batch)
    }
    this.#isSettling = false
  }

  /** Writes each outcome alone when the database refuses one or has to wait: the others must not wait for it. */
  async #writeApart(batch: Settled[]): Promise<void> {
    try {
      await this.#write(batch)
    } catch (error) {
      const [first, ...others] = batch
      if (!first) return
      if (others.length > 0 && !isAway(error)) for (const settled of batch) await this.#writeApart([settled])
      else if (hasBadValues(error)) await this.#writeWithoutWords(first, error)
      else this.#tryLater(batch, error)
    }
  }

  #tryLater(batch: Settled[], error: unknown): void {
    this.#services.log.warn({ err: error }, 'deliveries could not be settled yet; trying again')
    for (const settled of batch) this.#parked.add(settled)
    setTimeout(() => {
      for (const settled of batch) if (this.#parked.delete(settled)) this.#add(settled)
    }, RETRY_MS).unref()
  }

  /** Drops the provider's words when the database refuses them: the message has left, and must not be sent again. */
  async #writeWithoutWords(settled: Settled, refusal: unknown): Promise<void> {
    const { email, outcome } = settled
    this.#services.log.error({ err: refusal, emailId: email.id }, 'a delivery is settled without its details')
    const plain = {
      ...outcome,
      providerMessageId: null,
      error: outcome.error && 'See the log.',
      event: null,
      rendered: null,
    }
    try {
      await this.#write([{ ...settled, outcome: plain }])
    } catch (error) {
      if (!hasBadValues(error)) return this.#tryLater([{ ...settled, outcome: plain }], error)
      this.#services.log.error(
        { err: error, emailId: email.id },
        'a delivery cannot be settled; it is not sent again',
      )
      await this.#drop(email).then(settled.written, (failure: unknown) => {
        this.#tryLater([{ ...settled, outcome: plain }], failure)
      })
    }
  }

  async #drop({ projectId, id: emailId, jobId, jobAttempt: attempt }: TakenEmail): Promise<void> {
    const now = this.#services.now()
    const dropping = { projectId, emailId, jobId, attempt, eventId: newId(now), now }
    this.#wake(await this.#services.database.delivery(dropDelivery, dropping))
  }

  async #write(batch: Settled[]): Promise<void> {
    const now = this.#services.now()
    const heard = await this.#services.database.delivery(settleDeliveries, {
      clockShift: this.#services.clockShift(),
      now,
      projectIds: batch.map(({ email }) => email.projectId),
      emailIds: batch.map(({ email }) => email.id),
      jobIds: batch.map(({ email }) => email.jobId),
      attempts: batch.map(({ email }) => email.jobAttempt),
      statuses: batch.map(({ outcome }) => outcome.status),
      delaysMs: batch.map(({ outcome }) => outcome.delayMs),
      untried: batch.map(({ outcome }) => outcome.untried),
      providerMessageIds: batch.map(({ outcome }) => outcome.providerMessageId),
      errors: batch.map(({ outcome }) => outcome.error),
      eventIds: batch.map(() => newId(now)),
      eventNames: batch.map(({ outcome }) => outcome.event?.name ?? null),
      eventData: batch.map(({ outcome }) => (outcome.event ? JSON.stringify(outcome.event.data) : null)),
      uncertain: batch.map(({ outcome }) => outcome.uncertain),
      recipientStatuses: batch.map(({ outcome }) => outcome.recipientStatus),
      subjects: batch.map(({ outcome }) => outcome.rendered?.subject ?? null),
      variables: batch.map(({ outcome }) =>
        outcome.rendered?.variables ? JSON.stringify(outcome.rendered.variables) : null,
      ),
    })
    this.#wake(heard)
    for (const { written } of batch) written()
  }

  #wake(heard: { projectId: string; heard: Consumer[] }[]): void {
    for (const row of heard) {
      const { projectId } = row
      const requestWork: Ctx['requestWork'] = (kind, priority) =>
        this.#services.work.ask(kind, { projectId, priority })
      wakeFollowers({ requestWork }, [row])
    }
  }
}
