import { statement } from '../../../db/sql.ts'

export type HeardEvent = { id: string; contactId: string; eventId: string | null; name: string | null }

/** The first events of the project that its workflows have not heard of. Key: changes_pkey. */
export const firstEvents = statement<{ projectId: string; limit: number }, HeardEvent>(
  'first-events-for-workflows',
  `select id, contact_id as "contactId", event_id as "eventId", name from changes
   where project_id = :projectId::uuid and consumer = 'WORKFLOW' order by id limit :limit::int`,
)

/** Takes them away. */
export const removeEvents = statement<{ projectId: string; ids: string[] }>(
  'remove-events-for-workflows',
  `delete from changes where project_id = :projectId::uuid and consumer = 'WORKFLOW' and id = any(:ids::uuid[])`,
)

/**
 * Has executions go on that wait for one of the events, if it happened since they wait; the first one counts. An element of
 * the arrays is an event. Indexes: workflow_executions_waiting, events_pkey.
 */
export const wakeExecutions = statement<
  {
    projectId: string
    contactIds: string[]
    eventIds: (string | null)[]
    names: (string | null)[]
    now: Date
  },
  { id: string }
>(
  'wake-executions',
  `with woken as materialized (
     select distinct on (x.id) x.id, e.id as event_id
     from unnest(:contactIds::uuid[], :eventIds::uuid[], :names::text[]) with ordinality
       as h (contact_id, event_id, name, position)
     join workflow_executions x on x.project_id = :projectId::uuid and x.waiting_for_event = h.name
       and x.contact_id = h.contact_id and x.status = 'WAITING' and x.waiting_for_event is not null
     join events e on e.project_id = :projectId::uuid and e.id = h.event_id and e.created_at >= x.waiting_since
     order by x.id, h.position
   )
   update workflow_executions x set status = 'RUNNING', woken_by = woken.event_id, waiting_for_event = null,
     next_at = :now::timestamptz, revision = x.revision + 1
   from woken where x.project_id = :projectId::uuid and x.id = woken.id and x.status = 'WAITING' returning x.id`,
)

/** Enabled workflows that events of these names start. Index: workflows_project_id_created_at_id_idx. */
export const workflowsStartedBy = statement<
  { projectId: string; names: string[] },
  { id: string; name: string }
>(
  'workflows-started-by',
  `select id, trigger_config ->> 'eventName' as name from workflows
   where project_id = :projectId::uuid and enabled and not deleted and trigger_type = 'EVENT'
     and trigger_config ->> 'eventName' = any(:names::text[]) order by id`,
)
