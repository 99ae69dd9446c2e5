import { BEING_RESET } from '../../admission/project-states.ts'
import { type None, type Statement, statement } from '../../db/sql.ts'
import { LAST_ID } from '../../lib/ids.ts'
import { KEPT, WIPED, type WipedTable } from './wiped-tables.sql.ts'

type RowsGone = Statement<{ projectId: string; after: string }, { id: string }>

/**
 * By place in the table: its statistics are those of before. The planner has to know how few the rows are. Where ids come
 * first in the key, those below `after` are passed over: they are dead rows, for as long as vacuum is kept away.
 */
function deleteFirst({ table, key, rows }: WipedTable): RowsGone {
  const [first = ''] = key
  if (PARTITIONED.has(table)) return deleteRange(table, rows)
  const isAfter = first.endsWith('id') && first !== 'project_id' ? `and ${first} >= :after::uuid` : ''
  return statement(
    `wipe-${table}`,
    `delete from ${table} where project_id = :projectId::uuid and ctid = any(array(
       select ctid from ${table} where project_id = :projectId::uuid ${isAfter} order by ${key.join(', ')} limit ${rows}))
     returning ${first}::text as id`,
  )
}

/** Tables in which a place alone does not name a row: each partition has it. */
const PARTITIONED: ReadonlySet<string> = new Set(['emails', 'events'])

/** By a range of ids, which also says in which partitions they are. */
const deleteRange = (table: string, rows: number): RowsGone =>
  statement(
    `wipe-${table}`,
    `delete from ${table} where project_id = :projectId::uuid and id >= :after::uuid and id <= coalesce(
       (select id from ${table} where project_id = :projectId::uuid and id >= :after::uuid
         order by id offset ${rows - 1} limit 1), '${LAST_ID}')
     returning id::text as id`,
  )

const DELETE_FIRST: ReadonlyMap<string, RowsGone> = new Map(
  [...WIPED, ...KEPT].map((table) => [table.table, deleteFirst(table)]),
)

/** Deletes the first rows of a project from the id `after` on, as many as may go at once. Key: the primary one. */
export function firstRowsOf(table: string): RowsGone {
  const found = DELETE_FIRST.get(table)
  if (!found) throw new Error(`${table} is no table that is emptied`)
  return found
}

/** Locks a project against other changes of what it is, but not against new rows that belong to it. */
export const holdProject = statement<{ projectId: string }, { disabled: boolean; reason: string | null }>(
  'hold-project',
  `select disabled, disabled_reason as reason from projects where id = :projectId::uuid for no key update`,
)

/** Waits until nobody writes rows that belong to a project any more; who wants to from now on waits for the commit. */
export const holdProjectAlone = statement<{ projectId: string }>(
  'hold-project-alone',
  'select id from projects where id = :projectId::uuid for update',
)

/** Locks what is to be removed of a project; no row: nothing is. */
export const holdWipe = statement<
  { projectId: string },
  { deletes: boolean; step: number; openedAt: Date | null }
>(
  'hold-wipe',
  `select deletes, step, opened_at as "openedAt" from project_wipes where project_id = :projectId::uuid for update`,
)

/** The data is gone. A project that stays gets the state back that it had. */
export const openProject = statement<{ projectId: string; now: Date }>(
  'open-wiped-project',
  `with wipe as (
     update project_wipes set opened_at = :now::timestamptz where project_id = :projectId::uuid
       returning deletes, was_disabled, was_reason
   )
   update projects p set disabled = wipe.was_disabled, disabled_reason = wipe.was_reason from wipe
   where p.id = :projectId::uuid and not wipe.deletes and p.disabled_reason = '${BEING_RESET}'`,
)

/** Deletes the project, and changes that came after those that were removed: they refer to it without a key. */
export const removeProject = statement<{ projectId: string }>(
  'remove-project',
  `with gone as (delete from projects where id = :projectId::uuid returning id)
   delete from changes where project_id in (select id from gone)`,
)

/** Turns of the project that wait in the queue, and those that were given up; `own` is the queue of this work. */
export const removeTurns = statement<{ projectId: string; own: string }>(
  'remove-turns',
  `delete from pgboss.job where data ->> 'projectId' = :projectId and name <> :own and state <> 'active'`,
)

/** Projects with something to remove. The table is small. */
export const wipedProjects = statement<None, { projectId: string }>(
  'wiped-projects',
  'select project_id as "projectId" from project_wipes order by requested_at',
)
