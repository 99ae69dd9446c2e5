import type { FetchOptions } from 'pg-boss'
import { systemOf } from '../admission/access.ts'
import { createCtx, type Services } from '../ctx.ts'
import { isDatabaseUnavailable } from '../db/sql.ts'
import type { Metrics } from '../observe/metrics.ts'
import { Backlogs } from './backlogs.ts'
import { type Claim, Claims, type Running } from './claims.ts'
import type { ProjectWork, SliceResult, Turn } from './define-work.ts'
import { FRESH_PRIORITY, LOW_SHARE, LOW_STARTS, PRIORITIES, type Priority } from './priorities.ts'
import { type WorkData, workData } from './work-requests.ts'

/** How often jobs are looked for without a notification. */
const POLL_MS = 1_000
/** Slots that become free within this time share one fetch. */
const GATHER_SLOTS_MS = 2
/** A turn whose heartbeat has not been confirmed for so long may have been given to another worker. */
const HELD_MS = 8_000
const SLICE_MS = 1_000
const MIN_SLOTS_OF_PROJECT = 2
/** One slot in this number is kept for fresh work. */
const KEPT_FOR_FRESH = 4
const STOP_TIMEOUT_MS = 10_000

/**
 * Runs one kind of project work in this process: takes jobs as slots are free, so that a slice that waits for
 * something holds up no other, and keeps them by heartbeats.
 */
export class ProjectWorker {
  readonly #services: Services
  readonly #work: ProjectWork
  readonly #metrics: Metrics
  readonly #slots: number
  readonly #claims: Claims
  /** Fresh requests of projects with a backlog wait their turn. */
  readonly #backlogs = new Backlogs()
  /** Projects that have all the slots they may have; they are asked for again when one of their slices ends. */
  readonly #crowded = new Map<string, Priority>()
  #fetches = 0
  #mayHaveMore = false
  #rung = false
  #ring: (() => void) | null = null
  readonly #stopping = new AbortController()
  #loop: Promise<void> = Promise.resolve()

  constructor(services: Services, work: ProjectWork, metrics: Metrics) {
    this.#services = services
    this.#work = work
    this.#slots = work.concurrency ?? 1
    this.#metrics = metrics
    this.#claims = new Claims(services, work.kind)
  }

  start(): void {
    this.#loop = this.#run()
    this.#claims.start()
  }

  /** Looks for jobs now. */
  wake(): void {
    this.#rung = true
    this.#ring?.()
  }

  /** Has the slices end after what they are doing. Turns that end too late go to other workers, as after a crash. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.wake()
    await this.#loop
    const deadline = Date.now() + STOP_TIMEOUT_MS
    while (this.#claims.size > 0 && Date.now() < deadline) await this.#rest(50)
    await this.#claims.stop()
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      this.#rung = false
      const isFilled = await this.#fill()
      if (isFilled && !this.#rung) await this.#rest(POLL_MS)
    }
  }

  get #free(): number {
    return this.#work.mayRun?.() === false ? 0 : this.#slots - this.#claims.size
  }

  /** Some slots are kept for work that was just asked for: it does not wait for the end of slices of a backlog. */
  get #freeForAll(): number {
    const running = this.#claims.count(({ standing }) => standing !== 'fresh')
    return Math.min(this.#free, this.#slots - Math.floor(this.#slots / KEPT_FOR_FRESH) - running)
  }

  /** Takes jobs for the slots that are free. False when there are slots left and may be jobs for them. */
  async #fill(): Promise<boolean> {
    if (this.#free <= 0) return true
    const free = this.#freeForAll
    try {
      const fetched = free > 0 ? await this.#fetch(free) : await this.#fetchFresh(this.#free)
      this.#mayHaveMore = free <= 0 || fetched === free
      // Turns that were put back at once have left their slots free.
      return fetched < Math.max(1, free) || this.#freeForAll <= 0
    } catch (error) {
      this.#services.log.debug({ err: error, work: this.#work.kind.name }, 'jobs could not be taken')
      return true
    }
  }

