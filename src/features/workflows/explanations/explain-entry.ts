import { loadSubject } from '../../../audience/load.ts'
import { matchTree } from '../../../audience/match.rules.ts'
import { takeSearch } from '../../../audience/take-search.ts'
import { type Ctx, projectIdOf } from '../../../ctx.ts'
import type { WorkflowEntry, WorkflowExecution } from '../../../generated/prisma/client.ts'
import { isJsonObject } from '../../../lib/json.ts'
import { findContact } from '../../contacts/contacts.ts'
import { audienceOf } from '../engine/run-schedule.ts'
import { MAX_ENTRIES } from '../executions/executions.sql.ts'
import { getWorkflow, type Workflow } from '../find-workflow.ts'
import { eventOf, textIn } from '../triggers.ts'

const HOUR_MS = 3_600_000

export const ENTRY_REASONS = {
  IN_WORKFLOW: { description: 'The contact is in the workflow.' },
  ENTERED_ONCE: { description: 'The contact has entered, and may not again.' },
  TOO_MANY_ENTRIES: {
    description: `The contact has entered ${MAX_ENTRIES} times within an hour; it may again when that is over.`,
  },
  PROJECT_DISABLED: { description: 'The project is disabled, and its workflows rest.' },
  WORKFLOW_DISABLED: { description: 'The workflow is not enabled.' },
  TRIGGER_INCOMPLETE: { description: 'The trigger lacks its event, or its times and segment.' },
  ONLY_ON_REQUEST: { description: 'Only requests start executions.' },
  NO_SUCH_EVENT: { description: 'The contact has never had the event of the trigger.' },
  EVENT_UNDER_WAY: { description: 'The event has come, and is heard of soon.' },
  FIRST_FILL: { description: 'The event is of the first fill of a segment, which starts nothing.' },
  EVENT_NOT_HEARD: { description: 'The event came when the workflow did not listen to it.' },
  EVENT_BEFORE_LAST_ENTRY: { description: 'No event has come since the last entry.' },
  NOT_IN_SEGMENT: { description: 'The contact is not in the segment of the schedule.' },
  AT_NEXT_TIME: {
    description: 'The contact enters at the next time of the schedule, if it is in the segment then.',
  },
} as const

export type EntryReason = keyof typeof ENTRY_REASONS

export type EntryExplanation = {
  code: EntryReason
  text: string
  hasEntered: boolean
  /** Whether a request would be allowed to start an execution. */
  mayEnter: boolean
  enteredAt: Date | null
  executionId: string | null
  lastEventAt: Date | null
  nextRunAt: Date | null
}

type Why = Pick<EntryExplanation, 'code' | 'text'> & Partial<EntryExplanation>

/** Why a contact did or did not enter a workflow. Throws as `getWorkflow` and `findContact` do. */
export async function explainEntry(
  ctx: Ctx,
  workflowId: string,
  contactId: string,
): Promise<EntryExplanation> {
  const workflow = await getWorkflow(ctx, workflowId)
  const { id } = await findContact(ctx, { id: contactId })
  const projectId = projectIdOf(ctx)
  const entry = await ctx.db.workflowEntry.findFirst({ where: { projectId, workflowId, contactId: id } })
  const execution = await ctx.db.workflowExecution.findFirst({
    ...{ where: { projectId, workflowId, contactId: id }, orderBy: { id: 'desc' } },
  })
  const lastAt = execution?.startedAt ?? entry?.createdAt ?? null
  const known = {
    ...{ hasEntered: entry !== null, mayEnter: false, enteredAt: lastAt },
    ...{ executionId: execution?.id ?? null, lastEventAt: null, nextRunAt: null },
  }
  const barred = barrierOf(ctx, workflow, entry, execution)
  if (barred) return { ...known, ...barred }
  const { disabled } = await ctx.db.project.findUniqueOrThrow({ where: { id: projectId } })
  if (disabled) return { ...known, ...PROJECT_DISABLED }
  if (!workflow.enabled) return { ...known, ...NOT_ENABLED }
  return { ...known, mayEnter: true, ...(await awaited(ctx, workflow, id, lastAt)) }
}

const PROJECT_DISABLED: Why = {
  code: 'PROJECT_DISABLED',
  text: 'The project is disabled; nothing starts until that ends. Events of the meantime count then.',
}

const NOT_ENABLED: Why = {
  code: 'WORKFLOW_DISABLED',
  text: 'The workflow is not enabled, so nobody enters it (PATCH /workflows/:id). Events from before do not count then.',
}

