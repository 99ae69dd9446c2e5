import { type Statement, unpreparedStatement } from '../../db/sql.ts'
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
    statement: unpreparedStatement(
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
    statement: unpreparedStatement(
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
  return {
    statement: unpreparedStatement(
      `select count(*)::int as count from (
         select from contacts c where ${text} limit $${values.length + 1}::bigint) matching`,
    ),
    values: [...values, most],
  }
}

function join(projectId: string, conditions: ContactCondition[]): { text: string; values: unknown[] } {
  const values: unknown[] = [projectId]
  const texts = ['c.project_id = $1::uuid']
  for (const condition of conditions) {
    const part = condition(values.length + 1)
    texts.push(part.text)
    values.push(...part.values)
  }
  return { text: texts.join(' and '), values }
}
