import { MAX_EVENT_NAME } from '../../changes/event-names.rules.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { isJsonObject } from '../../lib/json.ts'
import { listFields } from '../contact-fields/custom-fields.ts'
import { typeOf } from '../contacts/contact-data.rules.ts'

/** Something that a condition can ask for. */
export type WorkflowField = { field: string; type: string; source: 'contact' | 'context' | 'event' }

/** Names of events in the answer. */
const MAX_EVENTS = 1_000
/** Newest events of a name whose data is looked at. */
const SAMPLE = 20

/** Fields of contacts, keys of the data of an event, when one is named, and events. */
export async function listWorkflowFields(ctx: Ctx, eventName: string | null): Promise<WorkflowField[]> {
  const contact = (await listFields(ctx)).map(({ field, type }) => ({
    field,
    type,
    source: 'contact' as const,
  }))
  const names = await ctx.db.eventName.findMany({
    where: { projectId: projectIdOf(ctx) },
    select: { name: true },
    orderBy: { name: 'asc' },
    take: MAX_EVENTS,
  })
  const events = names.map(({ name }) => ({
    field: `event.${name}`,
    type: 'event',
    source: 'event' as const,
  }))
  const context = eventName === null ? [] : await contextFields(ctx, eventName)
  return [...contact, ...context, ...events]
}

/** Index: events_project_id_name_created_at_contact_id_idx. */
async function contextFields(ctx: Ctx, name: string): Promise<WorkflowField[]> {
  if (name.length > MAX_EVENT_NAME) return []
  const events = await ctx.db.event.findMany({
    where: { projectId: projectIdOf(ctx), name },
    select: { data: true },
    orderBy: [{ createdAt: 'desc' }, { contactId: 'desc' }],
    take: SAMPLE,
  })
  const types = new Map<string, string>()
  for (const { data } of events.toReversed()) {
    for (const [key, value] of Object.entries(isJsonObject(data) ? data : {})) types.set(key, typeOf(value))
  }
  return [...types].map(([key, type]) => ({ field: `event.${key}`, type, source: 'context' }))
}
