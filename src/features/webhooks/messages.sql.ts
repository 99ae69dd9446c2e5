import { NEW_ID } from '../../changes/changes.sql.ts'
import { DATABASE_NOW } from '../../db/database-clock.ts'
import { isKept } from '../../db/kept-contacts.sql.ts'
import { type None, statement } from '../../db/sql.ts'

/** Projects with changes that no call has been made of. A loose scan of changes_pkey. */
export const projectsWithHeardEvents = statement<None, { projectId: string }>(
  'projects-with-heard-events',
  `with recursive project as (
     (select project_id from changes where consumer = 'WEBHOOK' order by project_id limit 1)
     union all
     select (select c.project_id from changes c where c.project_id > project.project_id and c.consumer = 'WEBHOOK'
       order by c.project_id limit 1)
     from project where project.project_id is not null
   )
   select p.id as "projectId" from project join projects p on p.id = project.project_id`,
)

/**
 * Writes the calls of the first changes of the project, for each endpoint that asks for the event, and takes the changes
 * away. An event that is gone is told to nobody. Keys: changes_pkey, events_pkey.
 */
export const routeEvents = statement<
  { projectId: string; limit: number; now: Date; clockShift: number },
  { read: number; written: number }
>(
  'route-events-to-webhooks',
  `with batch as materialized (
     select project_id, id, event_id from changes
     where project_id = :projectId::uuid and consumer = 'WEBHOOK' order by id limit :limit::int
     for update skip locked
   ),
   gone as (
     delete from changes c using batch
     where c.project_id = batch.project_id and c.consumer = 'WEBHOOK' and c.id = batch.id
   ),
   message as (
     insert into webhook_messages (project_id, id, endpoint_id, contact_id, event_name, url, method, headers, body,
       due_at, created_at)
     select e.project_id, ${NEW_ID}, endpoint.id, e.contact_id, e.name, endpoint.url, 'POST',
       '{"content-type": "application/json"}',
       jsonb_build_object('type', e.name, 'timestamp',
         to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
         'data', jsonb_build_object('eventId', e.id, 'contactId', e.contact_id, 'email', c.email, 'data', e.data)),
       ${DATABASE_NOW}, :now::timestamptz
     from batch
     join events e on e.project_id = batch.project_id and e.id = batch.event_id
     join contacts c on c.project_id = e.project_id and c.id = e.contact_id and ${isKept('c')}
     join webhook_endpoints endpoint on endpoint.project_id = e.project_id and endpoint.enabled
       and (e.name = any(endpoint.event_names) or split_part(e.name, '.', 1) || '.*' = any(endpoint.event_names))
     returning id
   )
   select (select count(*) from batch)::int as read, (select count(*) from message)::int as written`,
)

/** Projects with calls that are due. A loose scan of webhook_messages_due. Those of disabled projects wait. */
export const projectsWithDueCalls = statement<{ clockShift: number }, { projectId: string }>(
  'projects-with-due-webhooks',
  `with recursive waiting as (
     (select project_id from webhook_messages where taken_by is null and due_at is not null
      order by project_id limit 1)
     union all
     select (select m.project_id from webhook_messages m
       where m.taken_by is null and m.due_at is not null and m.project_id > waiting.project_id
       order by m.project_id limit 1)
     from waiting where waiting.project_id is not null
   )
   select p.id as "projectId" from waiting join projects p on p.id = waiting.project_id and not p.disabled
   where exists (select from webhook_messages m where m.project_id = p.id and m.taken_by is null
     and m.due_at <= ${DATABASE_NOW})`,
)

/** A call that this worker is to make. */
export type TakenCall = {
  projectId: string
  id: string
  url: string
  method: string
  headers: Record<string, string>
  body: string
  attempts: number
  isEndpoints: boolean
  /** Why it is not to be made any more. */
  unused: 'gone' | 'disabled' | 'cancelled' | null
}

