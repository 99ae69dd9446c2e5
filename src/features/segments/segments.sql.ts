import { type Statement, statement } from '../../db/sql.ts'

/** How large the segments of project $1 are, the newest first: their conditions, and something for the rest. */
export const segmentSizes: Statement<{ id: string; bytes: number }> = statement(
  'segment-sizes',
  `select id, coalesce(octet_length(condition::text), 0) + 1000 as bytes from segments
   where project_id = $1::uuid order by id desc`,
)

/** Locks segment $2 of project $1: whoever changes it, or a list's members, waits for the others. */
export const lockSegment: Statement<{ id: string }> = statement(
  'lock-segment',
  'select id from segments where project_id = $1::uuid and id = $2::uuid for update',
)

/** Which of the addresses $2 are those of contacts of project $1. Index: contacts_project_id_email_key. */
export const contactsByEmail: Statement<{ id: string; email: string }> = statement(
  'contacts-by-email',
  'select id, email from contacts where project_id = $1::uuid and email = any($2::text[])',
)

/**
 * Locks segment $2 of project $1 and those that ask for it, directly or through others, in the order in which all lock
 * them. Index: interests_project_id_kind_name_idx.
 */
export const lockWithDependents: Statement<{ id: string }> = statement(
  'lock-segment-with-dependents',
  `with recursive dependent (id) as (
     select $2::uuid
     union
     select i.consumer_id from dependent d join interests i on i.project_id = $1::uuid and i.kind = 'SEGMENT'
       and i.name = d.id::text and i.consumer = 'SEGMENT'
   )
   select s.id from segments s where s.project_id = $1::uuid and s.id in (select id from dependent)
   order by s.id for no key update`,
)

const LISTENS_NOW = `listening_xid = pg_current_xact_id()::text::bigint,
  listening_at = now() + $3::float8 * interval '1 millisecond'`

/** Notes that segment $2 of project $1 listens from the commit of this transaction on; $3 shift of the clock. */
export const noteListening: Statement<object> = statement(
  'note-segment-listening',
  `update segments set ${LISTENS_NOW} where project_id = $1::uuid and id = $2::uuid`,
)

/**
 * Has the segments $2 of project $1, which are locked, be looked at anew; $3 shift of the clock. They hear of nothing else that a segment that
 * they name has another condition. A pass that somebody waits for stays asked for.
 */
export const reviseSegments: Statement<object> = statement(
  'revise-segments',
  `update segments set revision = revision + 1, pass_after = null, pass_asked = greatest(pass_asked, pass + 1),
     troubled_at = null, ${LISTENS_NOW}
   where project_id = $1::uuid and id = any($2::uuid[])`,
)
