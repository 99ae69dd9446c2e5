import type { Predicate } from '../../audience/compile.sql.ts'
import { type Statement, unpreparedStatement } from '../../db/sql.ts'

export type AudienceCount = {
  matching: number
  unsubscribed: number
  suppressed: number
  receiving: number
}

/** Of the contacts of project $1 that a condition has: how many would get mail; $2: whether to unsubscribed ones too. */
export const audienceCount = (condition: Predicate): Statement<AudienceCount> =>
  unpreparedStatement(
    `select count(*)::int as matching,
       (count(*) filter (where not c.subscribed))::int as unsubscribed,
       (count(*) filter (where s.email is not null))::int as suppressed,
       (count(*) filter (where s.email is null and (c.subscribed or $2::boolean)))::int as receiving
     from contacts c
     left join suppressions s on s.project_id = c.project_id and s.email = c.email
     where c.project_id = $1::uuid and ${condition.text}`,
  )
