import type { Ctx } from '../ctx.ts'
import type { Consumer } from '../generated/prisma/enums.ts'
import { workKind } from '../queue/job-queue.ts'
import { PRIORITIES } from '../queue/priorities.ts'

/** Each change of a project that is followed asks for a turn: a stream of them is to cost its writers little. */
const FOLLOWED = { gatherMs: 50 }

/** A project has changes that its segments have not followed: features/memberships/follow-changes.ts does. */
export const segmentFollowingWork = workKind('segments.follow', FOLLOWED)

/**
 * A project has events that its workflows have not heard of (features/workflows/engine/follow-events.ts), or executions
 * that can go on.
 */
export const workflowAdvancingWork = workKind('workflows.advance', FOLLOWED)

/** A project has events that webhook endpoints ask for: features/webhooks/route-events.job.ts. */
export const webhookRoutingWork = workKind('webhooks.route', FOLLOWED)

type Asking = Pick<Ctx, 'requestWork'>

/** Wakes the readers of the feed of changes that a statement has said to listen (`heard`). */
export function wakeFollowers(ctx: Asking, rows: { heard: Consumer[] }[]): void {
  const listens = (consumer: Consumer) => rows.some(({ heard }) => heard.includes(consumer))
  if (listens('SEGMENT')) ctx.requestWork(segmentFollowingWork)
  if (listens('WORKFLOW')) ctx.requestWork(workflowAdvancingWork, PRIORITIES.workflow)
  if (listens('WEBHOOK')) ctx.requestWork(webhookRoutingWork)
}
