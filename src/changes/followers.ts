import type { Ctx } from '../ctx.ts'
import { workKind } from '../queue/define-work.ts'

/** A project has changes that its segments have not followed. */
export const segmentFollowingWork = workKind('segments.follow')

/** Wakes the readers of the feed of changes when a statement has said that one of them listens (`heard`). */
export function wakeFollowers(ctx: Ctx, rows: { heard: boolean }[]): void {
  if (rows.some(({ heard }) => heard)) ctx.requestWork(segmentFollowingWork)
}
