import { dataChangeCte, heard } from '../../changes/changes.sql.ts'
import { analyticStatement, type Statement, statement } from '../../db/sql.ts'

/** Contacts that are looked at to learn about fields: all of a project that has no more, otherwise a sample. */
export const SAMPLE = 5_000

/**
 * The data of $2 contacts of project $1, picked evenly at random: the last half of an id is random, and the
 * index contacts_sample keeps a quarter of all ids in the order of that half.
 */
const SAMPLED = `
  select data from contacts where project_id = $1::uuid and get_byte(uuid_send(id), 15) < 64
  order by substring(uuid_send(id) from 9) limit $2::int`

/** The data of all contacts of project $1, at most $2. */
const ALL = 'select data from contacts where project_id = $1::uuid limit $2::int'

export type FieldStatistics = {
  name: string
  /** Contacts that have the field, of those looked at. */
  contacts: number
  strings: number
  dates: number
  numbers: number
  booleans: number
  objects: number
  arrays: number
  /** How many contacts were looked at. */
  looked: number
}

/** $1 project, $2 contacts to look at, $3 grammar of a date, $4 fields at most: the most frequent ones. */
const statisticsText = (source: string) => `
  with looked as materialized (${source}),
  field as (
    select key, value, jsonb_typeof(value) as type from looked, jsonb_each(data) where value <> 'null'
  )
  select key as name, count(*)::int as contacts,
    (count(*) filter (where type = 'string'))::int as strings,
    (count(*) filter (where type = 'string' and value #>> '{}' ~ $3))::int as dates,
    (count(*) filter (where type = 'number'))::int as numbers,
    (count(*) filter (where type = 'boolean'))::int as booleans,
    (count(*) filter (where type = 'object'))::int as objects,
    (count(*) filter (where type = 'array'))::int as arrays,
    (select count(*) from looked)::int as looked
  from field group by key order by contacts desc, key limit $4::int`

export const statisticsOfAll: Statement<FieldStatistics> = analyticStatement(statisticsText(ALL))
export const statisticsOfSample: Statement<FieldStatistics> = analyticStatement(statisticsText(SAMPLED))

/** Names on record for project $1, at most $2. */
export const recordedFieldNames: Statement<{ name: string; type: string }> = statement(
  'recorded-field-names',
  'select name, type from contact_fields where project_id = $1::uuid order by name limit $2::int',
)

export type FieldValue = { value: string | number | boolean }

/** $1 project, $2 contacts to look at, $3 field, $4 LIKE pattern or null, $5 values at most. */
const valuesText = (source: string) => `
  with looked as materialized (${source})
  select data -> $3::text as value from looked
  where jsonb_typeof(data -> $3::text) in ('string', 'number', 'boolean')
    and ($4::text is null or lower(data ->> $3::text) like lower($4))
  group by 1 order by count(*) desc, 1 limit $5::int`

export const valuesOfAll: Statement<FieldValue> = analyticStatement(valuesText(ALL))
export const valuesOfSample: Statement<FieldValue> = analyticStatement(valuesText(SAMPLED))

type Carriers = { contacts: number; looked: number }

/** Contacts with field $3, of those looked at. */
export const carriersOfSample: Statement<Carriers> = analyticStatement(`
  with looked as materialized (${SAMPLED})
  select count(*) filter (where data ? $3::text)::int as contacts, count(*)::int as looked from looked`)

/** Takes field $2 from the contacts of project $1 with ids greater than $3 and up to $6, $4 of them looked at; $5 now. */
export const removeField: Statement<{ last: string; changed: number; heard: boolean }> = statement(
  'remove-field',
  `with page as (
     select id, data ? $2::text as has from contacts
     where project_id = $1::uuid and id > $3::uuid and id <= $6::uuid order by id limit $4::int
   ),
   changed as (
     update contacts c set data = c.data - $2::text, updated_at = $5::timestamptz
     from page where page.has and c.project_id = $1::uuid and c.id = page.id and c.data ? $2::text
     returning c.project_id, c.id
   ),
   ${dataChangeCte('$2', '$5')}
   select (select id from page order by id desc limit 1) as last, (select count(*) from changed)::int as changed,
     ${heard('heard_contact')} as heard
   where exists (select from page)`,
)
