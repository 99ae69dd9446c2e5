import { type Statement, statement } from '../../db/sql.ts'
import type { JsonValue } from '../../lib/json.ts'
import type { ChangeRow } from './follow.rules.ts'

/** Projects with changes that no segment has followed yet. A loose scan of changes_pkey. */
export const changedProjects: Statement<{ projectId: string }> = statement(
  'projects-with-changes',
  `with recursive project as (
     (select project_id from changes where consumer = 'SEGMENT' order by project_id limit 1)
     union all
     select (select c.project_id from changes c where c.project_id > project.project_id and c.consumer = 'SEGMENT'
       order by c.project_id limit 1)
     from project where project.project_id is not null
   )
   select project_id as "projectId" from project where project_id is not null`,
)

/** The first changes of project $1, $2 at most. */
export const firstChanges: Statement<ChangeRow> = statement(
  'first-changes',
  `select id, contact_id as "contactId", name, keys from changes
   where project_id = $1::uuid and consumer = 'SEGMENT' order by id limit $2::int`,
)

/** Changes of the contacts $2 of project $1 from the id $3 on that no segment has followed yet. */
export const changesOf: Statement<ChangeRow> = statement(
  'changes-of-contacts',
  `select id, contact_id as "contactId", name, keys from changes
   where project_id = $1::uuid and consumer = 'SEGMENT' and id >= $3::uuid and contact_id = any($2::uuid[]) order by id`,
)

/** Takes the changes $2 of project $1 away. */
export const removeChanges: Statement<object> = statement(
  'remove-changes',
  `delete from changes where project_id = $1::uuid and consumer = 'SEGMENT' and id = any($2::uuid[])`,
)

/** A tracked DYNAMIC segment, without its condition; `after` and `until`: how far its first pass has come. */
export type TrackedRow = {
  id: string
  revision: number
  isFilled: boolean
  after: string | null
  until: string | null
  /** Since when it hears of changes. */
  listeningAt: Date | null
}

const TRACKED = `select id, revision, computed_at is not null as "isFilled", pass_after as after, pass_until as until,
  listening_at as "listeningAt"
  from segments where project_id = $1::uuid and type = 'DYNAMIC' and track_membership and troubled_at is null`

/** All of project $1. */
export const allTracked: Statement<TrackedRow> = statement('all-tracked-segments', TRACKED)

/**
 * Those that name one of the events $2, fields $3, keys of data $4 or segments $5, themselves or in the conditions of
 * segments that they name. Index: interests_listening.
 */
export const trackedThatAsk: Statement<TrackedRow> = statement(
  'tracked-segments-that-ask',
  `with recursive asked (kind, name) as (
     select 'EVENT'::interest_kind, unnest($2::text[]) union all select 'FIELD', unnest($3::text[])
     union all select 'DATA', unnest($4::text[]) union all select 'SEGMENT', unnest($5::text[])
   ),
   asking (id) as (
     select i.consumer_id from asked join interests i on i.project_id = $1::uuid and i.consumer = 'SEGMENT'
       and i.listens and i.kind = asked.kind and i.name = asked.name
     union
     select i.consumer_id from asking join interests i on i.project_id = $1::uuid and i.consumer = 'SEGMENT'
       and i.listens and i.kind = 'SEGMENT' and i.name = asking.id::text
   )
   ${TRACKED} and id in (select id from asking)`,
)

/** Conditions of the segments $2 of project $1. */
export const conditionsOf: Statement<{ id: string; condition: JsonValue }> = statement(
  'conditions-of-segments',
  'select id, condition from segments where project_id = $1::uuid and id = any($2::uuid[])',
)

/** Notes that segment $2 of project $1 cannot be evaluated; $3 now. A row: that is news. It gets a pass once it can. */
export const noteTrouble: Statement<{ id: string }> = statement(
  'note-segment-trouble',
  `with known as (
     select id, troubled_at is null as news from segments where project_id = $1::uuid and id = $2::uuid
     for no key update
   ),
   noted as (
     update segments s set troubled_at = $3::timestamptz, pass_after = null,
       pass_asked = case when type = 'DYNAMIC' and track_membership then greatest(pass_asked, pass + 1) else pass_asked end
     from known where s.project_id = $1::uuid and s.id = known.id
   )
   select id from known where news`,
)
