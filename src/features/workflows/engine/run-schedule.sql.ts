import type { Predicate, PredicateParams } from '../../../audience/compile.sql.ts'
import { statement, unpreparedStatement } from '../../../db/sql.ts'
import type { JsonValue } from '../../../lib/json.ts'

export type DueSchedule = {
  id: string
  triggerConfig: JsonValue
  nextAt: Date
  runFor: Date | null
  runAfter: string | null
}

/** A workflow of the project whose run is due or under way; locked. Index: workflows_next. */
export const dueSchedule = statement<{ projectId: string; now: Date }, DueSchedule>(
  'due-schedule',
  `select id, trigger_config as "triggerConfig", next_at as "nextAt", run_for as "runFor", run_after as "runAfter"
   from workflows
   where project_id = :projectId::uuid and next_at <= :now::timestamptz and enabled and not deleted
   order by next_at, id limit 1 for update`,
)

/** The contacts of a condition, after one id and up to another. Key: contacts_pkey. */
export const membersBetween = (condition: Predicate) =>
  unpreparedStatement<{ projectId: string; after: string; until: string } & PredicateParams, { id: string }>(
    `select c.id from contacts c
     where c.project_id = :projectId::uuid and c.id > :after::uuid and c.id <= :until::uuid and ${condition.text}
     order by c.id`,
  )
