import type { Ctx } from '../ctx.ts'
import { workKind } from '../queue/define-work.ts'

/** A project has changes that its segments have not followed. */
export const segmentFollowingWork = workKind('segments.follow')

/** Wakes those who read the feed of changes, after a statement has said that somebody listens (`heard`). */
export function wakeFollowers(ctx: Ctx, rows: { heard: boolean }[]): void {
  if (rows.some(({ heard }) => heard)) ctx.requestWork(segmentFollowingWork)
}
