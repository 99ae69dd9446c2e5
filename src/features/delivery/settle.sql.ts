import { eventCtes, heard } from '../../changes/changes.sql.ts'
import { DATABASE_NOW } from '../../db/database-clock.ts'
import { statement } from '../../db/sql.ts'
import type { Consumer, RecipientStatus } from '../../generated/prisma/enums.ts'
import { tallyCte } from '../../messages/ledger.sql.ts'
import { lifecycleData } from '../../messages/lifecycle-data.sql.ts'

/** PENDING means that the message is tried again later, GONE that it has been deleted. */
export type OutcomeStatus = 'SENT' | 'PENDING' | 'FAILED' | 'SUPPRESSED' | 'CANCELLED' | 'GONE'

/** The final state of a recipient in the ledger of a campaign. */
export type RecipientOutcome = Extract<
  RecipientStatus,
  'SENT' | 'FAILED' | 'SUPPRESSED' | 'SKIPPED' | 'CANCELLED'
>

/** Each array has one element per message. */
type Settling = {
  clockShift: number
  now: Date
  projectIds: string[]
  emailIds: string[]
  jobIds: string[]
  /** How often the job was tried before. */
  attempts: number[]
  statuses: OutcomeStatus[]
  /** Milliseconds until the message is tried again. */
  delaysMs: number[]
  /** How many attempts to take off: 1 when none was made. */
  untried: number[]
  providerMessageIds: (string | null)[]
  /** Null keeps the error before. */
  errors: (string | null)[]
  eventIds: string[]
  /** Null records no event. */
  eventNames: (string | null)[]
  eventData: (string | null)[]
  /** Whether the message may have arrived without a confirmation. */
  uncertain: boolean[]
  /** Null unless the message belongs to a campaign and is final. */
  recipientStatuses: (RecipientOutcome | null)[]
  /**
   * Null unless the message was rendered at the hand-over; `variables` is JSON of the data that it was rendered with.
   */
  subjects: (string | null)[]
  variables: (string | null)[]
}

/**
 * The message was taken by the turn of its outcome. Written so that no index serves it: each message is found by its key, and
 * not among all that the turn has taken.
 */
const IS_OURS = '(d.taken_by, d.taken_attempt) is not distinct from (o.job_id, o.attempt)'

/**
 * Settles messages that were taken and records their events, in one commit. A status that a notification of the
 * provider has already raised is kept. Mail that another worker has taken since is left to it. A message that failed
 * stays as a dead letter, which is never due. Returns the projects in which somebody listens to one of the events.
 */
export const settleDeliveries = statement<Settling, { projectId: string; heard: Consumer[] }>(
  'settle-deliveries',
  `with outcome as (
     select * from unnest(:projectIds::uuid[], :emailIds::uuid[], :jobIds::uuid[], :attempts::int[],
       :statuses::text[], :delaysMs::float8[], :untried::int[], :providerMessageIds::text[], :errors::text[],
       :eventIds::uuid[], :eventNames::text[], :eventData::jsonb[], :uncertain::boolean[],
       :recipientStatuses::recipient_status[], :subjects::text[], :variables::jsonb[])
       as o (project_id, email_id, job_id, attempt, status, delay_ms, untried, provider_message_id, error, event_id,
         event_name, event_data, uncertain, recipient_status, subject, variables)
   ),
   done as (
     delete from deliveries d using outcome o
     where d.project_id = o.project_id and d.email_id = o.email_id and ${IS_OURS} and o.status in ('SENT', 'SUPPRESSED', 'CANCELLED', 'GONE')
     returning d.project_id, d.email_id, d.attempts, d.uncertain
   ),
   kept as (
     update deliveries d set uncertain = d.uncertain or o.uncertain, taken_by = null, taken_attempt = null, attempts = d.attempts - o.untried,
       due_at = case when o.status = 'FAILED' then 'infinity'
         else ${DATABASE_NOW} + o.delay_ms * interval '1 millisecond' end
     from outcome o
     where d.project_id = o.project_id and d.email_id = o.email_id and ${IS_OURS} and o.status in ('PENDING', 'FAILED')
     returning d.project_id, d.email_id, d.attempts, d.uncertain
   ),
   settled as (
     update emails e set
       status = case when e.status = 'PENDING' then o.status::email_status else e.status end,
       provider_message_id = coalesce(o.provider_message_id, e.provider_message_id),
       error = case when o.status <> 'SENT' then coalesce(o.error, e.error)
         when mine.uncertain then 'It may have arrived twice: an earlier attempt was cut off.' end,
       attempts = mine.attempts,
       subject = coalesce(o.subject, e.subject),
       variables = coalesce(o.variables, e.variables),
       sent_at = case when o.status = 'SENT' then :now::timestamptz else e.sent_at end,
       updated_at = :now::timestamptz
     from (select * from done union all select * from kept) mine
     join outcome o using (project_id, email_id)
     where e.project_id = o.project_id and e.id = o.email_id
       and (o.status <> 'PENDING' or o.error is not null)
     returning e.project_id, e.id, e.contact_id, e.campaign_id, o.event_id, o.event_name, o.event_data,
       o.recipient_status
   ),
   ledger as (
     update campaign_recipients r set status = s.recipient_status from settled s
     where r.project_id = s.project_id and r.campaign_id = s.campaign_id and r.contact_id = s.contact_id
       and r.email_id = s.id and r.status = 'SENDING' and s.recipient_status is not null
     returning r.project_id, r.campaign_id, r.variant, 'SENDING'::recipient_status as was, r.status
   ),
   ${tallyCte('select * from ledger')},
   ${eventCtes(`select project_id, event_id, contact_id, event_name, id, event_data, :now::timestamptz
     from settled where event_name is not null`)}
   select project_id as "projectId", array_agg(distinct consumer::text) as heard from heard_event group by 1`,
)

const UNKNOWN_OUTCOME = 'What became of the message could not be written down. It may have arrived.'

type Dropping = {
  projectId: string
  emailId: string
  jobId: string
  attempt: number
  eventId: string
  now: Date
}

/**
 * Takes a message out of the queue whose outcome the database refuses even without its details: it must not be sent
 * again. It has failed, in the ledger of a campaign as well.
 */
export const dropDelivery = statement<Dropping, { projectId: string; heard: Consumer[] }>(
  'drop-delivery',
  `with gone as (
     delete from deliveries where project_id = :projectId::uuid and email_id = :emailId::uuid
       and taken_by = :jobId::uuid and taken_attempt = :attempt::int
     returning project_id, email_id, attempts
   ),
   failed as (
     update emails e set status = case when e.status = 'PENDING' then 'FAILED' else e.status end,
       error = '${UNKNOWN_OUTCOME}', attempts = gone.attempts, updated_at = :now::timestamptz
     from gone where e.project_id = gone.project_id and e.id = gone.email_id
     returning e.project_id, e.id, e.campaign_id, e.contact_id,
       ${lifecycleData('e')} || jsonb_build_object('reason', e.error) as data
   ),
   ledger as (
     update campaign_recipients r set status = 'FAILED' from failed e
     where r.project_id = e.project_id and r.campaign_id = e.campaign_id and r.contact_id = e.contact_id
       and r.email_id = e.id and r.status = 'SENDING'
     returning r.project_id, r.campaign_id, r.variant, 'SENDING'::recipient_status as was, r.status
   ),
   ${tallyCte('select * from ledger')},
   ${eventCtes(`select project_id, :eventId::uuid, contact_id, 'email.failed', id, data, :now::timestamptz from failed`)}
   select project_id as "projectId", ${heard('heard_event')} as heard from gone`,
)
