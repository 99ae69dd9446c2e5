import type { Ctx } from '../ctx.ts'
import type { Consumer } from '../generated/prisma/enums.ts'
import { PRIORITIES, workKind } from '../queue/define-work.ts'

/** A project has changes that its segments have not followed. */
export const segmentFollowingWork = workKind('segments.follow')

/** A project has events that its workflows have not heard of, or executions that can go on. */
export const workflowAdvancingWork = workKind('workflows.advance')

/** A project has events that webhook endpoints ask for. */
export const webhookRoutingWork = workKind('webhooks.route')

type Asking = Pick<Ctx, 'requestWork'>

/** Wakes the readers of the feed of changes that a statement has said to listen (`heard`). */
export function wakeFollowers(ctx: Asking, rows: { heard: Consumer[] }[]): void {
  const listens = (consumer: Consumer) => rows.some(({ heard }) => heard.includes(consumer))
  if (listens('SEGMENT')) ctx.requestWork(segmentFollowingWork)
  if (listens('WORKFLOW')) ctx.requestWork(workflowAdvancingWork, PRIORITIES.workflow)
  if (listens('WEBHOOK')) ctx.requestWork(webhookRoutingWork)
}
