import type { Predicate } from '../../audience/compile.sql.ts'
import { analyticStatement, type Statement } from '../../db/sql.ts'
import { mayReceiveSql } from '../../messages/may-receive.sql.ts'

export type AudienceCount = {
  matching: number
  unsubscribed: number
  suppressed: number
  receiving: number
}

const RECEIVES = mayReceiveSql({
  type: '$2::message_type',
  subscribed: 'c.subscribed',
  suppressed: '(s.email is not null)',
})

/** Of the contacts of project $1 that a condition has: how many would get mail of the type $2. */
export const audienceCount = (condition: Predicate): Statement<AudienceCount> =>
  analyticStatement(
    `select count(*)::int as matching,
       (count(*) filter (where not c.subscribed))::int as unsubscribed,
       (count(*) filter (where s.email is not null))::int as suppressed,
       (count(*) filter (where ${RECEIVES}))::int as receiving
     from contacts c
     left join suppressions s on s.project_id = c.project_id and s.email = c.email
     where c.project_id = $1::uuid and ${condition.text}`,
  )
