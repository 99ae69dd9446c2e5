import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Services } from '../../ctx.ts'
import type { Turn } from '../../queue/define-work.ts'
import { PRIORITIES, type Priority } from '../../queue/priorities.ts'
import { type TakenRow, takeDueMail } from './delivery.sql.ts'
import type { TakenEmail } from './outcome.ts'

/** A turn takes at most so many messages, as a rule. */
const MAX_PER_TURN = 25
/** A process holds about as much as it hands over in this time: more would wait where no other process can help. */
const HELD_MS = 1_000
/** Messages held per connection of the provider, at least and at most. */
const MIN_PER_CONNECTION = 2
const MAX_PER_CONNECTION = 50
/** A hand-over is assumed to last this long before the first one; the latest one counts this much of the average. */
const USUAL_MS = 50
const WEIGHT = 0.05
/** A process remembers for so long below which time a queue is empty; after that it looks at all of the queue. */
const REMEMBER_MS = 2_000
/** Commits may be late by this much: their mail is due before mail that was already taken. */
const LATE_COMMIT_MS = 1_000

export type Taken = {
  emails: TakenEmail[]
  /** The priority of mail that may be left; null when none is. */
  left: Priority | null
  /** Milliseconds until the project may send again, when its limit left less than was due. */
  throttledMs: number | null
}

type Waiting = { turn: Turn; resolve: (taken: Taken) => void; reject: (error: unknown) => void }

type Since = { until: number; byPriority: Date[] }

const LONG_AGO = new Date(0)

/**
 * Takes mail for turns. Turns that begin at the same moment share one statement, so that many small projects cost no
 * more than one large one.
 */
export class TakeTurns {
  readonly #services: Services
  readonly #connections: number
  readonly #perTurn: number
  #waiting: Waiting[] = []
  #taking: Promise<void> | null = null
  readonly #since = new Map<string, Since>()
  #held = 0
  #handOverMs = USUAL_MS

  /** `perTurn` is how many messages a turn has at most; above the usual number it has so many whatever is held. */
  constructor(services: Services, connections: number, perTurn = MAX_PER_TURN) {
    this.#services = services
    this.#connections = connections
    this.#perTurn = perTurn
  }

  take(turn: Turn): Promise<Taken> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ turn, resolve, reject })
      // #takeAll rejects every one of them when it fails.
      this.#taking ??= nextTurn().then(() => this.#takeAll())
    })
  }

  /** A message that was taken is no longer held; `handOverMs` is how long it took, when it was handed over. */
  release(handOverMs: number | null): void {
    this.#held -= 1
    if (handOverMs !== null) this.#handOverMs += WEIGHT * (handOverMs - this.#handOverMs)
  }

  /** Returns how many messages one of `turns` turns may take. Fresh mail is little, and goes ahead of held mail. */
  #shareOf(turn: Turn, turns: number): number {
    if (turn.standing === 'fresh' || this.#perTurn > MAX_PER_TURN) return this.#perTurn
    const each = Math.min(MAX_PER_CONNECTION, Math.max(MIN_PER_CONNECTION, HELD_MS / this.#handOverMs))
    const free = each * this.#connections - this.#held
    return Math.min(this.#perTurn, Math.max(1, Math.floor(free / turns)))
  }

  /** Turns of one project follow each other: in one statement they would not see what the other takes. */
  async #takeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Fresh ones come last, and so replace others of their project.
      const inOrder = this.#waiting.toSorted((a, b) => rankOf(a.turn) - rankOf(b.turn))
      const apart = [...new Map(inOrder.map((one) => [one.turn.projectId, one])).values()]
      this.#waiting = this.#waiting.filter((one) => !apart.includes(one))
      try {
        const rows = await this.#takeApart(apart.map(({ turn }) => turn))
        const byJob = Map.groupBy(rows, ({ jobId }) => jobId)
        for (const { turn, resolve } of apart) resolve(this.#takenBy(turn, byJob.get(turn.jobId) ?? []))
      } catch (error) {
        for (const { reject } of apart) reject(error)
      }
    }
    this.#taking = null
  }

  #takeApart(turns: Turn[]): Promise<TakenRow[]> {
    const since = turns.map(({ projectId }) => this.#sinceOf(projectId))
    const { delivery, freshMail } = this.#services.database
    const sql = turns.some(({ standing }) => standing === 'fresh') ? freshMail : delivery
    return sql(takeDueMail, {
      clockShift: this.#services.clockShift(),
      defaultRate: this.#services.config.sendRatePerSecond,
      projectIds: turns.map(({ projectId }) => projectId),
      jobIds: turns.map(({ jobId }) => jobId),
      attempts: turns.map(({ attempt }) => attempt),
      wanted: turns.map((turn) => this.#shareOf(turn, turns.length)),
      lowest: turns.map((turn) => lowestOf(turn)),
      since0: since.map((times) => times[0] ?? LONG_AGO),
      since1: since.map((times) => times[1] ?? LONG_AGO),
      since2: since.map((times) => times[2] ?? LONG_AGO),
    })
  }

  #takenBy(turn: Turn, rows: TakenRow[]): Taken {
    const emails = rows.flatMap(({ emailId, ...row }) =>
      emailId === null ? [] : [{ ...row, id: emailId, jobAttempt: turn.attempt }],
    )
    this.#held += emails.length
    this.#remember(turn.projectId, emails)
    const last = emails.at(-1)
    const [first] = rows
    const isFull = first !== undefined && emails.length === first.room
    const throttledMs = isFull ? (first?.throttledMs ?? null) : null
    const left = isFull && throttledMs === null && last ? last.priority : null
    return { emails, left, throttledMs }
  }

  #sinceOf(projectId: string): Date[] {
    const since = this.#since.get(projectId)
    return since && since.until > performance.now() ? since.byPriority : [LONG_AGO, LONG_AGO, LONG_AGO]
  }

  /**
   * Rows that are gone stay in the index until they are vacuumed, which a long report or a dump can put off; a large
   * backlog would pass over all of them at every turn.
   */
  #remember(projectId: string, emails: TakenEmail[]): void {
    const known = this.#since.get(projectId)
    const isCurrent = known !== undefined && known.until > performance.now()
    const since: Since = isCurrent
      ? known
      : { until: performance.now() + REMEMBER_MS, byPriority: [LONG_AGO, LONG_AGO, LONG_AGO] }
    for (const { priority, dueAt } of emails) {
      const time = new Date(dueAt.getTime() - LATE_COMMIT_MS)
      if (time > (since.byPriority[priority] ?? LONG_AGO)) since.byPriority[priority] = time
    }
    if (emails.length > 0) this.#since.set(projectId, since)
    else this.#since.delete(projectId)
  }
}

const rankOf = ({ standing }: Turn): number => (standing === 'fresh' ? 1 : 0)

/** Work that was just asked for is served as far as it was asked for; what is less urgent has turns of its own. */
const lowestOf = ({ standing, priority }: Turn): Priority =>
  standing === 'fresh' ? priority : PRIORITIES.maintenance
