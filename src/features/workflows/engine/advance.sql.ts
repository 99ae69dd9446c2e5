import { contactCtes, heard } from '../../../changes/changes.sql.ts'
import { DATABASE_NOW } from '../../../db/database-clock.ts'
import { ERASED, isKept } from '../../../db/kept-contacts.sql.ts'
import { statement } from '../../../db/sql.ts'
import type {
  Consumer,
  ExecutionStatus,
  MessageType,
  StepExecutionStatus,
  Tracking,
} from '../../../generated/prisma/enums.ts'
import type { JsonObject, JsonValue } from '../../../lib/json.ts'
import { billedCte, billedOrFree } from '../../../messages/billing-tallies.sql.ts'
import { insertDeliveries } from '../../../messages/deliveries.sql.ts'
import type { Priority } from '../../../queue/priorities.ts'
import { upsertContactCtes } from '../../contacts/upsert-contact.sql.ts'

/** Projects with executions, schedules or events for workflows. Loose scans: a probe or two per project. */
export const projectsWithWorkflowWork = statement<
  { clockShift: number; limit: number },
  { projectId: string }
>(
  'projects-with-workflow-work',
  `with recursive waiting as (
     (select project_id from workflow_executions where next_at is not null order by project_id limit 1)
     union all
     select (select x.project_id from workflow_executions x where x.next_at is not null
       and x.project_id > waiting.project_id order by x.project_id limit 1)
     from waiting where waiting.project_id is not null
   ),
   changed as (
     (select project_id from changes where consumer = 'WORKFLOW' order by project_id limit 1)
     union all
     select (select c.project_id from changes c where c.project_id > changed.project_id and c.consumer = 'WORKFLOW'
       order by c.project_id limit 1)
     from changed where changed.project_id is not null
   ),
   found as (
     select project_id from waiting where exists (select from workflow_executions x
       where x.project_id = waiting.project_id and x.next_at <= ${DATABASE_NOW})
     union
     select project_id from changed where project_id is not null
     union
     (select project_id from workflows where next_at <= ${DATABASE_NOW} limit :limit::int)
   )
   select p.id as "projectId" from found join projects p on p.id = found.project_id and not p.disabled
   limit :limit::int`,
)

/**
 * Takes the project's turn at its workflows until the commit, if nobody has it, and says what time it is. No row: the project
 * is disabled, and its workflows rest.
 */
export const holdWorkflows = statement<
  { projectId: string; clockShift: number },
  { held: boolean; now: Date; language: string; footerText: string | null; tracking: Tracking }
>(
  'hold-workflows',
  `select pg_try_advisory_xact_lock(hashtextextended('workflows ' || :projectId::uuid::text, 0)) as held,
     (clock_timestamp() + :clockShift::float8 * interval '1 millisecond')::timestamptz(3) as now, p.language, p.footer_text as "footerText", p.tracking
   from projects p where p.id = :projectId::uuid and not p.disabled`,
)

/**
 * The executions that can go on, those that have waited longest first; with `timeouts` also those that have waited for an
 * event for long enough. Index: workflow_executions_next.
 */
export const dueExecutions = statement<
  { projectId: string; now: Date; limit: number; timeouts: boolean },
  { id: string; contactId: string }
>(
  'due-executions',
  `select id, contact_id as "contactId" from workflow_executions
   where project_id = :projectId::uuid and next_at <= :now::timestamptz
     and (:timeouts::boolean or waiting_for_event is null)
   order by next_at, id limit :limit::int`,
)

/** Milliseconds until the next execution can go on; none: no row. Index: workflow_executions_next. */
export const nextDue = statement<{ projectId: string; now: Date }, { afterMs: number }>(
  'next-due-execution',
  `select (1000 * extract(epoch from next_at - :now::timestamptz))::float8 as "afterMs" from workflow_executions
   where project_id = :projectId::uuid and next_at is not null order by next_at limit 1`,
)

/**
 * Has contacts stay until the commit. They are locked before executions, as by who deletes them: so neither waits for the
 * other.
 */
export const holdContacts = statement<{ projectId: string; ids: string[] }, { id: string }>(
  'hold-contacts-of-workflows',
  `select id from contacts where project_id = :projectId::uuid and id = any(:ids::uuid[]) and email not like '${ERASED}%'
     and ${isKept('contacts')} order by id for key share`,
)

export type DueExecution = {
  id: string
  workflowId: string
  contactId: string
  stepId: string | null
  status: ExecutionStatus
  wokenBy: string | null
  context: JsonValue
}

/** Locks executions that can still go on, and reads them. */
export const holdExecutions = statement<{ projectId: string; ids: string[]; now: Date }, DueExecution>(
  'hold-executions',
  `select id, workflow_id as "workflowId", contact_id as "contactId", current_step_id as "stepId", status,
     woken_by as "wokenBy", context
   from workflow_executions
   where project_id = :projectId::uuid and id = any(:ids::uuid[]) and next_at <= :now::timestamptz
   order by id for update`,
)

export type Applied = {
  id: string
  status: ExecutionStatus
  stepId: string | null
  nextAt: Date | null
  event: string | null
  exitReason: string | null
  stepExecutionId: string
  atStepId: string
  stepStatus: StepExecutionStatus
  scheduledFor: Date | null
  output: JsonObject | null
  error: string | null
}

/**
 * Moves executions, which are locked, and writes what became of the steps at which they were. `rows` is a JSON list of
 * Applied. An execution passes a step once: the key of step_executions says so.
 */
