import { compileTree } from '../../../audience/compile.sql.ts'
import { loadAudience } from '../../../audience/load.ts'
import { parseTree } from '../../../audience/parsing/parse.ts'
import { rangeEnd } from '../../../audience/scan.sql.ts'
import type { Audience } from '../../../audience/tree.rules.ts'
import { type Ctx, projectIdOf } from '../../../ctx.ts'
import { earliestId, LAST_ID, newId } from '../../../lib/ids.ts'
import { startExecutions } from '../executions/executions.sql.ts'
import { nextRun, textIn } from '../triggers.ts'
import { dueSchedule, membersBetween } from './run-schedule.sql.ts'

/** Contacts that one commit looks at. */
const RANGE = 1_000

const FIRST_ID = earliestId(new Date(0))

/**
 * Does a part of a run that is due: starts executions for the members of the segment among the next contacts. Runs that
 * were missed are one run, as soon as it is possible. False when none is due.
 */
export async function runSchedule(tx: Ctx, now: Date): Promise<boolean> {
  const projectId = projectIdOf(tx)
  const [due] = await tx.sql(dueSchedule, { projectId, now })
  if (!due) return false
  const after = due.runAfter ?? FIRST_ID
  const [end] = await tx.sql(rangeEnd, { projectId, after, until: LAST_ID, offset: RANGE - 1 })
  await startFor(tx, due, { after, until: end?.id ?? LAST_ID, now })
  await tx.db.workflow.update({
    where: { projectId_id: { projectId, id: due.id } },
    data: end
      ? { runFor: due.runFor ?? due.nextAt, runAfter: end.id }
      : { runFor: null, runAfter: null, nextAt: nextRun(due.triggerConfig, now) },
  })
  return true
}

/** The members of the segment of a schedule. */
export function audienceOf(ctx: Ctx, triggerConfig: unknown): Promise<Audience> {
  const field = `segment.${textIn(triggerConfig, 'segmentId')}`
  const groups = [{ filters: [{ field, operator: 'memberOfSegment' }] }]
  return loadAudience(ctx, parseTree({ logic: 'AND', groups }, 'triggerConfig'), 'triggerConfig')
}

type Range = { after: string; until: string; now: Date }

async function startFor(
  tx: Ctx,
  { id, triggerConfig }: { id: string; triggerConfig: unknown },
  { after, until, now }: Range,
): Promise<void> {
  const projectId = projectIdOf(tx)
  const condition = compileTree(await audienceOf(tx, triggerConfig), now)
  const members = await tx.sql(membersBetween(condition), { projectId, after, until, ...condition.params })
  if (members.length === 0) return
  await tx.sql(startExecutions, {
    ...{ projectId, context: '{}', clockShift: tx.services.clockShift() },
    ids: members.map(() => newId(now)),
    workflowIds: members.map(() => id),
    contactIds: members.map((member) => member.id),
    eventIds: members.map(() => null),
  })
}
