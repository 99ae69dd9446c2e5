import { type Statement, statement } from './db/sql.ts'

/** The tables of names, and what a new row of each has: $3 are the types of the names, $4 is now. */
const TABLES = {
  eventNames: { table: 'event_names', columns: 'count', values: '0' },
  contactFields: { table: 'contact_fields', columns: 'type, created_at', values: 'type, $4::timestamptz' },
}

/** What a project makes names for without end; the quotas of them have the same names. */
export type NameKind = keyof typeof TABLES

const forEachKind = <Row>(build: (kind: NameKind) => Statement<Row>): Record<NameKind, Statement<Row>> => ({
  eventNames: build('eventNames'),
  contactFields: build('contactFields'),
})

/**
 * Those of the names $2 that are not on record for project $1; of the others it is noted, once a day, that they were
 * seen at $3. It waits for nobody. Key: the primary one.
 */
export const missingNames = forEachKind<{ name: string }>((kind) => {
  const { table } = TABLES[kind]
  return statement(
    `missing-${table}`,
    `with stale as (
       select name from ${table} where project_id = $1::uuid and name = any($2::text[])
         and seen_at < $3::timestamptz - interval '1 day' for no key update skip locked
     ),
     seen as (
       update ${table} t set seen_at = $3::timestamptz from stale
       where t.project_id = $1::uuid and t.name = stale.name
     )
     select name from unnest($2::text[]) as given (name)
     where not exists (select from ${table} t where t.project_id = $1::uuid and t.name = given.name)`,
  )
})

/**
 * Puts the names $2 with the types $3 on record for project $1 at $4, as far as the quota $5 (0: none) has room: with $6
 * as many as fit, otherwise all of them or none. Returns those for which there was no room, and whether there is none at
 * all. The quota is locked. Key: the primary one.
 */
export const recordNames = forEachKind<{ name: string; isFull: boolean }>((kind) => {
  const { table, columns, values } = TABLES[kind]
  return statement(
    `record-${table}`,
    `with fresh as materialized (
       select name, type from unnest($2::text[], $3::text[]) as given (name, type)
       where not exists (select from ${table} t where t.project_id = $1::uuid and t.name = given.name)
     ),
     room as materialized (
       select case when $5::int = 0 then (select count(*) from fresh)
         else greatest($5::int - (select count(*) from ${table} where project_id = $1::uuid), 0) end as names
     ),
     fitting as materialized (
       select name, type from fresh where $6::boolean or (select count(*) from fresh) <= (select names from room)
       order by name limit (select names from room)
     ),
     recorded as (
       insert into ${table} (project_id, name, seen_at, ${columns})
       select $1::uuid, name, $4::timestamptz, ${values} from fitting on conflict do nothing
     )
     select name, (select names from room) = (select count(*) from fitting) as "isFull" from fresh
     where not exists (select from fitting where fitting.name = fresh.name)`,
  )
})