  async #rest(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.#ring = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#ring = null
  }

  /** Takes up to `free` jobs and starts their slices. */
  async #fetch(free: number): Promise<number> {
    this.#fetches += 1
    const maxPriority = LOW_STARTS[(this.#fetches / LOW_SHARE) % LOW_STARTS.length]
    const low = maxPriority === undefined ? 0 : await this.#take({ batchSize: free, maxPriority })
    return low === free ? low : low + (await this.#take({ batchSize: free - low }))
  }

  #fetchFresh(free: number): Promise<number> {
    return this.#take({ batchSize: free, minPriority: FRESH_PRIORITY })
  }

  async #take(options: FetchOptions): Promise<number> {
    // From this moment the database counts the turns as ours, whenever its answer is seen.
    const heldAt = performance.now()
    const jobs = await this.#services.boss.fetch<unknown>(this.#work.kind.name, options)
    for (const { id, retryCount, data } of jobs) {
      const read = workData.safeParse(data)
      if (read.success) this.#start({ id, retryCount }, read.data, heldAt)
      // It is of another version of the service.
      else await this.#claims.fail({ id, retryCount }, read.error)
    }
    return jobs.length
  }

  #start(claim: Claim, data: WorkData, heldAt: number): void {
    const { projectId, priority, standing } = data
    const backlog = this.#backlogs.of(projectId)
    if (this.#isCrowded(data)) {
      this.#crowded.set(projectId, priority)
      this.#claims.finish(claim)
      return
    }
    if (standing === 'fresh' && backlog !== null && backlog <= priority) {
      // It has a turn coming; another one would put it ahead of the others.
      this.#services.work.ask(this.#work.kind, { projectId, priority: backlog, standing: 'left' })
      this.#claims.finish(claim)
      return
    }
    // #runSlice catches everything itself.
    void this.#runSlice(this.#claims.hold(claim, data, heldAt))
  }

  /**
   * A project leaves slots to the others, whatever it asks for: some of those kept for fresh work, and some
   * of the rest.
   */
  #isCrowded({ projectId, standing }: WorkData): boolean {
    const isFresh = standing === 'fresh'
    const own = this.#claims.count(
      (other) => other.projectId === projectId && (other.standing === 'fresh') === isFresh,
    )
    const share = isFresh ? this.#slots / KEPT_FOR_FRESH : this.#slots / 2
    return own >= Math.max(MIN_SLOTS_OF_PROJECT, Math.floor(share))
  }

  async #runSlice(running: Running): Promise<void> {
    const { claim, data } = running
    const { name } = this.#work.kind
    const ctx = createCtx(this.#services, systemOf(data.projectId), claim.id, { connections: 'worker' })
    try {
      const result = await this.#work.slice(ctx, this.#turnOf(running))
      this.#metrics.slices.labels(name, 'done').inc()
      this.#putBack(running, result)
      this.#claims.finish(claim)
    } catch (error) {
      this.#metrics.slices.labels(name, 'failed').inc()
      const level = isDatabaseUnavailable(error) ? 'debug' : 'error'
      const context = { err: error, work: name, projectId: data.projectId, attempt: claim.retryCount + 1 }
      this.#services.log[level](context, 'a slice of background work failed and will be tried again')
      await this.#claims.fail(claim, error)
    } finally {
      this.#claims.release(running)
      const crowded = this.#crowded.get(data.projectId)
      if (crowded !== undefined && this.#crowded.delete(data.projectId)) this.#leave(data.projectId, crowded)
      if (this.#mayHaveMore) setTimeout(() => this.wake(), GATHER_SLOTS_MS)
    }
  }

  #turnOf(running: Running): Turn {
    const { claim, lost } = running
    const { projectId, priority, standing } = running.data
    const began = performance.now()
    const signal = AbortSignal.any([lost.signal, this.#stopping.signal])
    return {
      ...{ projectId, priority, standing, signal, jobId: claim.id, attempt: claim.retryCount },
      isHeld: () => !lost.signal.aborted && performance.now() - running.heldAt < HELD_MS,
      hasTime: () => !signal.aborted && performance.now() - began < SLICE_MS,
      askForMore: (left = priority) => {
        running.askedForMore = true
        this.#leave(projectId, left)
      },
      askAgain: (afterMs) => this.#askAgain(projectId, priority, afterMs),
    }
  }

  #leave(projectId: string, priority: Priority): void {
    this.#backlogs.note(projectId, priority)
    this.#services.work.ask(this.#work.kind, { projectId, priority, standing: 'left' })
  }

  #putBack({ data: { projectId, priority, standing }, askedForMore }: Running, result: SliceResult): void {
    if (result === 'more') {
      if (!askedForMore) this.#leave(projectId, priority)
      return
    }
    // A fresh request is served completely; backlog of less urgent work may be left.
    this.#backlogs.forget(projectId, standing === 'fresh' ? priority : PRIORITIES.maintenance)
    if (result === 'done') return
    this.#askAgain(projectId, priority, Math.max(0, result.afterMs))
  }

  #askAgain(projectId: string, priority: Priority, afterMs: number): void {
    this.#services.work.ask(this.#work.kind, { projectId, priority, standing: 'later', afterMs })
    if (!this.#stopping.signal.aborted) setTimeout(() => this.wake(), afterMs + GATHER_SLOTS_MS).unref()
  }
}