/** What an entry from before says. */
function barrierOf(
  ctx: Ctx,
  { allowReentry }: Workflow,
  entry: WorkflowEntry | null,
  execution: WorkflowExecution | null,
): Why | null {
  if (execution?.status === 'RUNNING' || execution?.status === 'WAITING') {
    const since = execution.startedAt.toISOString()
    return {
      code: 'IN_WORKFLOW',
      text: `The contact entered at ${since} and is in the workflow (${execution.status}). explainExecution says where.`,
    }
  }
  if (!entry) return null
  const at = (execution?.startedAt ?? entry.createdAt).toISOString()
  const became = execution ? ` and is ${execution.status}` : '; its execution is not kept any more'
  if (!allowReentry) {
    return {
      code: 'ENTERED_ONCE',
      text: `The contact entered at ${at}${became}. The workflow does not let it enter again (allowReentry).`,
    }
  }
  const { recent, recentSince } = entry
  const over = recentSince && new Date(recentSince.getTime() + HOUR_MS)
  if (recent < MAX_ENTRIES || !over || over <= ctx.now()) return null
  return {
    code: 'TOO_MANY_ENTRIES',
    text: `The contact has entered ${recent} times within an hour: the workflow seems to start itself. It may again at ${over.toISOString()}.`,
  }
}

/** What has to happen for an entry, with nothing against it. */
async function awaited(ctx: Ctx, workflow: Workflow, contactId: string, lastAt: Date | null): Promise<Why> {
  if (workflow.triggerType === 'MANUAL') {
    return {
      code: 'ONLY_ON_REQUEST',
      text: 'Only a request starts an execution (POST /workflows/:id/executions).',
    }
  }
  if (workflow.triggerType === 'SCHEDULE') return scheduled(ctx, workflow, contactId)
  const name = eventOf(workflow)
  return name === null ? INCOMPLETE : awaitingEvent(ctx, { name, contactId, lastAt })
}

const INCOMPLETE: Why = {
  code: 'TRIGGER_INCOMPLETE',
  text: 'The trigger of the workflow is not complete; validateWorkflow says what it lacks.',
}

async function awaitingEvent(
  ctx: Ctx,
  { name, contactId, lastAt }: { name: string; contactId: string; lastAt: Date | null },
): Promise<Why> {
  const projectId = projectIdOf(ctx)
  const event = await ctx.db.event.findFirst({
    ...{ where: { projectId, contactId, name }, orderBy: { id: 'desc' } },
  })
  if (!event) {
    return {
      code: 'NO_SUCH_EVENT',
      text: `The contact has had no event "${name}", which starts the workflow.`,
    }
  }
  const at = event.createdAt.toISOString()
  const lastEventAt = event.createdAt
  const waiting = await ctx.db.change.findFirst({
    where: { projectId, consumer: 'WORKFLOW', contactId, eventId: event.id },
  })
  if (waiting) {
    const text = `The event "${name}" came at ${at} and waits for its turn, which usually takes seconds.`
    return { code: 'EVENT_UNDER_WAY', text, lastEventAt }
  }
  if (isJsonObject(event.data) && event.data.initial === true) {
    const text = `The event "${name}" of ${at} is of the first fill of a segment, which starts nothing.`
    return { code: 'FIRST_FILL', text, lastEventAt }
  }
  if (lastAt && lastAt >= event.createdAt) {
    const text = `The contact entered at ${lastAt.toISOString()}. Its last event "${name}" was before, at ${at}; the next one starts the workflow again.`
    return { code: 'EVENT_BEFORE_LAST_ENTRY', text, lastEventAt }
  }
  const text = `The event "${name}" came at ${at}, when the workflow did not listen to it: it was not enabled, had another trigger, or had the contact in it. The next one starts it.`
  return { code: 'EVENT_NOT_HEARD', text, lastEventAt }
}

async function scheduled(ctx: Ctx, { triggerConfig, nextAt }: Workflow, contactId: string): Promise<Why> {
  if (textIn(triggerConfig, 'segmentId') === null || nextAt === null) return INCOMPLETE
  const audience = await audienceOf(ctx, triggerConfig)
  const subject = await loadSubject(ctx, contactId, audience)
  if (subject) await takeSearch(ctx, audience, subject)
  const next = nextAt.toISOString()
  return subject && matchTree(audience, subject, ctx.now())
    ? {
        ...{ code: 'AT_NEXT_TIME', nextRunAt: nextAt },
        text: `The contact is in the segment of the schedule, and enters at its next time, ${next}, if it is still.`,
      }
    : {
        ...{ code: 'NOT_IN_SEGMENT', nextRunAt: nextAt },
        text: `The contact is not in the segment of the schedule, whose next time is ${next}.`,
      }
}
