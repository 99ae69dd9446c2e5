import { isKept } from '../../db/kept-contacts.sql.ts'
import { analyticStatement, type Statement, statement, unpreparedStatement } from '../../db/sql.ts'
import type { Contact } from '../../generated/prisma/client.ts'
import { contactColumns } from './contacts.sql.ts'

/**
 * A condition on the contact `c`: its text and the values of its parameters, of which the first has the number
 * given. Values get into it as parameters only.
 */
export type ContactCondition = (firstParameter: number) => { text: string; values: unknown[] }

export type ContactOrder = { column: 'id' | 'email'; direction: 'asc' | 'desc' }

type Query<Row> = { statement: Statement<Row>; values: unknown[] }

/**
 * At most `limit` contacts after the key `after`, and no others than the conditions let through. The order of
 * ids is that of creation. Indexes: contacts_pkey, contacts_project_id_email_key, contacts_subscribed,
 * contacts_email_part; which one is best depends on the values, so the statement is planned for them.
 */
export function contactPage(
  projectId: string,
  conditions: ContactCondition[],
  order: ContactOrder,
  after: string | null,
  limit: number,
): Query<Contact> {
  const { column, direction } = order
  const type = column === 'id' ? 'uuid' : 'text'
  const beyond = direction === 'asc' ? '>' : '<'
  const isLater: ContactCondition = (first) => ({
    text: `c.${column} ${beyond} $${first}::${type}`,
    values: [after],
  })
  const { text, values } = join(projectId, after === null ? conditions : [...conditions, isLater])
  return {
    statement: listStatement(
      conditions,
      `select ${contactColumns('c')} from contacts c where ${text}
       order by c.${column} ${direction} limit $${values.length + 1}::int`,
    ),
    values: [...values, limit],
  }
}

/** Contacts that the conditions let through, the newest first, without the first `skip`. */
export function contactsAt(
  projectId: string,
  conditions: ContactCondition[],
  skip: number,
  take: number,
): Query<Contact> {
  const { text, values } = join(projectId, conditions)
  const n = values.length
  return {
    statement: listStatement(
      conditions,
      `select ${contactColumns('c')} from contacts c where ${text}
       order by c.id desc offset $${n + 1}::bigint limit $${n + 2}::int`,
    ),
    values: [...values, skip, take],
  }
}

/** How many contacts the conditions let through; `most`, when it is given and there are more. */
export function contactCount(
  projectId: string,
  conditions: ContactCondition[],
  most: number | null,
): Query<{ count: number }> {
  const { text, values } = join(projectId, conditions)
  const isBounded = most !== null && conditions.length === 0
  const statement = isBounded ? unpreparedStatement : analyticStatement
  return {
    statement: statement(
      `select count(*)::int as count from (
         select from contacts c where ${text} limit $${values.length + 1}::bigint) matching`,
    ),
    values: [...values, most],
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
  const { text, values } = join(projectId, conditions)
  return {
    statement: analyticStatement(
      `select (count(*) filter (where ${text}))::float8 / nullif(count(*), 0) as share from (
         select * from contacts where project_id = $1::uuid and get_byte(uuid_send(id), 15) < 64
         order by substring(uuid_send(id) from 9) limit $${values.length + 1}::int) c`,
    ),
    values: [...values, size],
  }
}

/** Rows of the list are next to each other in an index, unless a condition has others passed over. */
const listStatement = <Row>(conditions: ContactCondition[], text: string): Statement<Row> =>
  conditions.length > 0 ? analyticStatement(text) : unpreparedStatement(text)

/** Count $2 of project $1 when it is not older than $3 milliseconds; $4 is added to the clock, by tests. */
export const freshTotal: Statement<{ count: number }> = statement(
  'fresh-contact-total',
  `select count from contact_totals where project_id = $1::uuid and key = $2
     and counted_at > clock_timestamp() + ($4::float8 - $3::int) * interval '1 millisecond'`,
)

/** Remembers $3 as count $2 of project $1, and forgets those that nobody has asked for lately. */
export const noteTotal: Statement<object> = statement(
  'note-contact-total',
  `with clock as (select clock_timestamp() + $4::float8 * interval '1 millisecond' as time),
   old as (
     delete from contact_totals where project_id = $1::uuid and key <> $2
       and counted_at < (select time from clock) - interval '1 day'
   )
   insert into contact_totals as t (project_id, key, count, counted_at)
   select $1::uuid, $2, $3::int, time from clock
   on conflict (project_id, key) do update set count = excluded.count, counted_at = excluded.counted_at`,
)

function join(projectId: string, conditions: ContactCondition[]): { text: string; values: unknown[] } {
  const values: unknown[] = [projectId]
  const texts = ['c.project_id = $1::uuid', isKept('c', '$1::uuid')]
  for (const condition of conditions) {
    const part = condition(values.length + 1)
    texts.push(part.text)
    values.push(...part.values)
  }
  return { text: texts.join(' and '), values }
}
