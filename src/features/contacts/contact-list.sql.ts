import { isKept } from '../../db/kept-contacts.sql.ts'
import { analyticStatement, type Statement, statement, unpreparedStatement } from '../../db/sql.ts'
import type { Contact } from '../../generated/prisma/client.ts'
import type { ContactCondition } from './contact-filter.ts'
import { contactColumns } from './contacts.sql.ts'

export type ContactOrder = { column: 'id' | 'email'; direction: 'asc' | 'desc' }

/** Parameters in addition to those of the conditions. */
type ListParams = { projectId: string; [name: string]: unknown }
type Query<Row> = { statement: Statement<ListParams, Row>; params: ListParams }

/**
 * At most `limit` contacts that fulfil the conditions, after the key `after`. The order of ids is that of
 * creation. Indexes: contacts_pkey, contacts_project_id_email_key, contacts_subscribed, contacts_email_part;
 * which one is best depends on the values, so the statement is planned for them.
 */
export function contactPage(
  projectId: string,
  conditions: ContactCondition[],
  { column, direction }: ContactOrder,
  after: string | null,
  limit: number,
): Query<Contact> {
  const type = column === 'id' ? 'uuid' : 'text'
  const beyond = direction === 'asc' ? '>' : '<'
  const isLater = { text: `c.${column} ${beyond} :after::${type}`, params: { after } }
  const { text, params } = join(after === null ? conditions : [...conditions, isLater])
  return {
    statement: listStatement(
      conditions,
      `select ${contactColumns('c')} from contacts c where ${text}
       order by c.${column} ${direction} limit :limit::int`,
    ),
    params: { ...params, projectId, limit },
  }
}

/** Contacts that the conditions let through, the newest first, without the first `skip`. */
export function contactsAt(
  projectId: string,
  conditions: ContactCondition[],
  skip: number,
  take: number,
): Query<Contact> {
  const { text, params } = join(conditions)
  return {
    statement: listStatement(
      conditions,
      `select ${contactColumns('c')} from contacts c where ${text}
       order by c.id desc offset :skip::bigint limit :take::int`,
    ),
    params: { ...params, projectId, skip, take },
  }
}

/** How many contacts the conditions let through; `most`, when it is given and there are more. */
export function contactCount(
  projectId: string,
  conditions: ContactCondition[],
  most: number | null,
): Query<{ count: number }> {
  const { text, params } = join(conditions)
  const isBounded = most !== null && conditions.length === 0
  const statement = isBounded ? unpreparedStatement : analyticStatement
  return {
    statement: statement(
      `select count(*)::int as count from (
         select from contacts c where ${text} limit :most::bigint) matching`,
    ),
    params: { ...params, projectId, most },
  }
}

/**
 * Which share of at most `size` contacts, picked evenly at random, the conditions let through; none when no contact
 * was picked. Index: contacts_sample, see custom-fields.sql.ts.
 */
export function contactShare(
  projectId: string,
  conditions: ContactCondition[],
  size: number,
): Query<{ share: number | null }> {
  const { text, params } = join(conditions)
  return {
    statement: analyticStatement(
      `select (count(*) filter (where ${text}))::float8 / nullif(count(*), 0) as share from (
         select * from contacts where project_id = :projectId::uuid and get_byte(uuid_send(id), 15) < 64
         order by substring(uuid_send(id) from 9) limit :size::int) c`,
    ),
    params: { ...params, projectId, size },
  }
}

/** Rows of the list are next to each other in an index, unless a condition has others passed over. */
const listStatement = <Row>(conditions: ContactCondition[], text: string): Statement<ListParams, Row> =>
  conditions.length > 0 ? analyticStatement(text) : unpreparedStatement(text)

/** A count of the project when it is not older than `maxAgeMs`. */
export const freshTotal = statement<
  { projectId: string; key: string; maxAgeMs: number; clockShift: number },
  { count: number }
>(
  'fresh-contact-total',
  `select count from contact_totals where project_id = :projectId::uuid and key = :key
     and counted_at > clock_timestamp() + (:clockShift::float8 - :maxAgeMs::int) * interval '1 millisecond'`,
)

/** Remembers a count of the project, and forgets counts that were not asked for lately. */
export const noteTotal = statement<{ projectId: string; key: string; count: number; clockShift: number }>(
  'note-contact-total',
  `with clock as (select clock_timestamp() + :clockShift::float8 * interval '1 millisecond' as time),
   old as (
     delete from contact_totals where project_id = :projectId::uuid and key <> :key
       and counted_at < (select time from clock) - interval '1 day'
   )
   insert into contact_totals as t (project_id, key, count, counted_at)
   select :projectId::uuid, :key, :count::int, time from clock
   on conflict (project_id, key) do update set count = excluded.count, counted_at = excluded.counted_at`,
)

/**
 * All conditions together, on contacts of the project that are kept. Throws when two conditions name a parameter alike:
 * one of them would be asked with the other's value.
 */
function join(conditions: ContactCondition[]): ContactCondition {
  const names = conditions.flatMap(({ params }) => Object.keys(params))
  if (new Set(names).size < names.length) throw new Error(`Conditions share a parameter: ${names.join(', ')}`)
  const own = ['c.project_id = :projectId::uuid', isKept('c')]
  return {
    text: [...own, ...conditions.map(({ text }) => text)].join(' and '),
    params: Object.assign({}, ...conditions.map(({ params }) => params)),
  }
}
