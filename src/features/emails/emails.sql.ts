import { type Statement, statement } from '../../db/sql.ts'

/**
 * Pages of the mail of contacts of project $1, the newest first: for each of the contacts $2 those below the id
 * $3, at most $4; `page` says which, from 0. Index: emails_project_id_contact_id_id_idx.
 */
export const emailIdsOfContacts: Statement<{ page: number; id: string }> = statement(
  'email-ids-of-contacts',
  `select (asked.page - 1)::int as page, found.id from
     unnest($2::uuid[], $3::uuid[], $4::int[]) with ordinality as asked (contact_id, before, size, page)
   cross join lateral (
     select e.id from emails e
     where e.project_id = $1::uuid and e.contact_id = asked.contact_id and e.id < asked.before
     order by e.id desc limit asked.size) found
   order by asked.page, found.id desc`,
)

/** How many messages each of the contacts $2 of project $1 has, if any. */
export const emailCounts: Statement<{ contactId: string; count: number }> = statement(
  'email-counts-of-contacts',
  `select contact_id as "contactId", count(*)::int as count from emails
   where project_id = $1::uuid and contact_id = any($2::uuid[]) group by contact_id`,
)

/** Which of the messages $2 of project $1 are being handed over. Key: deliveries_pkey. */
export const emailsUnderWay: Statement<{ id: string }> = statement(
  'emails-under-way',
  `select email_id as id from deliveries
   where project_id = $1::uuid and email_id = any($2::uuid[]) and taken_by is not null`,
)

/** How many bytes the bodies of the messages $2 of project $1 have. Key: email_contents_pkey. */
export const bodySizes: Statement<{ bytes: number }> = statement(
  'email-body-sizes',
  `select octet_length(html) as bytes from email_contents
   where project_id = $1::uuid and email_id = any($2::uuid[])`,
)

/** The bodies of the messages $2 of project $1. Key: email_contents_pkey. */
export const emailBodies: Statement<{ id: string; html: string }> = statement(
  'email-bodies',
  `select email_id as id, html from email_contents where project_id = $1::uuid and email_id = any($2::uuid[])`,
)
