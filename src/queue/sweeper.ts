import { SYSTEM } from '../admission/access.ts'
import { type Ctx, createCtx, type Services } from '../ctx.ts'
import { DEAD_LETTERS } from './define-job.ts'
import type { Pending, ProjectWork } from './define-work.ts'
import { PRIORITIES } from './priorities.ts'
import { claimSweep, failedProjects } from './sweep.sql.ts'

const SWEEP_MS = 2_000
/** A kind whose sweep takes long is swept less often: at most a tenth of the time. */
const SHARE = 10
/** The longest that a kind is not swept, however long its sweep took. */
const LONGEST_REST_MS = 30_000
/** Failed sweeps in a row after which the log warns the operator. */
const WARN_AFTER = 5
/** Work that was given up is begun again after this time: the reason of its failure may be gone. */
const GIVEN_UP_MINUTES = 10

/**
 * Finds project work that was not asked for: work that has become due, and lost requests. For each kind one
 * process at a time does it. Work that fails is left to its own tries.
 */
export class Sweeper {
  readonly #services: Services
  readonly #works: readonly ProjectWork[]
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #running = new Set<Promise<void>>()
  #stopped = false

  constructor(services: Services, works: readonly ProjectWork[]) {
    this.#services = services
    this.#works = works
  }

  start(): void {
    for (const work of this.#works) this.#begin(work, 0)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const timer of this.#timers) clearTimeout(timer)
    await Promise.all(this.#running)
  }

  #begin(work: ProjectWork, failures: number): void {
    const running = this.#sweepAndRest(work, failures).finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  /** Kinds are swept apart: one whose sweep waits for something holds up no other. */
  async #sweepAndRest(work: ProjectWork, failures: number): Promise<void> {
    const began = performance.now()
    const failed = await this.#sweep(work).then(
      () => 0,
      (error: unknown) => {
        const level = failures + 1 === WARN_AFTER ? 'warn' : 'debug'
        this.#services.log[level](
          { err: error, work: work.kind.name },
          'work that is due cannot be looked for',
        )
        return failures + 1
      },
    )
    if (this.#stopped) return
    const rest = Math.min(LONGEST_REST_MS, Math.max(SWEEP_MS, (performance.now() - began) * SHARE))
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#begin(work, failed)
    }, rest)
    this.#timers.add(timer)
  }

  async #sweep(work: ProjectWork): Promise<void> {
    const ctx = createCtx(this.#services, SYSTEM, 'sweep', { connections: 'worker' })
    const [claimed] = await ctx.sql(claimSweep, { kind: work.kind.name, restMs: SWEEP_MS - 100 })
    if (!claimed) return
    const pending = await work.pending(ctx)
    if (pending.length > 0) await this.#ask(ctx, work, pending)
  }

  async #ask(ctx: Ctx, work: ProjectWork, pending: Pending[]): Promise<void> {
    const rows = await ctx.sql(failedProjects, {
      deadLetters: DEAD_LETTERS,
      kind: work.kind.name,
      minutes: GIVEN_UP_MINUTES,
    })
    const failed = new Set(rows.map(({ projectId }) => projectId))
    for (const one of pending) {
      const asked = typeof one === 'string' ? { projectId: one, priority: PRIORITIES.transactional } : one
      if (failed.has(asked.projectId)) continue
      this.#services.work.ask(work.kind, { ...asked, standing: 'left' })
    }
  }
}
