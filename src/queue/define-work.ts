import type { Ctx } from '../ctx.ts'

/** How urgent work is; a lower number goes first. */
export const PRIORITIES = { transactional: 0, workflow: 1, campaign: 2, maintenance: 3 } as const
export type Priority = (typeof PRIORITIES)[keyof typeof PRIORITIES]

/** A kind of background work, as the code that asks for it knows it: without its handler. */
export type WorkKind = { name: string }

/** `name` is the queue's, "feature.verb-noun". */
export const workKind = (name: string): WorkKind => ({ name })

/**
 * Where a job stands in the queue: work that was just asked for goes before what slices and sweeps have put back,
 * so that a project with little to do is served at once whatever backlog others have.
 */
export type Standing = 'fresh' | 'left' | 'later'

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

const STANDINGS = { fresh: 10, left: 5, later: 5 } as const

/** pg-boss takes the highest number first. */
export const queuePriority = (priority: Priority, standing: Standing): number =>
  STANDINGS[standing] - priority

/** The least number of work that was just asked for. */
export const FRESH_PRIORITY = queuePriority(PRIORITIES.maintenance, 'fresh')

/** One fetch in LOW_SHARE begins further down, at each of LOW_STARTS in turn, so that no work starves. */
export const LOW_SHARE = 5
export const LOW_STARTS = Object.values(PRIORITIES).map((priority) => queuePriority(priority, 'left'))
