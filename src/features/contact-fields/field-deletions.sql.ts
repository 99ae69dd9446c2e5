import { type None, statement } from '../../db/sql.ts'

/** Asks that a field be taken from the contacts that the project has; joins a request that is not done. */
export const askForDeletion = statement<{ projectId: string; name: string; now: Date }>(
  'ask-for-field-deletion',
  `insert into contact_field_deletions as d (project_id, name, requested_at, up_to)
   select :projectId::uuid, :name, :now::timestamptz,
     (select id from contacts where project_id = :projectId::uuid order by id desc limit 1)
   on conflict (project_id, name) do update set requested_at = excluded.requested_at, up_to = excluded.up_to,
     after = null, deleted_from = 0, completed_at = null
   where d.completed_at is not null`,
)

/** How many contacts a field was taken from; null while it is being done. */
export const deletionResult = statement<{ projectId: string; name: string }, { deletedFrom: number | null }>(
  'field-deletion-result',
  `select case when completed_at is not null then deleted_from end as "deletedFrom"
   from contact_field_deletions where project_id = :projectId::uuid and name = :name`,
)

/** A deletion that is not done and not in other hands; locked. Index: contact_field_deletions_running. */
export const holdDeletion = statement<
  { projectId: string },
  { name: string; after: string | null; upTo: string | null }
>(
  'hold-field-deletion',
  `select name, after, up_to as "upTo" from contact_field_deletions
   where project_id = :projectId::uuid and completed_at is null order by requested_at limit 1
     for update skip locked`,
)

/**
 * Notes that the deletion of a field, which is held, has reached the contact `reached`, and has changed this
 * many more.
 */
export const advanceDeletion = statement<{
  projectId: string
  name: string
  reached: string
  changed: number
}>(
  'advance-field-deletion',
  `update contact_field_deletions set after = :reached::uuid, deleted_from = deleted_from + :changed::int
   where project_id = :projectId::uuid and name = :name`,
)

/** The deletion of a field is done. */
export const endDeletion = statement<{ projectId: string; name: string; now: Date }>(
  'end-field-deletion',
  `update contact_field_deletions set completed_at = :now::timestamptz where project_id = :projectId::uuid
     and name = :name`,
)

/** Projects with fields to delete. Index: contact_field_deletions_running. */
export const projectsWithFieldDeletions = statement<None, { projectId: string }>(
  'projects-with-field-deletions',
  'select distinct project_id as "projectId" from contact_field_deletions where completed_at is null',
)
