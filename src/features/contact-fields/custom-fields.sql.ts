import { dataChangeCte, heard } from '../../changes/changes.sql.ts'
import { analyticStatement, statement } from '../../db/sql.ts'
import type { Consumer } from '../../generated/prisma/enums.ts'

/** Contacts that are looked at to learn about fields: all of a project that has no more, otherwise a sample. */
export const SAMPLE = 5_000

/**
 * The data of `sample` contacts of the project, picked evenly at random: the last half of an id is random, and the
 * index contacts_sample keeps a quarter of all ids in the order of that half.
 */
const SAMPLED = `
  select data from contacts where project_id = :projectId::uuid and get_byte(uuid_send(id), 15) < 64
  order by substring(uuid_send(id) from 9) limit :sample::int`

/** The data of all contacts of the project, at most `sample`. */
const ALL = 'select data from contacts where project_id = :projectId::uuid limit :sample::int'

export type FieldStatistics = {
  name: string
  /** Number of contacts that have the field, among those looked at. */
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

type StatisticsParams = {
  projectId: string
  /** Contacts to look at. */
  sample: number
  dateGrammar: string
  /** Most fields to return, the most frequent ones; null for all. */
  limit: number | null
}

const statisticsText = (source: string) => `
  with looked as materialized (${source}),
  field as (
    select key, value, jsonb_typeof(value) as type from looked, jsonb_each(data) where value <> 'null'
  )
  select key as name, count(*)::int as contacts,
    (count(*) filter (where type = 'string'))::int as strings,
    (count(*) filter (where type = 'string' and value #>> '{}' ~ :dateGrammar))::int as dates,
    (count(*) filter (where type = 'number'))::int as numbers,
    (count(*) filter (where type = 'boolean'))::int as booleans,
    (count(*) filter (where type = 'object'))::int as objects,
    (count(*) filter (where type = 'array'))::int as arrays,
    (select count(*) from looked)::int as looked
  from field group by key order by contacts desc, key limit :limit::int`

export const statisticsOfAll = analyticStatement<StatisticsParams, FieldStatistics>(statisticsText(ALL))
export const statisticsOfSample = analyticStatement<StatisticsParams, FieldStatistics>(
  statisticsText(SAMPLED),
)

export type FieldValue = { value: string | number | boolean }

type ValuesParams = {
  projectId: string
  /** Contacts to look at. */
  sample: number
  field: string
  /** A pattern for LIKE. */
  pattern: string | null
  limit: number
}

const valuesText = (source: string) => `
  with looked as materialized (${source})
  select data -> :field::text as value from looked
  where jsonb_typeof(data -> :field::text) in ('string', 'number', 'boolean')
    and (:pattern::text is null or lower(data ->> :field::text) like lower(:pattern))
  group by 1 order by count(*) desc, 1 limit :limit::int`

export const valuesOfAll = analyticStatement<ValuesParams, FieldValue>(valuesText(ALL))
export const valuesOfSample = analyticStatement<ValuesParams, FieldValue>(valuesText(SAMPLED))

type Carriers = { contacts: number; looked: number }

/** Number of contacts with a field, among those looked at. */
export const carriersOfSample = analyticStatement<
  { projectId: string; sample: number; field: string },
  Carriers
>(`
  with looked as materialized (${SAMPLED})
  select count(*) filter (where data ? :field::text)::int as contacts, count(*)::int as looked from looked`)

/** Takes a field from the contacts with ids greater than `after` and up to `upTo`, `limit` of them looked at. */
export const removeField = statement<
  { projectId: string; name: string; after: string; limit: number; now: Date; upTo: string | null },
  { last: string; changed: number; heard: Consumer[] }
>(
  'remove-field',
  `with page as (
     select id, data ? :name::text as has from contacts
     where project_id = :projectId::uuid and id > :after::uuid and id <= :upTo::uuid order by id
       limit :limit::int
   ),
   changed as (
     update contacts c set data = c.data - :name::text, updated_at = :now::timestamptz
     from page where page.has and c.project_id = :projectId::uuid and c.id = page.id and c.data ? :name::text
     returning c.project_id, c.id
   ),
   ${dataChangeCte(':name')}
   select (select id from page order by id desc limit 1) as last, (select count(*) from changed)::int as changed,
     ${heard('heard_contact')} as heard
   where exists (select from page)`,
)
