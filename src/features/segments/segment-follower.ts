import { setTimeout as pause } from 'node:timers/promises'
import { SYSTEM } from '../../access.ts'
import { type Ctx, createCtx, forProject, projectIdOf, type Services } from '../../ctx.ts'
import { isDatabaseUnavailable } from '../../db/sql.ts'
import { changedProjects, lockSegment, takeChanges } from './membership.sql.ts'
import { evaluate } from './membership.ts'

/** How often changes are looked for. */
const LOOK_EVERY_MS = 1_000
const AFTER_FAILURE_MS = 5_000
/** Changes of one commit. */
const BATCH = 2_000
const SMALLEST_BATCH = 32
const BATCHES_OF_A_TURN = 10

/**
 * Has tracked segments follow the changes of contacts, for as long as it runs. Any number of processes may do so:
 * each takes changes that no other one has, and a segment is evaluated by one at a time.
 */
export class SegmentFollower {
  readonly #services: Services
  readonly #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(services: Services) {
    this.#services = services
  }

  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    const ctx = createCtx(this.#services, SYSTEM, 'segment follower')
    while (!signal.aborted) {
      const done = await followChanges(ctx, signal).then(
        () => true,
        (error: unknown) => {
          const level = isDatabaseUnavailable(error) ? 'debug' : 'error'
          ctx.log[level]({ err: error }, 'segments did not follow changes of contacts')
          return false
        },
      )
      await pause(done ? LOOK_EVERY_MS : AFTER_FAILURE_MS, undefined, { signal }).catch(() => undefined)
    }
  }
}

/**
 * Follows all changes that there are now. What fails does not keep the rest: the first error is thrown when all
 * else has been followed. Projects take turns, so that none waits for one that changes all the time.
 */
export async function followChanges(ctx: Ctx, signal?: AbortSignal): Promise<void> {
  const errors: unknown[] = []
  const [failed, broken] = [new Set<string>(), new Set<string>()]
  for (let more = true; more && !signal?.aborted; ) {
    more = false
    for (const { projectId } of await ctx.sql(changedProjects)) {
      if (failed.has(projectId)) continue
      try {
        more = (await followTurn(forProject(ctx, projectId), broken, errors, signal)) || more
      } catch (error) {
        failed.add(projectId)
        errors.push(error)
      }
    }
  }
  if (errors.length > 0) throw errors[0]
}

/** Some batches of one project. Whether there may be more. */
async function followTurn(
  ctx: Ctx,
  broken: Set<string>,
  errors: unknown[],
  signal?: AbortSignal,
): Promise<boolean> {
  let size = BATCH
  for (let batches = 0; batches < BATCHES_OF_A_TURN && !signal?.aborted; batches += 1) {
    try {
      if (!(await followBatch(ctx, size, broken))) return false
    } catch (error) {
      if (error instanceof BrokenSegment) {
        errors.push(error)
        broken.add(error.segmentId)
      } else if (size > SMALLEST_BATCH) {
        // So many may be more than can be done in the time that a transaction has.
        size = Math.ceil(size / 8)
      } else throw error
    }
  }
  return true
}

/** A segment that cannot be evaluated, whatever the state of the database is. */
class BrokenSegment extends Error {
  readonly segmentId: string

  constructor(segmentId: string, cause: unknown) {
    super(`Segment ${segmentId} cannot be evaluated`, { cause })
    this.segmentId = segmentId
  }
}

/**
 * Takes some changes and evaluates the tracked segments for their contacts, in one commit. Those that are known
 * to be broken miss the changes; they are computed once they can be. Returns whether there is more to do at once:
 * the batch was full, or members have moved, which other segments may ask for. What else comes in is left to
 * gather, so that many changes are few evaluations.
 */
async function followBatch(ctx: Ctx, size: number, broken: Set<string>): Promise<boolean> {
  const projectId = projectIdOf(ctx)
  return ctx.atomically(async (tx) => {
    const taken = await tx.sql(takeChanges, [projectId, size])
    if (taken.length === 0) return false
    const contactIds = taken.map(({ contactId }) => contactId)
    let moved = 0
    for (const { id } of await tx.db.segment.findMany({
      where: { projectId, type: 'DYNAMIC', trackMembership: true },
      select: { id: true },
      orderBy: { id: 'asc' },
    })) {
      if (broken.has(id)) {
        await tx.db.segment.updateMany({ where: { projectId, id }, data: { computedAt: null } })
      } else {
        moved += await followInto(tx, id, contactIds)
      }
    }
    return moved > 0 || taken.reduce((sum, { changes }) => sum + changes, 0) === size
  })
}

/** Returns how many members have moved. */
async function followInto(tx: Ctx, id: string, contactIds: string[]): Promise<number> {
  const projectId = projectIdOf(tx)
  const [locked] = await tx.sql(lockSegment, [projectId, id])
  if (!locked) return 0
  // Read under the lock, with what was committed while it waited.
  const segment = await tx.db.segment.findUnique({ where: { projectId_id: { projectId, id } } })
  if (!segment?.trackMembership) return 0
  try {
    const { entered, departed } = await evaluate(tx, segment, 'each', contactIds)
    return entered + departed
  } catch (error) {
    throw isDatabaseUnavailable(error) ? error : new BrokenSegment(id, error)
  }
}
