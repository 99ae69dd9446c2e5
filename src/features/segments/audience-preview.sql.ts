import type { Predicate, PredicateParams } from '../../audience/compile.sql.ts'
import { analyticStatement } from '../../db/sql.ts'
import type { MessageType } from '../../generated/prisma/enums.ts'
import { mayReceiveSql } from '../../messages/may-receive.sql.ts'

export type AudienceCount = {
  matching: number
  unsubscribed: number
  suppressed: number
  receiving: number
}

const RECEIVES = mayReceiveSql({
  type: ':type::message_type',
  subscribed: 'c.subscribed',
  suppressed: '(s.email is not null)',
})

/** Counts the contacts that fulfil a condition and would get mail of a type. */
export const audienceCount = (condition: Predicate) =>
  analyticStatement<{ projectId: string; type: MessageType } & PredicateParams, AudienceCount>(
    `select count(*)::int as matching,
       (count(*) filter (where not c.subscribed))::int as unsubscribed,
       (count(*) filter (where s.email is not null))::int as suppressed,
       (count(*) filter (where ${RECEIVES}))::int as receiving
     from contacts c
     left join suppressions s on s.project_id = c.project_id and s.email = c.email
     where c.project_id = :projectId::uuid and ${condition.text}`,
  )
