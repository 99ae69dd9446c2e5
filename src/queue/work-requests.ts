import type { Db, PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import { z } from 'zod'
import { within } from '../lib/async/within.ts'
import { PRIORITIES, type Priority, queuePriority, type Standing, type WorkKind } from './define-work.ts'

/** Requests within this time share one statement. */
const GATHER_MS = 5
const CLOSE_TIMEOUT_MS = 1_000

export type WorkRequest = {
  projectId: string
  /** Transactional by default. */
  priority?: Priority | undefined
  standing?: Standing | undefined
  afterMs?: number
}

/** Payload of a job of project work. */
export type WorkData = { projectId: string; priority: Priority; standing: Standing }

export const workData: z.ZodType<WorkData> = z.object({
  projectId: z.uuid(),
  priority: z.union([z.literal(0), z.literal(1), z.literal(2), z.literal(3)]),
  standing: z.enum(['fresh', 'left', 'later']),
})

type NewJob = { data: WorkData; priority: number; singletonKey: string; startAfter?: string }

/**
 * Asks for turns of projects. The queue keeps one waiting job per project, priority and standing, so that it never
 * holds more than the projects that have work. Requests are gathered for some milliseconds and stand outside of the
 * transactions that they follow. Inserting a job notifies the workers (`notify` of pg-boss, queue.ts), which otherwise
 * look every second; the sweep finds requests that were lost.
 */
export class WorkRequests {
  readonly #boss: PgBoss
  readonly #db: Db
  readonly #log: Logger
  #gathered = new Map<string, Map<string, NewJob>>()
  #timer: NodeJS.Timeout | null = null
  #sentAt = 0
  #isSending = false
  #sending: Promise<void> = Promise.resolve()
  #closed = false

  /** The requests are written by way of `db`. */
  constructor(boss: PgBoss, db: Db, log: Logger) {
    this.#boss = boss
    this.#db = db
    this.#log = log
  }

  ask(kind: WorkKind, request: WorkRequest): void {
    if (this.#closed) return
    const { projectId, priority = PRIORITIES.transactional, standing = 'fresh', afterMs } = request
    const singletonKey = `${projectId}/${priority}/${standing}`
    const jobs = this.#gathered.get(kind.name) ?? new Map<string, NewJob>()
    this.#gathered.set(kind.name, jobs)
    jobs.set(singletonKey, {
      data: { projectId, priority, standing },
      priority: queuePriority(priority, standing),
      singletonKey,
      ...(afterMs !== undefined && { startAfter: String(afterMs / 1000) }),
    })
    this.#schedule()
  }

  #send(): void {
    this.#timer = null
    this.#sentAt = performance.now()
    const gathered = this.#gathered
    this.#gathered = new Map()
    const inserts = [...gathered].map(([name, jobs]) =>
      this.#boss.insert(name, [...jobs.values()], { returnId: false, db: this.#db }),
    )
    this.#isSending = true
    this.#sending = Promise.all(inserts)
      .then(
        () => {},
        (error: unknown) => this.#log.debug({ err: error }, 'work was not asked for; the sweep will find it'),
      )
      .finally(() => {
        this.#isSending = false
        this.#schedule()
      })
  }

  /** One statement at a time: a slow database gets fewer and larger ones. */
  #schedule(): void {
    if (this.#isSending || this.#timer || this.#gathered.size === 0) return
    const wait = Math.max(0, this.#sentAt + GATHER_MS - performance.now())
    this.#timer = setTimeout(() => this.#send(), wait)
  }

  /** Sends what has been gathered: the workers of other processes go on. */
  async close(): Promise<void> {
    this.#closed = true
    await within(CLOSE_TIMEOUT_MS, this.#sending)
    if (this.#timer) clearTimeout(this.#timer)
    if (this.#gathered.size > 0) this.#send()
    await within(CLOSE_TIMEOUT_MS, this.#sending)
  }
}
