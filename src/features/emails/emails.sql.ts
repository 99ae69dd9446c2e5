import { statement } from '../../db/sql.ts'
import type { MessageType, Tracking } from '../../generated/prisma/enums.ts'
import type { JsonObject } from '../../lib/json.ts'
import { listsOfContacts } from '../../paging/lists-of-contacts.sql.ts'

/** The ids of the mail of contacts. */
export const contactEmails = listsOfContacts<{ id: string }>('emails', 'r.id', (text) =>
  statement('email-counts-of-contacts', text),
)

/** Which of the messages are being handed over. Key: deliveries_pkey. */
export const emailsUnderWay = statement<{ projectId: string; ids: string[] }, { id: string }>(
  'emails-under-way',
  `select email_id as id from deliveries
   where project_id = :projectId::uuid and email_id = any(:ids::uuid[]) and taken_by is not null`,
)

/** Messages of campaigns `e` that were sent and are kept; `c` is the campaign. */
const KEPT_CAMPAIGN_MAIL = `emails e join campaigns c on c.project_id = e.project_id and c.id = e.campaign_id
     and not c.deleted
   where e.project_id = :projectId::uuid and e.id = any(:ids::uuid[]) and e.id >= :firstKept::uuid
     and e.sent_at is not null`

/** How many bytes the bodies of the messages have; those of campaigns about. Keys: the primary ones. */
export const bodySizes = statement<
  { projectId: string; ids: string[]; firstKept: string },
  { bytes: number }
>(
  'email-body-sizes',
  `select octet_length(html) as bytes from email_contents
   where project_id = :projectId::uuid and email_id = any(:ids::uuid[])
   union all
   select octet_length(c.body) from ${KEPT_CAMPAIGN_MAIL}`,
)

export type CampaignMail = {
  id: string
  campaignId: string
  contactId: string
  toEmail: string
  subscribed: boolean
  variables: JsonObject | null
}

/** What messages of campaigns were rendered with. `firstKept` is the first id whose content is kept. Keys: the primary ones. */
export const campaignMail = statement<{ projectId: string; ids: string[]; firstKept: string }, CampaignMail>(
  'campaign-mail',
  `select e.id, e.campaign_id as "campaignId", e.contact_id as "contactId", e.to_email as "toEmail",
     (select subscribed from contacts where project_id = e.project_id and id = e.contact_id) as subscribed,
     e.variables
   from ${KEPT_CAMPAIGN_MAIL}`,
)

/** What campaigns say. Key: campaigns_pkey. */
export const readCampaignSources = statement<
  { projectId: string; ids: string[] },
  {
    id: string
    subject: string
    body: string
    type: MessageType
    from: string
    fromName: string | null
    /** Of the project. */
    language: string
    tracking: Tracking
  }
>(
  'campaign-sources',
  `select c.id, c.subject, c.body, c.type, c."from", c.from_name as "fromName", p.language, p.tracking
   from campaigns c join projects p on p.id = c.project_id
   where c.project_id = :projectId::uuid and c.id = any(:ids::uuid[]) and not c.deleted`,
)

/** The bodies of the messages. Key: email_contents_pkey. */
export const emailBodies = statement<{ projectId: string; ids: string[] }, { id: string; html: string }>(
  'email-bodies',
  `select email_id as id, html from email_contents where project_id = :projectId::uuid
     and email_id = any(:ids::uuid[])`,
)
