import { statement } from '../../db/sql.ts'

/** Recorded names of the project, those that most contacts have first. */
export const fieldsOnRecord = statement<
  { projectId: string; limit: number },
  { name: string; type: string; coverage: number | null }
>(
  'fields-on-record',
  `select name, type, coverage from contact_fields where project_id = :projectId::uuid
   order by coverage desc nulls first, name limit :limit::int`,
)

/**
 * Stores the coverage of recorded names, a JSON list of { name, type, coverage }; the others have the
 * coverage 0. Without a time the coverage of all becomes unknown. Rows that another transaction writes are
 * left to it.
 */
export const recordCoverage = statement<{ projectId: string; fields: string; now: Date | null }>(
  'record-field-coverage',
  `with held as (
     select name from contact_fields where project_id = :projectId::uuid for no key update skip locked
   ),
   given as materialized (
     select held.name, found.type, found.coverage from held
     left join json_to_recordset(:fields::json) as found (name text, type text, coverage float8) using (name)
   )
   update contact_fields f set counted_at = :now::timestamptz, type = coalesce(given.type, f.type),
     coverage = case when :now is not null then coalesce(given.coverage, 0) end
   from given where f.project_id = :projectId::uuid and f.name = given.name`,
)

/** Projects that were counted before a time, some of them. Index: contact_fields_counted. */
export const projectsWithOldCoverage = statement<{ before: Date; limit: number }, { projectId: string }>(
  'projects-with-old-field-coverage',
  `select distinct project_id as "projectId" from contact_fields where counted_at < :before::timestamptz
   limit :limit::int`,
)
