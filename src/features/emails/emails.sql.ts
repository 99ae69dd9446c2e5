import { statement } from '../../db/sql.ts'

/**
 * Pages of the mail of contacts, the newest first: for each of the contacts those below the id `before`, at most as
 * many as its size; `page` says which, from 0. Index: emails_project_id_contact_id_id_idx.
 */
export const emailIdsOfContacts = statement<
  { projectId: string; contactIds: string[]; before: string[]; sizes: number[] },
  { page: number; id: string }
>(
  'email-ids-of-contacts',
  `select (asked.page - 1)::int as page, found.id from
     unnest(:contactIds::uuid[], :before::uuid[], :sizes::int[]) with ordinality
       as asked (contact_id, before, size, page)
   cross join lateral (
     select e.id from emails e
     where e.project_id = :projectId::uuid and e.contact_id = asked.contact_id and e.id < asked.before
     order by e.id desc limit asked.size) found
   order by asked.page, found.id desc`,
)

/** How many messages each of the contacts has, if any. */
export const emailCounts = statement<
  { projectId: string; contactIds: string[] },
  { contactId: string; count: number }
>(
  'email-counts-of-contacts',
  `select contact_id as "contactId", count(*)::int as count from emails
   where project_id = :projectId::uuid and contact_id = any(:contactIds::uuid[]) group by contact_id`,
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
