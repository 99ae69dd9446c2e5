import { type Ctx, projectIdOf } from '../../ctx.ts'
import { workKind } from '../../queue/job-queue.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { noteTroubles } from './reputation.sql.ts'

/** Mail of a project has bounced, or somebody has complained: its rates have to be looked at. */
export const reputationWork = workKind('reputation.check')

/** Has the rates of the project looked at after the commit. */
export async function watchReputation(tx: Ctx): Promise<void> {
  await tx.sql(noteTroubles, { projectId: projectIdOf(tx), now: tx.now() })
  tx.requestWork(reputationWork, PRIORITIES.maintenance, 'later')
}
