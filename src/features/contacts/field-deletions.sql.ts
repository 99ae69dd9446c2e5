import { type Statement, statement } from '../../db/sql.ts'

/** Asks at $3 that field $2 be taken from the contacts that project $1 has; joins a request that is not done. */
export const askForDeletion: Statement<object> = statement(
  'ask-for-field-deletion',
  `insert into contact_field_deletions as d (project_id, name, requested_at, up_to)
   select $1::uuid, $2, $3::timestamptz,
     (select id from contacts where project_id = $1::uuid order by id desc limit 1)
   on conflict (project_id, name) do update set requested_at = excluded.requested_at, up_to = excluded.up_to,
     after = null, deleted_from = 0, completed_at = null
   where d.completed_at is not null`,
)

/** How many contacts field $2 of project $1 was taken from; null while it is being done. */
export const deletionResult: Statement<{ deletedFrom: number | null }> = statement(
  'field-deletion-result',
  `select case when completed_at is not null then deleted_from end as "deletedFrom"
   from contact_field_deletions where project_id = $1::uuid and name = $2`,
)

/** A deletion of project $1 that is not done and not in other hands; locked. Index: contact_field_deletions_running. */
export const holdDeletion: Statement<{ name: string; after: string | null; upTo: string | null }> = statement(
  'hold-field-deletion',
  `select name, after, up_to as "upTo" from contact_field_deletions
   where project_id = $1::uuid and completed_at is null order by requested_at limit 1 for update skip locked`,
)

/** The deletion of field $2 of project $1, which is held, has come to contact $3, and has changed $4 more. */
export const advanceDeletion: Statement<object> = statement(
  'advance-field-deletion',
  `update contact_field_deletions set after = $3::uuid, deleted_from = deleted_from + $4::int
   where project_id = $1::uuid and name = $2`,
)

/** The deletion of field $2 of project $1 is done at $3. */
export const endDeletion: Statement<object> = statement(
  'end-field-deletion',
  'update contact_field_deletions set completed_at = $3::timestamptz where project_id = $1::uuid and name = $2',
)

/** Projects with fields to delete. Index: contact_field_deletions_running. */
export const projectsWithFieldDeletions: Statement<{ projectId: string }> = statement(
  'projects-with-field-deletions',
  'select distinct project_id as "projectId" from contact_field_deletions where completed_at is null',
)
