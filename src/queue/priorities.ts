/** How urgent work is; a lower number goes first. */
export const PRIORITIES = { transactional: 0, workflow: 1, campaign: 2, maintenance: 3 } as const
export type Priority = (typeof PRIORITIES)[keyof typeof PRIORITIES]

/**
 * Where a job stands in the queue: work that was just asked for goes before what slices and sweeps have put back,
 * so that a project with little to do is served at once whatever backlog others have.
 */
export type Standing = 'fresh' | 'left' | 'later'

const STANDINGS = { fresh: 10, left: 5, later: 5 } as const

/** pg-boss takes the highest number first. */
export const queuePriority = (priority: Priority, standing: Standing): number =>
  STANDINGS[standing] - priority

/** The least number of work that was just asked for. */
export const FRESH_PRIORITY = queuePriority(PRIORITIES.maintenance, 'fresh')

/** One fetch in LOW_SHARE begins further down, at each of LOW_STARTS in turn, so that no work starves. */
export const LOW_SHARE = 5
export const LOW_STARTS = Object.values(PRIORITIES).map((priority) => queuePriority(priority, 'left'))
