import { DATABASE_NOW } from '../../../db/database-clock.ts'
import { ERASED, isKept } from '../../../db/kept-contacts.sql.ts'
import { statement } from '../../../db/sql.ts'

/** Entries of one contact into one workflow within an hour: more are taken for a workflow that starts itself. */
export const MAX_ENTRIES = 50

/**
 * Starts executions for contacts, with the data of events, or with `context`. It is once ever for a workflow without
 * re-entry, otherwise one at a time; the keys of entries and of active executions see to it, whoever else starts them at the
 * same moment. `ids` are those of the new executions; a workflow and a contact occur together once. A contact that enters
 * again and again is FAILED at its entry number MAX_ENTRIES of an hour, and does not enter until the hour is over.
 * Entries into a segment that is being filled start nothing.
 */
export const startExecutions = statement<
  {
    projectId: string
    ids: string[]
    workflowIds: string[]
    contactIds: string[]
    eventIds: (string | null)[]
    context: string
    clockShift: number
  },
  { id: string; contactId: string; workflowId: string }
>(
  'start-executions',
  `with clock as (select (${DATABASE_NOW})::timestamptz(3) as time),
   wanted as materialized (
     select a.id, w.id as workflow_id, w.allow_reentry, c.id as contact_id, coalesce(e.data, :context::jsonb) as context,
       trigger.id as step_id
     from unnest(:ids::uuid[], :workflowIds::uuid[], :contactIds::uuid[], :eventIds::uuid[])
       as a (id, workflow_id, contact_id, event_id)
     join workflows w on w.project_id = :projectId::uuid and w.id = a.workflow_id and w.enabled and not w.deleted
     join workflow_steps trigger on trigger.project_id = :projectId::uuid and trigger.workflow_id = w.id
       and trigger.type = 'TRIGGER'
     join contacts c on c.project_id = :projectId::uuid and c.id = a.contact_id and c.email not like '${ERASED}%'
       and ${isKept('c')}
     left join events e on e.project_id = :projectId::uuid and e.id = a.event_id
     where (e.data -> 'initial') is distinct from 'true'
       and not exists (select from workflow_executions x where x.project_id = :projectId::uuid and x.workflow_id = w.id
         and x.contact_id = c.id and x.status in ('RUNNING', 'WAITING'))
   ),
   entered as (
     insert into workflow_entries as n (project_id, workflow_id, contact_id, created_at, recent, recent_since)
     select :projectId::uuid, workflow_id, contact_id, time, 1, time from wanted, clock order by contact_id, workflow_id
     on conflict (project_id, workflow_id, contact_id) do update set
       recent = case when n.recent_since > excluded.recent_since - interval '1 hour' then n.recent + 1 else 1 end,
       recent_since = case when n.recent_since > excluded.recent_since - interval '1 hour' then n.recent_since
         else excluded.recent_since end
     where exists (select from workflows w where w.project_id = :projectId::uuid and w.id = n.workflow_id
         and w.allow_reentry)
       and (n.recent < ${MAX_ENTRIES} or n.recent_since is null
         or n.recent_since <= excluded.recent_since - interval '1 hour')
     returning workflow_id, contact_id, recent >= ${MAX_ENTRIES} as is_loop
   )
   insert into workflow_executions (project_id, id, workflow_id, contact_id, status, current_step_id, context, next_at,
     exit_reason, started_at, completed_at)
   select :projectId::uuid, id, workflow_id, contact_id,
     (case when is_loop then 'FAILED' else 'RUNNING' end)::execution_status, step_id, context,
     case when not is_loop then time end,
     case when is_loop then 'The contact has entered ${MAX_ENTRIES} times within an hour: the workflow seems to start itself.'
       end,
     time, case when is_loop then time end
   from wanted join entered using (workflow_id, contact_id), clock
   on conflict do nothing
   returning id, contact_id as "contactId", workflow_id as "workflowId"`,
)

/** Cancels active executions of a workflow: one of them, or some. Index: workflow_executions_active. */
export const cancelExecutions = statement<
  { projectId: string; workflowId: string; id: string | null; limit: number; clockShift: number },
  { id: string }
>(
  'cancel-executions',
  `with active as materialized (
     select id from workflow_executions
     where project_id = :projectId::uuid and workflow_id = :workflowId::uuid and status in ('RUNNING', 'WAITING')
       and (:id::uuid is null or id = :id::uuid)
     order by id limit :limit::int for update
   ),
   steps as (
     update step_executions s set status = 'SKIPPED', completed_at = ${DATABASE_NOW} from active
     where s.project_id = :projectId::uuid and s.execution_id = active.id and s.status in ('SCHEDULED', 'WAITING')
   )
   update workflow_executions x set status = 'CANCELLED', next_at = null, waiting_for_event = null,
     completed_at = ${DATABASE_NOW}, revision = x.revision + 1
   from active where x.project_id = :projectId::uuid and x.id = active.id returning x.id`,
)

/** Has a failed execution try its step again. No row: it has not failed, or is another one's turn. */
export const retryExecution = statement<
  { projectId: string; workflowId: string; id: string; clockShift: number },
  { id: string }
>(
  'retry-execution',
  `update workflow_executions x set status = 'RUNNING', next_at = ${DATABASE_NOW}, exit_reason = null,
     completed_at = null, revision = x.revision + 1
   where x.project_id = :projectId::uuid and x.workflow_id = :workflowId::uuid and x.id = :id::uuid
     and x.status = 'FAILED' and exists (select from workflow_steps s
       where s.project_id = :projectId::uuid and s.id = x.current_step_id)
     and not exists (select from workflow_executions other where other.project_id = :projectId::uuid
       and other.workflow_id = x.workflow_id and other.contact_id = x.contact_id
       and other.status in ('RUNNING', 'WAITING'))
   returning x.id`,
)

/** How large executions are, in the order of their ids: their context, and something for the rest. */
export const executionSizes = statement<{ projectId: string; ids: string[] }, { id: string; bytes: number }>(
  'execution-sizes',
  `select id, octet_length(context::text) + 600 as bytes from workflow_executions
   where project_id = :projectId::uuid and id = any(:ids::uuid[]) order by array_position(:ids::uuid[], id)`,
)

/** Removes executions that were over before a time, their steps all at once, which then are counted at once; `firstKept` is the id of one that began then. Key: workflow_executions_pkey. */
export const purgeExecutions = statement<
  { projectId: string; firstKept: string; before: Date; limit: number },
  { id: string }
>(
  'purge-executions',
  `with old as materialized (
     select id from workflow_executions
     where project_id = :projectId::uuid and id < :firstKept::uuid and status not in ('RUNNING', 'WAITING')
       and completed_at < :before::timestamptz
     limit :limit::int
   ),
   steps as (delete from step_executions s using old where s.project_id = :projectId::uuid and s.execution_id = old.id)
   delete from workflow_executions x using old where x.project_id = :projectId::uuid and x.id = old.id returning x.id`,
)
