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
  `select greatest(octet_length(html), octet_length(text)) as bytes from email_contents
   where project_id = :projectId::uuid and email_id = any(:ids::uuid[])
   union all
   select octet_length(coalesce((select v.body from campaign_variants v where v.project_id = e.project_id
     and v.campaign_id = e.campaign_id and v.number = e.variant), c.body)) from ${KEPT_CAMPAIGN_MAIL}`,
)

export type CampaignMail = {
  id: string
  campaignId: string
  variant: number | null
  contactId: string
  toEmail: string
  subscribed: boolean
  variables: JsonObject | null
}

/** What messages of campaigns were rendered with. `firstKept` is the first id whose content is kept. Keys: the primary ones. */
export const campaignMail = statement<{ projectId: string; ids: string[]; firstKept: string }, CampaignMail>(
  'campaign-mail',
  `select e.id, e.campaign_id as "campaignId", e.variant, e.contact_id as "contactId", e.to_email as "toEmail",
     (select subscribed from contacts where project_id = e.project_id and id = e.contact_id) as subscribed,
     e.variables
   from ${KEPT_CAMPAIGN_MAIL}`,
)

/** What campaigns say, each in one of its variants; null: the campaign itself. Keys: the primary ones. */
export const readCampaignSources = statement<
  { projectId: string; ids: string[]; variants: (number | null)[] },
  {
    id: string
    variant: number | null
    subject: string
    body: string
    type: MessageType
    from: string
    fromName: string | null
    /** Of the project. */
    language: string
    footerText: string | null
    tracking: Tracking
  }
>(
  'campaign-sources',
  `select c.id, asked.variant, coalesce(v.subject, c.subject) as subject, coalesce(v.body, c.body) as body, c.type,
     c."from", c.from_name as "fromName", p.language, p.footer_text as "footerText", p.tracking
   from unnest(:ids::uuid[], :variants::int[]) as asked (id, variant)
   join campaigns c on c.project_id = :projectId::uuid and c.id = asked.id and not c.deleted
   join projects p on p.id = c.project_id
   left join campaign_variants v on v.project_id = c.project_id and v.campaign_id = c.id and v.number = asked.variant`,
)

export type EmailFile = { filename: string; contentType: string; size: number }

/** The files of the messages, without their contents. Keys: the primary ones. */
export const emailFiles = statement<{ projectId: string; ids: string[] }, { id: string; files: EmailFile[] }>(
  'email-files',
  `select e.id, coalesce(c.files, (
     select jsonb_agg(jsonb_build_object('filename', a.filename, 'contentType', a.content_type,
       'size', octet_length(a.content)) order by a.position)
     from email_attachments a where a.project_id = e.project_id and a.set_id = e.attachment_set_id
       and a.disposition <> 'entity'), '[]') as files
   from emails e left join email_contents c on c.project_id = e.project_id and c.email_id = e.id
   where e.project_id = :projectId::uuid and e.id = any(:ids::uuid[])`,
)

/** The bodies of the messages. Key: email_contents_pkey. */
export const emailBodies = statement<{ projectId: string; ids: string[] }, { id: string; html: string }>(
  'email-bodies',
  `select email_id as id, case when html = '' then coalesce(text, '') else html end as html
   from email_contents where project_id = :projectId::uuid
     and email_id = any(:ids::uuid[])`,
)