export const applyOutcomes = statement<{ projectId: string; rows: string; now: Date }>(
  'apply-outcomes',
  `with outcome as materialized (
     select * from json_to_recordset(:rows::json) as given (id uuid, status execution_status, "stepId" uuid,
       "nextAt" timestamptz, event text, "exitReason" text, "stepExecutionId" uuid, "atStepId" uuid,
       "stepStatus" step_execution_status, "scheduledFor" timestamptz, output jsonb, error text)
   ),
   moved as (
     update workflow_executions x set status = o.status, current_step_id = coalesce(o."stepId", x.current_step_id),
       next_at = o."nextAt", waiting_for_event = o.event,
       waiting_since = case when o.event is not null then :now::timestamptz end, woken_by = null,
       exit_reason = o."exitReason", revision = x.revision + 1,
       completed_at = case when o.status not in ('RUNNING', 'WAITING') then :now::timestamptz end
     from outcome o where x.project_id = :projectId::uuid and x.id = o.id
   )
   insert into step_executions as s (project_id, id, execution_id, step_id, status, scheduled_for, output, error, attempts,
     started_at, completed_at)
   select :projectId::uuid, "stepExecutionId", id, "atStepId", "stepStatus", "scheduledFor", output, error, 1,
     :now::timestamptz, case when "stepStatus" not in ('SCHEDULED', 'WAITING') then :now::timestamptz end
   from outcome
   on conflict (project_id, execution_id, step_id) do update set status = excluded.status, output = excluded.output,
     scheduled_for = coalesce(excluded.scheduled_for, s.scheduled_for), error = excluded.error,
     attempts = s.attempts + case when s.status = 'FAILED' then 1 else 0 end, completed_at = excluded.completed_at`,
)

const storeMailOf = (name: string, billed: boolean) =>
  statement<{ projectId: string; rows: string; priority: Priority; now: Date; clockShift: number }>(
    name,
    `with mail as materialized (
     select * from json_to_recordset(:rows::json) as given ("emailId" uuid, "contactId" uuid, "executionId" uuid,
       "templateId" uuid, "to" text, "from" text, "fromName" text, "replyTo" text, subject text, type message_type,
       "messageId" text, html text, headers jsonb)
   ),
   email as (
     insert into emails (project_id, id, contact_id, to_email, "from", from_name, reply_to, subject, type, source_type,
       status, template_id, workflow_execution_id, message_id, created_at, updated_at)
     select :projectId::uuid, "emailId", "contactId", "to", "from", "fromName", "replyTo", subject, type, 'WORKFLOW',
       'PENDING', "templateId", "executionId", "messageId", :now::timestamptz, :now::timestamptz
     from mail
   ),
   content as (
     insert into email_contents (project_id, email_id, html, headers)
     select :projectId::uuid, "emailId", html, headers from mail
   )
   ${billed ? `, ${billedCte('WORKFLOWS', '(select :projectId::uuid as project_id from mail)')}` : ''}
   ${insertDeliveries(`select :projectId::uuid as project_id, "emailId" as email_id, null::uuid as campaign_id,
     :priority::int as priority, octet_length(html) as size from mail`)}`,
  )

/** Stores messages of workflows for delivery; `rows` is a JSON list. */
export const storeMail = billedOrFree((billed) =>
  storeMailOf(`store-workflow-mail${billed ? '-billed' : ''}`, billed),
)

export type StoredMail = {
  emailId: string
  contactId: string
  executionId: string
  templateId: string
  to: string
  from: string
  fromName: string | null
  replyTo: string | null
  subject: string
  type: MessageType
  messageId: string
  html: string
  headers: { name: string; value: string }[]
}

/**
 * Changes contacts, which are locked and known by their addresses, all in the same way, as the API does. `eventIds` are
 * those of the events for changed subscriptions.
 */
export const updateContacts = statement<
  {
    projectId: string
    emails: string[]
    eventIds: string[]
    subscribed: boolean | null
    set: string
    unset: string[]
    now: Date
  },
  { heard: Consumer[] }
>(
  'update-contacts-of-workflows',
  `with person as (
     select :projectId::uuid as project_id, id, email from unnest(:eventIds::uuid[], :emails::text[]) as given (id, email)
   ),
   ${upsertContactCtes({ subscribed: ':subscribed', defaultSubscribed: 'true', set: ':set', unset: ':unset' })},
   ${contactCtes({ set: ':set', unset: ':unset', source: "'workflow'" })}
   select ${heard('heard_contact')} as heard`,
)

/** The next workflow of the project that is deleted and still there. */
export const workflowToRemove = statement<{ projectId: string }, { id: string }>(
  'workflow-to-remove',
  'select id from workflows where project_id = :projectId::uuid and deleted order by id limit 1 for update',
)

/** Removes executions or entries of a deleted workflow, and it with the last of them. */
export const removeWorkflow = statement<{ projectId: string; id: string; limit: number }, { left: boolean }>(
  'remove-workflow',
  `with executions as (
     delete from workflow_executions x using (
       select id from workflow_executions where project_id = :projectId::uuid and workflow_id = :id::uuid
       limit :limit::int) old
     where x.project_id = :projectId::uuid and x.id = old.id returning x.id
   ),
   entries as (
     delete from workflow_entries n using (
       select contact_id from workflow_entries where project_id = :projectId::uuid and workflow_id = :id::uuid
       limit :limit::int) old
     where n.project_id = :projectId::uuid and n.workflow_id = :id::uuid and n.contact_id = old.contact_id
     returning n.contact_id
   )
   select (select count(*) from executions) = :limit::int or (select count(*) from entries) = :limit::int as left`,
)
