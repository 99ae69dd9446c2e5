import type { Ctx } from '../ctx.ts'
import type { WorkKind } from './job-queue.ts'
import type { Priority, Standing } from './priorities.ts'

/** A project's turn at one kind of work: one attempt at one job of the queue. */
export type Turn = {
  projectId: string
  /** Together with `attempt` it names this turn; a slice marks what it takes with both. */
  jobId: string
  /** 0 the first time; more when the worker before has died or failed. */
  attempt: number
  /** The most urgent work that the turn was asked for; see PRIORITIES. */
  priority: Priority
  standing: Standing
  /** Aborted when the process stops or another worker has the turn: the slice ends after the commit under way. */
  signal: AbortSignal
  /** Whether the turn is still this worker's for certain; asked before something that cannot be taken back. */
  isHeld: () => boolean
  /** Whether the slice has time left. */
  hasTime: () => boolean
  /** Puts the project back to the end of the queue now, so that free workers join in before this slice ends. */
  askForMore: (priority?: Priority) => void
  /** Has the project looked at again after so many milliseconds, whether or not this slice has ended by then. */
  askAgain: (afterMs: number) => void
}

/** The work that a slice leaves: none, some for now, or some for later. */
export type SliceResult = 'done' | 'more' | { afterMs: number }

export type Pending = string | { projectId: string; priority: Priority }

/**
 * Background work of projects. It is done in slices, each a bounded part of one project's work, which take turns.
 * The rows of the work are the durable fact; a job of the queue only says that a project has some.
 */
export type ProjectWork = {
  kind: WorkKind
  /** Slices at the same time in one process; 1 by default. */
  concurrency?: number
  /** Whether work can be done at all at present; yes by default. */
  mayRun?: () => boolean
  /** Projects that have such work now. Asked every few seconds by one process: it finds what was due or forgotten. */
  pending: (ctx: Ctx) => Promise<Pending[]>
  /** Does about a second of the work of the project that `ctx` is bound to. */
  slice: (ctx: Ctx, turn: Turn) => Promise<SliceResult>
}

export const defineProjectWork = (work: ProjectWork): ProjectWork => work
