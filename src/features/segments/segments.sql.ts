import { DATABASE_NOW } from '../../db/database-clock.ts'
import { statement } from '../../db/sql.ts'

/** How large the segments are, the newest first: their conditions, and something for the rest. */
export const segmentSizes = statement<{ projectId: string }, { id: string; bytes: number }>(
  'segment-sizes',
  `select id, coalesce(octet_length(condition::text), 0) + 1000 as bytes from segments
   where project_id = :projectId::uuid order by id desc`,
)

/** Locks a segment: changes of it, or of a list's members, wait for each other. */
export const lockSegment = statement<{ projectId: string; id: string }, { id: string }>(
  'lock-segment',
  'select id from segments where project_id = :projectId::uuid and id = :id::uuid for update',
)

/** The addresses that contacts have. Index: contacts_project_id_email_key. */
export const contactsByEmail = statement<
  { projectId: string; emails: string[] },
  { id: string; email: string }
>(
  'contacts-by-email',
  'select id, email from contacts where project_id = :projectId::uuid and email = any(:emails::text[])',
)

/**
 * Locks a segment and those that refer to it, directly or through others, in the common order. Index:
 * interests_project_id_kind_name_idx.
 */
export const lockWithDependents = statement<{ projectId: string; id: string }, { id: string }>(
  'lock-segment-with-dependents',
  `with recursive dependent (id) as (
     select :id::uuid
     union
     select i.consumer_id from dependent d join interests i on i.project_id = :projectId::uuid
       and i.kind = 'SEGMENT'
       and i.name = d.id::text and i.consumer = 'SEGMENT'
   )
   select s.id from segments s where s.project_id = :projectId::uuid and s.id in (select id from dependent)
   order by s.id for no key update`,
)

const LISTENS_NOW = `listening_xid = pg_current_xact_id()::text::bigint, listening_at = ${DATABASE_NOW}`

/** Notes that a segment listens from the commit of this transaction on. */
export const noteListening = statement<{ projectId: string; id: string; clockShift: number }>(
  'note-segment-listening',
  `update segments set ${LISTENS_NOW} where project_id = :projectId::uuid and id = :id::uuid`,
)

/**
 * Has locked segments evaluated anew: nothing else tells them that a segment that they name has another
 * condition. A pass that a caller waits for stays asked for.
 */
export const reviseSegments = statement<{ projectId: string; ids: string[]; clockShift: number }>(
  'revise-segments',
  `update segments set revision = revision + 1, pass_after = null, pass_asked = greatest(pass_asked, pass + 1),
     troubled_at = null, ${LISTENS_NOW}
   where project_id = :projectId::uuid and id = any(:ids::uuid[])`,
)

/** Keeps the number of members of a segment of that revision; where members are stored, it moves with them. */
export const noteCount = statement<{
  projectId: string
  id: string
  revision: number
  count: number
  clockShift: number
}>(
  'note-segment-count',
  `update segments set member_count = :count::int, counted_at = ${DATABASE_NOW}
   where project_id = :projectId::uuid and id = :id::uuid and revision = :revision::int and not track_membership`,
)
