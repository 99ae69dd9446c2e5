import { SYSTEM } from '../admission/access.ts'
import { type Ctx, createCtx, type Services } from '../ctx.ts'
import { DEAD_LETTERS } from './define-job.ts'
import type { Pending, ProjectWork } from './define-work.ts'
import { PRIORITIES } from './priorities.ts'
import { claimSweep, failedProjects } from './sweep.sql.ts'

const SWEEP_MS = 2_000
/** A sweep that takes long comes less often: up to three seconds it has at most a tenth of the time. */
const SHARE = 10
/** The longest that a sweep rests, however long it took. */
const LONGEST_REST_MS = 30_000
/** Failed sweeps in a row after which the log warns the operator. */
const WARN_AFTER = 5
/** Work that was given up is begun again after this time: the reason of its failure may be gone. */
const GIVEN_UP_MINUTES = 10

/** Something that is looked after every two seconds, by the process that begins first; one that takes longer may run in another as well. */
export type Sweep = { name: string; run: (ctx: Ctx) => Promise<void> }

/** Sweeps apart: one that waits for something holds up no other. */
export class Sweeper {
  readonly #services: Services
  readonly #sweeps: readonly Sweep[]
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #running = new Set<Promise<void>>()
  #stopped = false

  constructor(services: Services, sweeps: readonly Sweep[]) {
    this.#services = services
    this.#sweeps = sweeps
  }

  start(): void {
    for (const sweep of this.#sweeps) this.#begin(sweep, 0)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const timer of this.#timers) clearTimeout(timer)
    await Promise.all(this.#running)
  }

  #begin(sweep: Sweep, failures: number): void {
    const running = this.#sweepAndRest(sweep, failures).finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  async #sweepAndRest(sweep: Sweep, failures: number): Promise<void> {
    const began = performance.now()
    const failed = await this.#sweep(sweep).then(
      () => 0,
      (error: unknown) => {
        const level = failures + 1 === WARN_AFTER ? 'warn' : 'debug'
        this.#services.log[level](
          { err: error, sweep: sweep.name },
          'a sweep fails; it is tried again in some seconds',
        )
        return failures + 1
      },
    )
    if (this.#stopped) return
    const rest = Math.min(LONGEST_REST_MS, Math.max(SWEEP_MS, (performance.now() - began) * SHARE))
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#begin(sweep, failed)
    }, rest)
    this.#timers.add(timer)
  }

  async #sweep({ name, run }: Sweep): Promise<void> {
    const ctx = createCtx(this.#services, SYSTEM, 'sweep', { connections: 'worker' })
    const [claimed] = await ctx.sql(claimSweep, { kind: name, restMs: SWEEP_MS - 100 })
    if (claimed) await run(ctx)
  }
}

/**
 * Finds project work that was not asked for: work that has become due, and lost requests. Work that fails is left to its own
 * tries.
 */
export const sweepOf = (work: ProjectWork): Sweep => ({
  name: work.kind.name,
  async run(ctx) {
    const pending = await work.pending(ctx)
    if (pending.length > 0) await askFor(ctx, work, pending)
  },
})

async function askFor(ctx: Ctx, work: ProjectWork, pending: Pending[]): Promise<void> {
  const rows = await ctx.sql(failedProjects, {
    deadLetters: DEAD_LETTERS,
    kind: work.kind.name,
    minutes: GIVEN_UP_MINUTES,
  })
  const failed = new Set(rows.map(({ projectId }) => projectId))
  for (const one of pending) {
    const asked = typeof one === 'string' ? { projectId: one, priority: PRIORITIES.transactional } : one
    if (failed.has(asked.projectId)) continue
    ctx.services.work.ask(work.kind, { ...asked, standing: 'left' })
  }
}