/** Takes calls that are due, those that have waited longest first. Index: webhook_messages_due. */
export const takeDueCalls = statement<
  { projectId: string; jobId: string; attempt: number; limit: number; clockShift: number },
  TakenCall
>(
  'take-due-webhooks',
  `with due as materialized (
     select project_id, id from webhook_messages
     where project_id = :projectId::uuid and taken_by is null and due_at <= ${DATABASE_NOW}
     order by due_at, id limit :limit::int for update skip locked
   ),
   taken as (
     update webhook_messages m set taken_by = :jobId::uuid, taken_attempt = :attempt::int, attempts = m.attempts + 1
     from due where m.project_id = due.project_id and m.id = due.id
     returning m.*
   )
   select t.project_id as "projectId", t.id, coalesce(e.url, t.url) as url, t.method, t.headers, t.body, t.attempts,
     t.endpoint_id is not null as "isEndpoints",
     case when t.endpoint_id is not null and e.id is null then 'gone'
       when not e.enabled then 'disabled'
       when t.awaited and x.status is distinct from 'WAITING' then 'cancelled' end as unused
   from taken t left join webhook_endpoints e on e.project_id = t.project_id and e.id = t.endpoint_id
   left join workflow_executions x on x.project_id = t.project_id and x.id = t.execution_id
   order by t.due_at, t.id`,
)

/** Calls of workers that have died are due again; who is called may get them twice, with the same id. */
export const releaseAbandonedCalls = statement<{ clockShift: number; queue: string }, { id: string }>(
  'release-abandoned-webhooks',
  `update webhook_messages m set taken_by = null, taken_attempt = null, due_at = ${DATABASE_NOW}
   where m.taken_by is not null and not exists (
     select from pgboss.job j where j.name = :queue and j.id = m.taken_by and j.state = 'active'
       and j.retry_count = m.taken_attempt)
   returning m.id`,
)

/**
 * Writes down what came of a call, if it is still this worker's. `delayMs` is null when it has ended; `tookMs` null when
 * it was not made. An endpoint that has failed since before `failingBefore`, or `isGone`, is called no more. An execution that
 * waits for the end of the call goes on; it is locked before the call, as by who deletes both.
 */
export const settleCall = statement<
  {
    clockShift: number
    now: Date
    projectId: string
    id: string
    jobId: string
    attempt: number
    status: 'PENDING' | 'SENT' | 'FAILED'
    delayMs: number | null
    tryId: string
    url: string
    httpStatus: number | null
    answer: string | null
    error: string | null
    tookMs: number | null
    failingBefore: Date
    isGone: boolean
    failingReason: string
  },
  { endpointId: string | null; woken: boolean }
