import type { Db, PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import { z } from 'zod'
import { within } from '../lib/async/within.ts'
import type { WorkKind } from './job-queue.ts'
import { PRIORITIES, type Priority, queuePriority, type Standing } from './priorities.ts'

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

/** A turn that was asked for so many times while requests were gathered is asked for often: it serves many of them together. */
const OFTEN = 3
/** Milliseconds for which requests are gathered while all of them are for such turns. */
const OFTEN_GATHER_MS = 25

type Parts = { boss: PgBoss /** The requests are written by way of it. */; db: Db; log: Logger }

/**
 * Asks for turns of projects. The queue keeps one waiting job per project, priority and standing, so that it never
 * holds more than the projects that have work. Requests of a kind are gathered for some milliseconds (see `OFTEN`) and stand outside of the
 * transactions that they follow. Inserting a job notifies the workers (`notify` of pg-boss, queue.ts), which otherwise
 * look every second; the sweep finds requests that were lost.
 */
export class WorkRequests {
  readonly #parts: Parts
  readonly #kinds = new Map<string, RequestsOfKind>()
  #closed = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  ask(kind: WorkKind, request: WorkRequest): void {
    if (this.#closed) return
    const requests = this.#kinds.get(kind.name) ?? new RequestsOfKind(kind, this.#parts)
    this.#kinds.set(kind.name, requests)
    requests.ask(request)
  }

  /** Sends what has been gathered: the workers of other processes go on. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#kinds.values()].map((requests) => requests.close()))
  }
}

class RequestsOfKind {
  readonly #kind: WorkKind
  readonly #parts: Parts
  #gathered = new Map<string, { job: NewJob; asked: number }>()
  /** Turns that were asked for often, when requests were last sent. */
  #often = new Set<string>()
  /** Whether a turn has been gathered that was not. */
  #hasSeldom = false
  #timer: NodeJS.Timeout | null = null
  #sentAt = Number.NEGATIVE_INFINITY
  #isSending = false
  #sending: Promise<void> = Promise.resolve()

  constructor(kind: WorkKind, parts: Parts) {
    this.#kind = kind
    this.#parts = parts
  }

  ask(request: WorkRequest): void {
    const { projectId, priority = PRIORITIES.transactional, standing = 'fresh', afterMs } = request
    const singletonKey = `${projectId}/${priority}/${standing}`
    const job = {
      data: { projectId, priority, standing },
      priority: queuePriority(priority, standing),
      singletonKey,
      ...(afterMs !== undefined && { startAfter: String(afterMs / 1000) }),
    }
    const asked = this.#gathered.get(singletonKey)?.asked ?? 0
    this.#gathered.set(singletonKey, { job, asked: asked + 1 })
    if (asked > 0) return
    this.#hasSeldom ||= !this.#often.has(singletonKey)
    this.#schedule()
  }

  #send(): void {
    const { boss, db, log } = this.#parts
    this.#timer = null
    this.#sentAt = performance.now()
    const gathered = [...this.#gathered]
    const jobs = gathered.map(([, { job }]) => job)
    this.#often = new Set(gathered.flatMap(([key, { asked }]) => (asked >= OFTEN ? [key] : [])))
    this.#gathered = new Map()
    this.#hasSeldom = false
    this.#isSending = true
    this.#sending = boss
      .insert(this.#kind.name, jobs, { returnId: false, db })
      .then(
        () => {},
        (error: unknown) => log.debug({ err: error }, 'work was not asked for; the sweep will find it'),
      )
      .finally(() => {
        this.#isSending = false
        this.#schedule()
      })
  }

  /** One statement at a time: a slow database gets fewer and larger ones. A project that asks seldom waits for no other. */
  #schedule(): void {
    if (this.#isSending || this.#gathered.size === 0) return
    if (this.#timer) clearTimeout(this.#timer)
    const { gatherMs } = this.#kind
    const sendAt = this.#sentAt + (this.#hasSeldom ? gatherMs : Math.max(gatherMs, OFTEN_GATHER_MS))
    this.#timer = setTimeout(() => this.#send(), Math.max(0, sendAt - performance.now()))
  }

  async close(): Promise<void> {
    await within(CLOSE_TIMEOUT_MS, this.#sending)
    if (this.#timer) clearTimeout(this.#timer)
    if (this.#gathered.size > 0) this.#send()
    await within(CLOSE_TIMEOUT_MS, this.#sending)
  }
}
