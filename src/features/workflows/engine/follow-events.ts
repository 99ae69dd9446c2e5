import { type Ctx, projectIdOf } from '../../../ctx.ts'
import { newId } from '../../../lib/ids.ts'
import { startExecutions } from '../executions/executions.sql.ts'
import { holdContacts } from './advance.sql.ts'
import {
  firstEvents,
  type HeardEvent,
  removeEvents,
  wakeExecutions,
  workflowsStartedBy,
} from './follow-events.sql.ts'

/** Events of one commit. */
const BATCH = 500

/**
 * Lets the workflows of the project hear of the first events, `BATCH` at most: executions that wait for them go on, and
 * others start, in the commit that takes the events away. True when there are more.
 */
export async function followEvents(tx: Ctx, now: Date): Promise<boolean> {
  const projectId = projectIdOf(tx)
  const events = await tx.sql(firstEvents, { projectId, limit: BATCH })
  if (events.length === 0) return false
  await tx.sql(holdContacts, { projectId, ids: [...new Set(events.map(({ contactId }) => contactId))] })
  await tx.sql(wakeExecutions, {
    ...{ projectId, now },
    contactIds: events.map(({ contactId }) => contactId),
    eventIds: events.map(({ eventId }) => eventId),
    names: events.map(({ name }) => name),
  })
  await start(tx, events)
  await tx.sql(removeEvents, { projectId, ids: events.map(({ id }) => id) })
  return events.length === BATCH
}

async function start(tx: Ctx, events: HeardEvent[]): Promise<void> {
  const projectId = projectIdOf(tx)
  const names = [...new Set(events.flatMap(({ name }) => (name === null ? [] : [name])))]
  const workflows = await tx.sql(workflowsStartedBy, { projectId, names })
  // Of several events of a contact the first one counts: the others find it in the workflow.
  const entries = new Map(
    events
      .toReversed()
      .flatMap(({ contactId, eventId, name }) =>
        workflows
          .filter((workflow) => workflow.name === name)
          .map(({ id }) => [`${id} ${contactId}`, { workflowId: id, contactId, eventId }] as const),
      ),
  )
  const wanted = [...entries.values()].toReversed()
  if (wanted.length === 0) return
  await tx.sql(startExecutions, {
    projectId,
    ids: wanted.map(() => newId(tx.now())),
    workflowIds: wanted.map(({ workflowId }) => workflowId),
    contactIds: wanted.map(({ contactId }) => contactId),
    eventIds: wanted.map(({ eventId }) => eventId),
    context: '{}',
    clockShift: tx.services.clockShift(),
  })
}
