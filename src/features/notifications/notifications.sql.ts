import { DATABASE_NOW } from '../../db/database-clock.ts'
import { type None, shortStatement, statement } from '../../db/sql.ts'
import type { ReportedMail, ReportRow } from './outcome.rules.ts'
import type { ReportKind } from './report.rules.ts'

/** Reports of messages that nobody here has sent: above this number the next ones are not kept. */
const MAX_UNMATCHED = 20_000

/** Columns that reports have wherever they are. */
const REPORT = 'id, source, kind, at, email_id, recipient, provider_message_id, reason'

const FULL = `(select count(*) from (select from unmatched_reports limit ${MAX_UNMATCHED}) few) >= ${MAX_UNMATCHED}`

/** The arrays have an element a report; `keys` and `tokens` are those of its notification. */
type Noting = {
  now: Date
  clockShift: number
  sources: string[]
  keys: string[]
  tokens: (string | null)[]
  domains: string[]
  /** Null: the project is the one of the domain. */
  projectIds: (string | null)[]
  ids: string[]
  kinds: ReportKind[]
  at: Date[]
  emailIds: (string | null)[]
  recipients: (string | null)[]
  providerMessageIds: (string | null)[]
  reasons: (string | null)[]
  links: (string | null)[]
  machines: boolean[]
}

/**
 * Notes reports of notifications that are new, and returns their projects. Receipts are written in one order, so that two
 * statements with the same ones wait for each other but not in a circle. Keys: notification_receipts_pkey,
 * domains_domain_key.
 */
export const noteReports = shortStatement<Noting, { projectId: string }>(
  'note-mail-reports',
  `with asked as materialized (
     select * from unnest(:sources::text[], :keys::text[], :tokens::text[], :domains::text[], :projectIds::uuid[], :ids::uuid[],
       :kinds::report_kind[], :at::timestamptz[], :emailIds::uuid[], :recipients::text[],
       :providerMessageIds::text[], :reasons::text[], :links::text[], :machines::boolean[])
       as a (source, key, token, domain, known_project, id, kind, at, email_id, recipient, provider_message_id, reason, link, machine)
   ),
   token as (
     insert into notification_receipts (provider, id, received_at)
     select distinct source || ' token', token, :now::timestamptz from asked where token is not null order by 1, 2
     on conflict do nothing returning id
   ),
   fresh as (
     insert into notification_receipts (provider, id, received_at)
     select distinct source, key, :now::timestamptz from (
       select distinct on (source, coalesce(token, key)) source, key from asked
       where token is null or token in (select id from token)
       order by source, coalesce(token, key), key
     ) once order by 1, 2
     on conflict do nothing returning provider, id
   ),
   new as (
     select distinct on (a.source, a.key, a.email_id, a.recipient, a.kind) a.*, coalesce(a.known_project, d.project_id) as project_id
     from asked a join fresh on fresh.provider = a.source and fresh.id = a.key
     left join domains d on d.domain = a.domain
   ),
   unmatched as (
     insert into unmatched_reports (${REPORT}) select ${REPORT} from new where project_id is null and not ${FULL}
   ),
   noted as (
     insert into mail_reports (project_id, link, machine, due_at, ${REPORT})
     select project_id, link, machine, ${DATABASE_NOW}, ${REPORT} from new where project_id is not null
     returning project_id
   )
   select distinct project_id as "projectId" from noted`,
)

/** Projects with reports to apply. A loose scan of mail_reports_pkey. */
export const projectsWithReports = statement<{ clockShift: number }, { projectId: string }>(
  'projects-with-mail-reports',
  `with recursive project as (
     (select project_id from mail_reports order by project_id limit 1)
     union all
     select (select r.project_id from mail_reports r where r.project_id > project.project_id
       order by r.project_id limit 1)
     from project where project.project_id is not null
   )
   select project_id as "projectId" from project where project_id is not null and exists (
     select from mail_reports r where r.project_id = project.project_id and r.due_at <= ${DATABASE_NOW})`,
)

/** Until the commit nobody else applies reports of the project. False: somebody does. */
export const lockReports = statement<{ projectId: string }, { locked: boolean }>(
  'lock-mail-reports',
  `select pg_try_advisory_xact_lock(hashtextextended('notifications.apply ' || :projectId::text, 0)) as locked`,
)

/**
 * The first reports that are due. A report without the id of its message names the receiver and the id of the provider.
 * Keys: mail_reports_pkey, emails_pkey; indexes: contacts_project_id_email_key, emails_project_id_contact_id_id_idx.
 */
