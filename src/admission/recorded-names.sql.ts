import { statement } from '../db/sql.ts'

/** The tables of names, and the further columns of a new row of each. */
const TABLES = {
  eventNames: { table: 'event_names', columns: 'count', values: '0' },
  contactFields: { table: 'contact_fields', columns: 'type, created_at', values: 'type, :now::timestamptz' },
}

/** Kinds of names that a project can create without end; their quotas have the same names. */
export type NameKind = keyof typeof TABLES

export const KINDS: readonly NameKind[] = ['eventNames', 'contactFields']

const forEachKind = <Built>(build: (kind: NameKind) => Built): Record<NameKind, Built> => ({
  eventNames: build('eventNames'),
  contactFields: build('contactFields'),
})

/**
 * Returns those of the names that are not recorded for the project; of the others it notes, once a day, that
 * they were seen. It waits for no lock. Key: the primary one.
 */
export const missingNames = forEachKind((kind) => {
  const { table } = TABLES[kind]
  return statement<{ projectId: string; names: string[]; now: Date }, { name: string }>(
    `missing-${table}`,
    `with stale as (
       select name from ${table} where project_id = :projectId::uuid and name = any(:names::text[])
         and seen_at < :now::timestamptz - interval '1 day' for no key update skip locked
     ),
     seen as (
       update ${table} t set seen_at = :now::timestamptz from stale
       where t.project_id = :projectId::uuid and t.name = stale.name
     )
     select name from unnest(:names::text[]) as given (name)
     where not exists (select from ${table} t where t.project_id = :projectId::uuid and t.name = given.name)`,
  )
})

type NewNames = {
  projectId: string
  names: string[]
  types: string[]
  now: Date
  quota: number
  partly: boolean
}

/**
 * Puts names with their types on record for the project, as far as the quota (0: none) has room: `partly` as many as
 * fit, otherwise all of them or none. Returns those for which there was no room, and whether there is none at all. The
 * quota is locked. Key: the primary one.
 */
export const recordNames = forEachKind((kind) => {
  const { table, columns, values } = TABLES[kind]
  return statement<NewNames, { name: string; isFull: boolean }>(
    `record-${table}`,
    `with fresh as materialized (
       select name, type from unnest(:names::text[], :types::text[]) as given (name, type)
       where not exists (select from ${table} t where t.project_id = :projectId::uuid and t.name = given.name)
     ),
     room as materialized (
       select case when :quota::int = 0 then (select count(*) from fresh)
         else greatest(:quota::int - (select count(*) from ${table} where project_id = :projectId::uuid), 0) end
         as names
     ),
     fitting as materialized (
       select name, type from fresh where :partly::boolean
         or (select count(*) from fresh) <= (select names from room)
       order by name limit (select names from room)
     ),
     recorded as (
       insert into ${table} (project_id, name, seen_at, ${columns})
       select :projectId::uuid, name, :now::timestamptz, ${values} from fitting on conflict do nothing
     )
     select name, (select names from room) = (select count(*) from fitting) as "isFull" from fresh
     where not exists (select from fitting where fitting.name = fresh.name)`,
  )
})
