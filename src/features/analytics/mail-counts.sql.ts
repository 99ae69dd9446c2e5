import { MAIL_COUNTS } from '../../changes/mail-counts.sql.ts'
import { analyticStatement, type None, statement } from '../../db/sql.ts'
import type { MailboxProvider } from '../../generated/prisma/enums.ts'

/** What became of mail. See the model MailCount. */
export type MailCounts = {
  sent: number
  delivered: number
  bounced: number
  softBounced: number
  complained: number
  failed: number
  suppressed: number
  received: number
  opened: number
  clicked: number
  opens: number
  clicks: number
  botOpens: number
  botClicks: number
}

const camel = (column: string) => column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
const COLUMNS = MAIL_COUNTS.join(', ')
const SUMS = MAIL_COUNTS.map((column) => `sum(${column})::int as "${camel(column)}"`).join(', ')

const rowsOf = (table: string) => `
  select quarter, provider, ${COLUMNS} from ${table}
  where project_id = :projectId::uuid and quarter >= :from::timestamptz and quarter < :to::timestamptz`

/** Counts of a range, with those that are not folded yet. Keys: mail_counts_pkey, mail_tallies_pkey. */
const COUNTED = `(${rowsOf('mail_counts')} union all ${rowsOf('mail_tallies')}) counted`

/**
 * The counts of a range by part: part 0 begins at the first of the starts, which ascend. Parts without any are left
 * out.
 */
export const mailByPart = analyticStatement<
  { projectId: string; from: Date; to: Date; starts: Date[] },
  MailCounts & { part: number }
>(`select width_bucket(quarter, :starts::timestamptz[]) - 1 as part, ${SUMS} from ${COUNTED} group by 1`)

/** The counts of a range by who keeps the mailboxes. */
export const mailByProvider = analyticStatement<
  { projectId: string; from: Date; to: Date },
  MailCounts & { provider: MailboxProvider }
>(`select provider, ${SUMS} from ${COUNTED} group by 1 order by "sent" desc, provider`)

/** Projects with tallies to fold. A loose scan of mail_tallies_pkey. */
export const projectsWithTallies = statement<None, { projectId: string }>(
  'projects-with-mail-tallies',
  `with recursive project as (
     (select project_id from mail_tallies order by project_id limit 1)
     union all
     select (select t.project_id from mail_tallies t where t.project_id > project.project_id
       order by t.project_id limit 1)
     from project where project.project_id is not null
   )
   select project_id as "projectId" from project where project_id is not null`,
)

/** Adds rows of `gone` to the counts of a quarter. */
const added = (quarter: string) => `
  insert into mail_counts as c (project_id, quarter, provider, ${COLUMNS})
  select project_id, ${quarter}, provider, ${MAIL_COUNTS.map((column) => `sum(${column})`).join(', ')}
  from gone where exists (select from projects where id = :projectId::uuid)
  group by 1, 2, 3 order by 2, 3
  on conflict (project_id, quarter, provider) do update
    set ${MAIL_COUNTS.map((column) => `${column} = c.${column} + excluded.${column}`).join(', ')}`

/** Moves at most `limit` tallies into the counts, and returns how many it found. */
export const foldTallies = statement<{ projectId: string; limit: number }, { count: number }>(
  'fold-mail-tallies',
  `with few as materialized (
     select id from mail_tallies where project_id = :projectId::uuid order by id limit :limit::int
     for update skip locked
   ),
   gone as (
     delete from mail_tallies t using few where t.project_id = :projectId::uuid and t.id = few.id
     returning t.*
   ),
   folded as (${added('quarter')})
   select count(*)::int as count from gone`,
)

/**
 * Adds at most `limit` counts of quarters before `before` to those of the quarter -infinity, which reputation is judged by
 * as well. Returns how many it found. Key: mail_counts_pkey.
 */
export const mergeMailCounts = statement<
  { projectId: string; before: Date; limit: number },
  { count: number }
>(
  'merge-mail-counts',
  `with few as materialized (
     select quarter, provider from mail_counts
     where project_id = :projectId::uuid and quarter > '-infinity' and quarter < :before::timestamptz
     order by quarter limit :limit::int
   ),
   gone as (
     delete from mail_counts c using few
     where c.project_id = :projectId::uuid and c.quarter = few.quarter and c.provider = few.provider
     returning c.*
   ),
   merged as (${added("timestamptz '-infinity'")})
   select count(*)::int as count from gone`,
)