>(
  'settle-webhook',
  `with awaiting as materialized (
     select x.id from webhook_messages m
     join workflow_executions x on x.project_id = m.project_id and x.id = m.execution_id
     where m.project_id = :projectId::uuid and m.id = :id::uuid and m.awaited for update of x
   ),
   done as (
     update webhook_messages set status = :status::webhook_status, taken_by = null, taken_attempt = null,
       due_at = ${DATABASE_NOW} + :delayMs::float8 * interval '1 millisecond',
       ended_at = case when :delayMs::float8 is null then :now::timestamptz end,
       attempts = attempts - case when :tookMs::int is null then 1 else 0 end,
       awaited = awaited and :delayMs::float8 is not null
     where project_id = :projectId::uuid and id = :id::uuid and taken_by = :jobId::uuid
       and taken_attempt = :attempt::int and (select count(*) from awaiting) >= 0
     returning project_id, id, endpoint_id
   ),
   noted as (
     insert into webhook_attempts (project_id, message_id, id, url, status, answer, error, took_ms, created_at)
     select project_id, id, :tryId::uuid, :url, :httpStatus::int, :answer, :error, coalesce(:tookMs::int, 0),
       :now::timestamptz
     from done
   ),
   woken as (
     update workflow_executions x set status = 'RUNNING', woken_by = done.id, next_at = ${DATABASE_NOW},
       revision = x.revision + 1
     from awaiting, done
     where x.project_id = done.project_id and x.id = awaiting.id and x.status = 'WAITING' and :delayMs::float8 is null
     returning x.id
   ),
   stopped as (
     update webhook_endpoints e set
       failing_since = case when :status = 'SENT' then null else coalesce(e.failing_since, :now::timestamptz) end,
       enabled = e.enabled and not stop.is_over,
       disabled_reason = case when e.enabled and stop.is_over then :failingReason else e.disabled_reason end,
       updated_at = case when e.enabled and stop.is_over then :now::timestamptz else e.updated_at end
     from done
     cross join lateral (select :tookMs::int is not null and :status <> 'SENT'
       and (:isGone::boolean or coalesce(e2.failing_since < :failingBefore::timestamptz, false)) as is_over
       from webhook_endpoints e2 where e2.project_id = done.project_id and e2.id = done.endpoint_id) stop
     where e.project_id = done.project_id and e.id = done.endpoint_id and :tookMs::int is not null
       and (stop.is_over or (e.failing_since is null) <> (:status = 'SENT'))
     returning case when stop.is_over then e.id end as id
   )
   select (select id from stopped) as "endpointId", exists (select from woken) as woken`,
)

/** Has a call that has ended be made again, with all tries before it; none when it waits already. */
export const replayCall = statement<{ projectId: string; id: string; clockShift: number }, { id: string }>(
  'replay-webhook',
  `update webhook_messages set status = 'PENDING', attempts = 0, ended_at = null, due_at = ${DATABASE_NOW}
   where project_id = :projectId::uuid and id = :id::uuid and status <> 'PENDING'
   returning id`,
)

/** Writes a call that tries an endpoint out; who listens to no event gets it as well. */
export const storeTestCall = statement<
  { projectId: string; id: string; endpointId: string; body: string; now: Date; clockShift: number },
  { id: string }
>(
  'store-webhook-test',
  `insert into webhook_messages (project_id, id, endpoint_id, event_name, url, method, headers, body, due_at, created_at)
   select project_id, :id::uuid, id, 'webhook.test', url, 'POST', '{"content-type": "application/json"}', :body,
     ${DATABASE_NOW}, :now::timestamptz
   from webhook_endpoints where project_id = :projectId::uuid and id = :endpointId::uuid
   returning id`,
)

/** Stores calls of steps, which are due at once; `rows` is a JSON list. */
export const storeWorkflowCalls = statement<{
  projectId: string
  rows: string
  now: Date
  clockShift: number
}>(
  'store-workflow-calls',
  `insert into webhook_messages (project_id, id, execution_id, awaited, contact_id, event_name, url, method, headers, body,
     due_at, created_at)
   select :projectId::uuid, id, "executionId", true, "contactId", 'workflow.webhook', url, method, headers, body,
     ${DATABASE_NOW}, :now::timestamptz
   from json_to_recordset(:rows::json) as given (id uuid, "executionId" uuid, "contactId" uuid, url text, method text,
     headers jsonb, body text)`,
)

/** How calls of steps have ended. Keys: webhook_messages_pkey, webhook_attempts_pkey. */
export const endedCalls = statement<
  { projectId: string; ids: string[] },
  { id: string; succeeded: boolean; httpStatus: number | null; error: string | null }
>(
  'ended-webhooks',
  `select m.id, m.status = 'SENT' as succeeded, last.status as "httpStatus", last.error
   from webhook_messages m left join lateral (
     select t.status, t.error from webhook_attempts t where t.project_id = m.project_id and t.message_id = m.id
     order by t.id desc limit 1) last on true
   where m.project_id = :projectId::uuid and m.id = any(:ids::uuid[])`,
)
