import { z } from 'zod'
import type { Services } from '../ctx.ts'
import { within } from '../lib/async/within.ts'
import type { WorkKind } from './job-queue.ts'
import type { WorkData } from './work-requests.ts'

const HEARTBEAT_MS = 3_000
const CLOSE_TIMEOUT_MS = 10_000

/**
 * The answer of pg-boss, which its types leave open: the ids of the jobs that are still active in this
 * attempt.
 */
const touched = z.object({ settled: z.array(z.string()) })

/** One attempt at one job. */
export type Claim = { id: string; retryCount: number }

/** A turn that this process has: until its heartbeat is not confirmed any more. */
export type Running = {
  claim: Claim
  data: WorkData
  lost: AbortController
  /** When the database last took it for ours. */
  heldAt: number
  askedForMore: boolean
}

/** The turns of one kind of work that this process has: keeps them by heartbeats, and ends them in the queue. */
export class Claims {
  readonly #services: Services
  readonly #kind: WorkKind
  readonly #running = new Map<string, Running>()
  #finished: Claim[] = []
  #heartbeat: NodeJS.Timeout | null = null

  constructor(services: Services, kind: WorkKind) {
    this.#services = services
    this.#kind = kind
  }

  get size(): number {
    return this.#running.size
  }

  count(matches: (data: WorkData) => boolean): number {
    return [...this.#running.values()].filter(({ data }) => matches(data)).length
  }

  start(): void {
    this.#heartbeat = setInterval(() => {
      // #beat catches everything itself.
      void this.#beat()
    }, HEARTBEAT_MS)
  }

  async stop(): Promise<void> {
    if (this.#heartbeat) clearInterval(this.#heartbeat)
    await within(CLOSE_TIMEOUT_MS, this.#remove())
  }

  hold(claim: Claim, data: WorkData, heldAt: number): Running {
    const running = { claim, data, lost: new AbortController(), heldAt, askedForMore: false }
    this.#running.set(claim.id, running)
    return running
  }

  release({ claim }: Running): void {
    this.#running.delete(claim.id)
  }

  /** Turns that have ended are removed from the queue together. */
  finish(claim: Claim): void {
    this.#finished.push(claim)
    if (this.#finished.length > 1) return
    setImmediate(() => {
      // #remove catches everything itself.
      void this.#remove()
    })
  }

  async #remove(): Promise<void> {
    const finished = this.#finished.splice(0)
    if (finished.length === 0) return
    try {
      const { boss, queueConnections } = this.#services
      await boss.deleteJob(this.#kind.name, finished, { db: queueConnections.quick })
    } catch (error) {
      // Their heartbeats end, and other workers look again.
      this.#services.log.debug({ err: error }, 'finished turns were not removed')
    }
  }

  async fail(claim: Claim, error: unknown): Promise<void> {
    const reason = { message: error instanceof Error ? error.message : String(error) }
    try {
      await this.#services.boss.fail(this.#kind.name, claim, reason)
    } catch (failure) {
      this.#services.log.debug({ err: failure }, 'a failed turn was not noted; its heartbeat ends')
    }
  }

  #lose({ claim, data, lost }: Running): void {
    const context = { work: this.#kind.name, projectId: data.projectId, jobId: claim.id }
    this.#services.log.warn(context, 'a turn was given to another worker; this one stops working on it')
    lost.abort(new Error('Another worker has this turn.'))
  }

  async #beat(): Promise<void> {
    const held = [...this.#running.values()].filter(({ lost }) => !lost.signal.aborted)
    if (held.length === 0) return
    const asked = performance.now()
    try {
      const claims = held.map(({ claim }) => claim)
      const answer = touched.parse(await this.#services.boss.touch(this.#kind.name, claims))
      const confirmed = new Set(answer.settled)
      for (const running of held) {
        if (confirmed.has(running.claim.id)) running.heldAt = asked
        else this.#lose(running)
      }
    } catch (error) {
      this.#services.log.debug({ err: error }, 'heartbeats were not sent')
    }
  }
}
