import type { Queue } from 'pg-boss'
import type { Ctx } from '../ctx.ts'
import type { JobQueue } from './job-queue.ts'

/** Background work with its handler. */
export type JobDefinition<Payload extends object> = JobQueue<Payload> & {
  /** How many of them one process runs at the same time; 1 by default. */
  concurrency?: number
  /** A cron expression (UTC) for work that recurs; its payload is `{}`. */
  cron?: string
  handle: (ctx: Ctx, payload: Payload) => Promise<void>
}

/** A definition whose payload type is hidden, so that one list can hold all of them. */
export type Job = {
  name: string
  options: Omit<Queue, 'name' | 'deadLetter'>
  cron: string | undefined
  concurrency: number
  run: (ctx: Ctx, payload: unknown) => Promise<void>
}

/** Where jobs end that have failed for the last time; `cli jobs` lists and re-drives them. */
export const DEAD_LETTERS = 'dead-letters'

export const defineJob = <Payload extends object>(definition: JobDefinition<Payload>): Job => ({
  name: definition.name,
  options: definition.options ?? {},
  cron: definition.cron,
  concurrency: definition.concurrency ?? 1,
  run: (ctx, payload) => definition.handle(ctx, definition.payload.parse(payload)),
})
