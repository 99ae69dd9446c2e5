import { isIdKept } from '../../db/kept-contacts.sql.ts'
import { analyticStatement } from '../../db/sql.ts'
import type { Event } from '../../generated/prisma/client.ts'
import type { Selection, Source } from './activity-types.rules.ts'

/** Which entries to read: ids and times from `first` and `from` on, and before the places. */
export type FeedParams = {
  projectId: string
  contactId: string | null
  /** All of them; of entries of the same time those of a later one come first. */
  sources: Source[]
  /** Names of events that are asked for, and all that have a type of their own. */
  names: string[]
  named: string[]
  from: Date
  firstId: string
  /** Ids of events and executions below which they are read, and the time of the first one. */
  eventsBefore: string
  eventsUntil: Date
  startedBefore: string
  /** Of sources that are walked by time: entries before that time, or of it and with a lower id. */
  scheduledUntil: Date
  scheduledBefore: string
  sentUntil: Date
  sentBefore: string
  completedUntil: Date
  completedBefore: string
  limit: number
}

export type FeedRow = {
  source: Source
  id: string
  /** Milliseconds since 1970. */
  at: number
  /** Name of an event. */
  name: string | null
  contactId: string | null
  contactEmail: string | null
  metadata: Event['data']
}

const ROW = 'source, id, at, name, contact_id, metadata'

const OF_CONTACT = 'and contact_id = :contactId::uuid'
const IDS = 'e.id < :eventsBefore::uuid and e.id >= :firstId::uuid'
/** The time in an id: rows that are walked by their ids are ordered by it. */
const TIME_OF_ID = `('x' || left(replace(e.id::text, '-', ''), 12))::bit(48)::bigint as at`
const timeOf = (column: string) => `(extract(epoch from ${column}) * 1000)::bigint as at`
const EVENT = `'events' as source, e.id, ${TIME_OF_ID}, e.name, e.contact_id, e.data as metadata`

/** Events of names, each found by its name: the newest of all. Index: events_project_id_name_created_at_contact_id_idx. */
const eventsNamed = (names: string, from: string) => `
  select ${EVENT} from (${names}) asked (name) cross join lateral (
    select * from events e where e.project_id = :projectId::uuid and e.name = asked.name
      and e.created_at <= :eventsUntil::timestamptz and e.created_at >= ${from} and ${IDS}
      and ${isIdKept('e.contact_id')}
    order by e.created_at desc, e.id desc limit :limit::int) e
  order by e.id desc limit :limit::int`

/**
 * Events whose names have no type of their own. Of each name the newest is looked for: as many names as a page has entries
 * are enough, since no other can be on it, nor an event that is older than all those.
 */
const EVENTS_TRACKED = `
  with newest as materialized (
    select n.name, e.created_at from event_names n cross join lateral (
      select e.created_at from events e where e.project_id = n.project_id and e.name = n.name
        and e.created_at <= :eventsUntil::timestamptz and e.created_at >= :from::timestamptz and ${IDS}
        and ${isIdKept('e.contact_id')}
      order by e.created_at desc limit 1) e
    where n.project_id = :projectId::uuid and n.name <> all(:named::text[])
    order by e.created_at desc fetch first (:limit::int) rows with ties
  ),
  oldest as materialized (
    select case when count(*) < :limit::int then :from::timestamptz else min(created_at) end as at from newest
  )
  ${eventsNamed('select name from newest', '(select at from oldest)')}`

/** Times and ids of events have the same order. */
function eventsOf({ names, tracked }: Selection, contactId: string | null): string[] {
  if (names !== null && names.length === 0 && !tracked) return []
  const asked = names === null ? 'true' : `(e.name = any(:names::text[]) ${tracked ? NOT_NAMED : ''})`
  // All of them, or those of one contact, are walked by their ids.
  if (names === null || contactId !== null) {
    return [
      `select ${EVENT} from events e where e.project_id = :projectId::uuid and ${IDS} and ${asked}
         ${contactId === null ? '' : OF_CONTACT} and ${isIdKept('e.contact_id')}
       order by e.id desc limit :limit::int`,
    ]
  }
  return [
    ...(names.length > 0 ? [eventsNamed('select unnest(:names::text[])', ':from::timestamptz')] : []),
    ...(tracked ? [EVENTS_TRACKED] : []),
  ]
}

const NOT_NAMED = 'or e.name <> all(:named::text[])'