export const firstReports = statement<{ projectId: string; limit: number; clockShift: number }, ReportRow>(
  'first-mail-reports',
  `select r.id, r.kind, r.at, r.reason, r.link, r.machine, mail.id as "mailId",
     coalesce((select d.taken_by is not null from deliveries d
       where d.project_id = r.project_id and d.email_id = mail.id), false) as "isTaken"
   from (
     select * from mail_reports where project_id = :projectId::uuid and due_at <= ${DATABASE_NOW}
     order by id limit :limit::int
   ) r
   left join lateral (
     select coalesce(
       (select e.id from emails e where e.project_id = r.project_id and e.id = r.email_id),
       case when r.provider_message_id is not null then (
         select e.id from contacts c
         join emails e on e.project_id = c.project_id and e.contact_id = c.id
         where c.project_id = r.project_id and c.email = r.recipient and e.provider_message_id = r.provider_message_id
         order by e.id desc limit 1) end) as id
   ) mail on true
   order by r.id`,
)

/**
 * The messages of reports, locked with their contacts, in the order of their ids. Each is looked up by itself, whatever the
 * planner takes the number of a project's rows to be. Keys: emails_pkey, contacts_pkey.
 */
export const lockReported = statement<{ projectId: string; ids: string[] }, ReportedMail>(
  'lock-reported-mail',
  `with asked as materialized (
     select :projectId::uuid as project_id, id from unnest(:ids::uuid[]) as a (id) order by id
   )
   select e.id, e.contact_id as "contactId", e.to_email as "toEmail", e.status, e.type, p.tracking, e.sent_at as "sentAt",
     e.delivered_at as "deliveredAt", e.bounced_at as "bouncedAt", e.soft_bounced_at as "softBouncedAt",
     e.complained_at as "complainedAt", e.rejected_at as "rejectedAt"
   from asked
   cross join lateral (
     select * from emails e where e.project_id = asked.project_id and e.id = asked.id for no key update) e
   cross join lateral (
     select c.id from contacts c where c.project_id = e.project_id and c.id = e.contact_id for key share) c
   join projects p on p.id = e.project_id`,
)

/** Looks at reports again later. */
export const postponeReports = statement<{
  projectId: string
  ids: string[]
  delayMs: number
  clockShift: number
}>(
  'postpone-mail-reports',
  `update mail_reports set due_at = ${DATABASE_NOW} + :delayMs::int * interval '1 millisecond'
   where project_id = :projectId::uuid and id = any(:ids::uuid[])`,
)

/** Takes reports away; those of `unmatched` are kept for whoever runs the service. */
export const removeReports = statement<{ projectId: string; ids: string[]; unmatched: string[] }>(
  'remove-mail-reports',
  `with removed as (
     delete from mail_reports where project_id = :projectId::uuid and id = any(:ids::uuid[])
     returning project_id, ${REPORT}
   )
   insert into unmatched_reports (project_id, ${REPORT}) select project_id, ${REPORT} from removed
   where id = any(:unmatched::uuid[]) and not ${FULL} on conflict do nothing`,
)

export type UnmatchedRow = {
  id: string
  projectId: string | null
  source: string
  kind: ReportKind
  at: Date
  emailId: string | null
  recipient: string | null
  providerMessageId: string | null
  reason: string | null
}

/** The latest reports of messages that nobody here has sent. Key: unmatched_reports_pkey. */
export const latestUnmatched = statement<{ limit: number }, UnmatchedRow>(
  'latest-unmatched-reports',
  `select id, project_id as "projectId", source, kind, at, email_id as "emailId", recipient,
     provider_message_id as "providerMessageId", reason
   from unmatched_reports order by id desc limit :limit::int`,
)

/** How many there are. */
export const countUnmatched = statement<None, { count: number }>(
  'count-unmatched-reports',
  'select count(*)::int as count from unmatched_reports',
)

/** Forgets notifications that came before. Index: notification_receipts_received_at_idx. */
export const forgetReceipts = statement<{ before: Date; limit: number }, { id: string }>(
  'forget-notification-receipts',
  `delete from notification_receipts r using (
     select provider, id from notification_receipts where received_at < :before::timestamptz limit :limit::int
   ) old
   where r.provider = old.provider and r.id = old.id returning r.id`,
)

/** Forgets reports of unknown messages: those from before, and of more than `most` the oldest. Key: unmatched_reports_pkey. */
export const forgetUnmatched = statement<{ firstKept: string; most: number; limit: number }, { id: string }>(
  'forget-unmatched-reports',
  `delete from unmatched_reports u using (
     select id from unmatched_reports
     where id < greatest(:firstKept::uuid, (
       select id from unmatched_reports order by id desc offset :most::int - 1 limit 1))
     order by id limit :limit::int
   ) old
   where u.id = old.id returning u.id`,
)
