import { type None, statement } from '../../db/sql.ts'
import type { JsonValue } from '../../lib/json.ts'
import type { ChangeRow } from './follow-changes.rules.ts'

/** Projects with changes that no segment has followed yet. A loose scan of changes_pkey. */
export const changedProjects = statement<None, { projectId: string }>(
  'projects-with-changes',
  `with recursive project as (
     (select project_id from changes where consumer = 'SEGMENT' order by project_id limit 1)
     union all
     select (select c.project_id from changes c where c.project_id > project.project_id and c.consumer = 'SEGMENT'
       order by c.project_id limit 1)
     from project where project.project_id is not null
   )
   select p.id as "projectId" from project join projects p on p.id = project.project_id`,
)

/** The first changes of the project. */
export const firstChanges = statement<{ projectId: string; limit: number }, ChangeRow>(
  'first-changes',
  `select id, contact_id as "contactId", name, keys from changes
   where project_id = :projectId::uuid and consumer = 'SEGMENT' order by id limit :limit::int`,
)

/** Changes of contacts from an id on that no segment has followed yet. */
export const changesOf = statement<{ projectId: string; contactIds: string[]; firstId: string }, ChangeRow>(
  'changes-of-contacts',
  `select id, contact_id as "contactId", name, keys from changes
   where project_id = :projectId::uuid and consumer = 'SEGMENT' and id >= :firstId::uuid
     and contact_id = any(:contactIds::uuid[]) order by id`,
)

/** Takes changes away. */
export const removeChanges = statement<{ projectId: string; ids: string[] }>(
  'remove-changes',
  `delete from changes where project_id = :projectId::uuid and consumer = 'SEGMENT' and id = any(:ids::uuid[])`,
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
  from segments where project_id = :projectId::uuid and type = 'DYNAMIC' and track_membership
    and troubled_at is null`

/** All of the project. */
export const allTracked = statement<{ projectId: string }, TrackedRow>('all-tracked-segments', TRACKED)

/**
 * Segments that name one of the events, fields, keys of data or segments, themselves or in the conditions of
 * segments that they name. Index: interests_listening.
 */
export const trackedThatAsk = statement<
  { projectId: string; events: string[]; fields: string[]; dataKeys: string[]; segments: string[] },
  TrackedRow
>(
  'tracked-segments-that-ask',
  `with recursive asked (kind, name) as (
     select 'EVENT'::interest_kind, unnest(:events::text[]) union all select 'FIELD', unnest(:fields::text[])
     union all select 'DATA', unnest(:dataKeys::text[]) union all select 'SEGMENT', unnest(:segments::text[])
   ),
   asking (id) as (
     select i.consumer_id from asked join interests i on i.project_id = :projectId::uuid
       and i.consumer = 'SEGMENT'
       and i.listens and i.kind = asked.kind and i.name = asked.name
     union
     select i.consumer_id from asking join interests i on i.project_id = :projectId::uuid
       and i.consumer = 'SEGMENT'
       and i.listens and i.kind = 'SEGMENT' and i.name = asking.id::text
   )
   ${TRACKED} and id in (select id from asking)`,
)

/** Conditions of segments. */
export const conditionsOf = statement<
  { projectId: string; segmentIds: string[] },
  { id: string; condition: JsonValue }
>(
  'conditions-of-segments',
  'select id, condition from segments where project_id = :projectId::uuid and id = any(:segmentIds::uuid[])',
)

/** Notes that a segment cannot be evaluated. A row: that is news. It gets a pass once it can. */
export const noteTrouble = statement<{ projectId: string; segmentId: string; now: Date }, { id: string }>(
  'note-segment-trouble',
  `with known as (
     select id, troubled_at is null as news from segments where project_id = :projectId::uuid
       and id = :segmentId::uuid
     for no key update
   ),
   noted as (
     update segments s set troubled_at = :now::timestamptz, pass_after = null,
       pass_asked = case when type = 'DYNAMIC' and track_membership then greatest(pass_asked, pass + 1) else pass_asked end
     from known where s.project_id = :projectId::uuid and s.id = known.id
   )
   select id from known where news`,
)