const EXECUTION = `jsonb_build_object('workflowId', x.workflow_id, 'workflowName', w.name, 'executionId', x.id,
  'status', x.status, 'exitReason', x.exit_reason) as metadata`

/** Executions, the newest first, of workflows that are there; those of one contact by its index. */
const executions = (source: Source, time: string, where: string, order: string, contactId: string | null) => `
  select '${source}' as source, x.id, ${time}, null as name, x.contact_id, ${EXECUTION}
  from (select * from workflow_executions x where x.project_id = :projectId::uuid and ${where}
      ${contactId === null ? '' : OF_CONTACT} and ${isIdKept('x.contact_id')}
    order by ${order} limit :limit::int) x
  join workflows w on w.project_id = x.project_id and w.id = x.workflow_id`

const campaigns = (source: 'scheduled' | 'sent') => `
  select '${source}' as source, c.id, ${timeOf(`c.${source}_at`)}, null as name, null::uuid as contact_id,
    jsonb_build_object('campaignId', c.id, 'name', c.name, 'subject', c.subject, 'status', c.status,
      'scheduledFor', to_json(c.scheduled_for)) as metadata
  from campaigns c where c.project_id = :projectId::uuid and not c.deleted
    and (c.${source}_at, c.id) < (:${source}Until::timestamptz, :${source}Before::uuid)
    and c.${source}_at >= :from::timestamptz
  order by c.${source}_at desc, c.id desc limit :limit::int`

const OTHERS: Record<Exclude<Source, 'events'>, (contactId: string | null) => string> = {
  // Index: campaigns_project_id_scheduled_at_id_idx.
  scheduled: () => campaigns('scheduled'),
  // Index: campaigns_project_id_sent_at_id_idx.
  sent: () => campaigns('sent'),
  // Index: workflow_executions_pkey.
  started: (contactId) =>
    executions(
      'started',
      TIME_OF_ID.replace('e.id', 'x.id'),
      'x.id < :startedBefore::uuid and x.id >= :firstId::uuid',
      'x.id desc',
      contactId,
    ),
  // Index: workflow_executions_completed.
  completed: (contactId) =>
    executions(
      'completed',
      timeOf('x.completed_at'),
      `x.status in ('COMPLETED', 'EXITED') and x.completed_at >= :from::timestamptz
       and (x.completed_at, x.id) < (:completedUntil::timestamptz, :completedBefore::uuid)`,
      'x.completed_at desc, x.id desc',
      contactId,
    ),
}

const partsOf = (selection: Selection, contactId: string | null): string[] => [
  ...eventsOf(selection, contactId),
  ...selection.sources.map((source) => OTHERS[source](contactId)),
]

const together = (parts: string[]) =>
  parts.map((part) => `(select ${ROW} from (${part}) part)`).join(' union all ')

const ORDER = 'order by at desc, array_position(:sources::text[], source) desc, id desc'

/** The next entries, at most `limit`, in the order of the feed; as many are read of each source. Null: nothing is asked for. */
export function feedRows(selection: Selection, contactId: string | null) {
  const parts = partsOf(selection, contactId)
  if (parts.length === 0) return null
  return analyticStatement<FeedParams, FeedRow>(
    `select f.source, f.id, f.at::float8 as at, f.name, f.contact_id as "contactId", f.metadata,
       (select email from contacts where project_id = :projectId::uuid and id = f.contact_id) as "contactEmail"
     from (select * from (${together(parts)}) f ${ORDER} limit :limit::int) f ${ORDER}`,
  )
}

/** Events of names in no order, so that reading ends with the last one that is counted. */
const anyNamed = (names: string) => `
  select e.id from (${names}) asked (name) cross join lateral (
    select e.id from events e where e.project_id = :projectId::uuid and e.name = asked.name
      and e.created_at <= :eventsUntil::timestamptz and e.created_at >= :from::timestamptz and ${IDS}
      and ${isIdKept('e.contact_id')} limit :limit::int) e
  limit :limit::int`

const ANY_TRACKED = anyNamed(
  'select name from event_names where project_id = :projectId::uuid and name <> all(:named::text[])',
)

/** How many entries there are, each source counted up to `limit`. */
export function feedCount(selection: Selection, contactId: string | null) {
  const parts = partsOf(selection, contactId).map((part) => (part === EVENTS_TRACKED ? ANY_TRACKED : part))
  if (parts.length === 0) return null
  const counts = parts.map((part) => `(select count(*) from (${part}) part)`)
  return analyticStatement<FeedParams, { count: number }>(`select (${counts.join(' + ')})::int as count`)
}
