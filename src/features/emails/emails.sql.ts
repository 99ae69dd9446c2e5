import { statement } from '../../db/sql.ts'
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

/** How many bytes the bodies of the messages have. Key: email_contents_pkey. */
export const bodySizes = statement<{ projectId: string; ids: string[] }, { bytes: number }>(
  'email-body-sizes',
  `select octet_length(html) as bytes from email_contents
   where project_id = :projectId::uuid and email_id = any(:ids::uuid[])`,
)

/** The bodies of the messages. Key: email_contents_pkey. */
export const emailBodies = statement<{ projectId: string; ids: string[] }, { id: string; html: string }>(
  'email-bodies',
  `select email_id as id, html from email_contents where project_id = :projectId::uuid
     and email_id = any(:ids::uuid[])`,
)
