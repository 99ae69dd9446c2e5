import { analyticStatement, statement } from '../../db/sql.ts'

/** Projects that a user creates at the same time are counted one after the other. */
export const lockOwner = statement<{ userId: string }>(
  'lock-owner',
  'select id from users where id = :userId::uuid for no key update',
)

/**
 * What a project has been set up with so far. Each part stops at the first row that it finds. Mail counts as sent by its
 * event, which has an index.
 */
export const setupFacts = analyticStatement<
  { projectId: string; keepsMail: boolean },
  {
    hasVerifiedDomain: boolean
    hasSentEmail: boolean
    hasEnabledWorkflow: boolean
    lastCampaignSentAt: Date | null
  }
>(
  `select
     exists (select from domains where project_id = :projectId::uuid and status = 'VERIFIED'
       and (not mailbox_only or :keepsMail::boolean)) as "hasVerifiedDomain",
     exists (select from events where project_id = :projectId::uuid and name = 'email.sent') as "hasSentEmail",
     exists (select from workflows where project_id = :projectId::uuid and enabled and not deleted)
       as "hasEnabledWorkflow",
     (select max(sent_at) from campaigns where project_id = :projectId::uuid and not deleted)
       as "lastCampaignSentAt"`,
)
