import { type Ctx, projectIdOf } from '../ctx.ts'
import { type Statement, statement } from '../db/sql.ts'
import { LAST_ID } from '../lib/ids.ts'
import type { AskedPage } from './cursor-page.ts'

type PageParams = { projectId: string; contactIds: string[]; before: string[]; sizes: number[] }
type Counts = Statement<{ projectId: string; contactIds: string[] }, { contactId: string; count: number }>

/**
 * Reads and counts the rows that contacts have in a table, the newest first. `columns` are those of the row `r`.
 * Indexes: emails_project_id_contact_id_id_idx, events_project_id_contact_id_id_idx.
 */
export function listsOfContacts<Row extends object>(
  table: 'emails' | 'events',
  columns: string,
  countStatement: (text: string) => Counts,
) {
  const pageRows = statement<PageParams, Row & { page: number }>(
    `${table}-of-contacts`,
    `select (asked.page - 1)::int as page, found.* from
       unnest(:contactIds::uuid[], :before::uuid[], :sizes::int[]) with ordinality
         as asked (contact_id, before, size, page)
     cross join lateral (
       select ${columns} from ${table} r
       where r.project_id = :projectId::uuid and r.contact_id = asked.contact_id and r.id < asked.before
       order by r.id desc limit asked.size) found
     order by asked.page, found.id desc`,
  )
  const counts = countStatement(
    `select contact_id as "contactId", count(*)::int as count from ${table}
     where project_id = :projectId::uuid and contact_id = any(:contactIds::uuid[]) group by contact_id`,
  )
  return {
    /** Reads pages of several contacts in one statement; returns a list for each. */
    async read(ctx: Ctx, pages: AskedPage[]): Promise<Row[][]> {
      const rows = await ctx.sql(pageRows, {
        projectId: projectIdOf(ctx),
        contactIds: pages.map(({ ownerId }) => ownerId),
        before: pages.map(({ before }) => before ?? LAST_ID),
        sizes: pages.map(({ limit }) => limit),
      })
      const lists: Row[][] = pages.map(() => [])
      for (const row of rows) lists[row.page]?.push(row)
      return lists
    },
    /** How many rows each of the contacts has. */
    async count(ctx: Ctx, contactIds: string[]): Promise<number[]> {
      const rows = await ctx.sql(counts, { projectId: projectIdOf(ctx), contactIds })
      const byContact = new Map(rows.map(({ contactId, count }) => [contactId, count]))
      return contactIds.map((id) => byContact.get(id) ?? 0)
    },
  }
}
