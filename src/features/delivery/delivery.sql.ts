import { DATABASE_NOW } from '../../db/database-clock.ts'
import { statement } from '../../db/sql.ts'
import type { CampaignStatus, DomainStatus, MessageType } from '../../generated/prisma/enums.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { MailAttachment, MailHeader } from '../../mail/mailer.ts'
import type { Priority } from '../../queue/priorities.ts'
import { limitOfToday, scheduleText } from './pacing/warm-up.sql.ts'

/** A project that has mail due, with the most urgent priority of it. */
export type ProjectWithDueMail = { projectId: string; priority: Priority }

/**
 * Projects that have mail to deliver now. A loose scan: some probes of deliveries_due per project, however much
 * mail waits. Disabled projects keep their mail.
 */
export const projectsWithDueMail = statement<{ clockShift: number }, ProjectWithDueMail>(
  'projects-with-due-mail',
  `with recursive waiting as (
     (select project_id from deliveries where taken_by is null order by project_id limit 1)
     union all
     select (select d.project_id from deliveries d
             where d.taken_by is null and d.project_id > waiting.project_id
             order by d.project_id limit 1)
     from waiting where waiting.project_id is not null
   )
   select p.id as "projectId", due.priority
   from waiting join projects p on p.id = waiting.project_id and not p.disabled
   cross join lateral (
     select v.priority from (values (0), (1), (2)) as v (priority)
     where exists (select from deliveries d where d.project_id = p.id and d.taken_by is null
       and d.priority = v.priority and d.due_at <= ${DATABASE_NOW})
     order by v.priority limit 1) due`,
)

/** A message that was taken; without an email id, a project of which none was taken. */
export type TakenRow = {
  jobId: string
  /** How many messages the turn could have. */
  room: number
  /** Milliseconds until the project may send again; null when its limit was not the reason for `room`. */
  throttledMs: number | null
  projectId: string
  emailId: string | null
  priority: Priority
  size: number
  attempts: number
  dueAt: Date
  /** Milliseconds for which it has been due. */
  lateMs: number
}

/**
 * Takes mail that is due for some turns, by priority and then by time: at most as much as each turn asks for and as
 * the limit of its project leaves in this second, which is charged for what is taken. Messages that another worker is
 * taking are left to it.
 *
 * `defaultRate` is the limit per second of projects that have none of their own. Each array has one element per turn;
 * `since0` to `since2` say from when on to look at priorities 0, 1 and 2: before that time there are only deleted
 * rows in the index, which take time to pass over. Indexes: deliveries_due, limit_windows_pkey (locked in the order
 * of projects).
 */
export const takeDueMail = statement<
  {
    clockShift: number
    defaultRate: number
    projectIds: string[]
    jobIds: string[]
    attempts: number[]
    wanted: number[]
    lowest: number[]
    since0: Date[]
    since1: Date[]
    since2: Date[]
  },
  TakenRow
>(
  'take-due-mail',
  `with clock as (select ${DATABASE_NOW} as time),
   second as (select date_trunc('second', time) as start from clock),
   asked as (
     select a.*, coalesce(p.send_rate_per_second, :defaultRate::int) as rate
     from unnest(:projectIds::uuid[], :jobIds::uuid[], :attempts::int[], :wanted::int[], :lowest::int[],
       :since0::timestamptz[], :since1::timestamptz[], :since2::timestamptz[])
       as a (project_id, job_id, attempt, wanted, lowest, since0, since1, since2)
     join projects p on p.id = a.project_id and not p.disabled
   ),
   spent as materialized (
     select w.project_id, case when w.window_start = (select start from second) then w.used else 0 end as used
     from limit_windows w
     where w.kind = 'SENDS' and w.project_id = any(array(select project_id from asked where rate > 0))
     order by w.project_id for update
   ),
   turn as materialized (
     select asked.*, case when rate = 0 then wanted
         else least(wanted, greatest(0, rate - coalesce(spent.used, 0))) end as room
     from asked left join spent using (project_id)
   ),
   due as materialized (
     select turn.project_id, turn.job_id, turn.attempt, turn.rate, next.email_id from turn
     cross join lateral (
       select found.* from (values (0, since0), (1, since1), (2, since2)) as v (priority, since)
       cross join lateral (
         select d.email_id, d.priority, d.due_at from deliveries d
         where d.project_id = turn.project_id and d.taken_by is null and d.priority = v.priority
           and d.due_at >= v.since and d.due_at <= (select time from clock)
         order by d.due_at, d.email_id limit turn.room for update skip locked) found
       where v.priority <= turn.lowest
       order by found.priority, found.due_at, found.email_id limit turn.room) next
   ),
   taken as (
     update deliveries d set taken_by = due.job_id, taken_attempt = due.attempt, attempts = d.attempts + 1
     from due where d.project_id = due.project_id and d.email_id = due.email_id
     returning due.job_id, d.project_id, d.email_id, d.priority, d.size, d.attempts, d.due_at
   ),
   charged as (
     insert into limit_windows as w (project_id, kind, window_start, used)
     select project_id, 'SENDS', (select start from second), count(*)::int from due
     where rate > 0 group by project_id order by project_id
     on conflict (project_id, kind) do update set window_start = excluded.window_start,
       used = case when w.window_start = excluded.window_start then w.used + excluded.used else excluded.used end
   )
   select turn.job_id as "jobId", turn.room,
     case when turn.room < turn.wanted
       then ceil(1000 * extract(epoch from second.start + interval '1 second' - clock.time))::int end as "throttledMs",
     turn.project_id as "projectId", taken.email_id as "emailId", taken.priority, taken.size, taken.attempts,
     taken.due_at as "dueAt", (1000 * extract(epoch from clock.time - taken.due_at))::float8 as "lateMs"
   from clock, second, turn left join taken using (project_id, job_id)
   order by taken.priority, taken.due_at, taken.email_id`,
)

export type DueEmail = {
  projectId: string
  id: string
  toEmail: string
  toName: string | null
  from: string
  fromName: string | null
  replyTo: string | null
  subject: string
  type: MessageType
  messageId: string
  createdAt: Date
  subscribed: boolean
  suppressed: boolean
  templateId: string | null
  campaignId: string | null
  /** Of its campaign; null when it has none. */
  variant: number | null
  sourceType: string
  attachmentSetId: string | null
  html: string | null
  /** The plain-text part; null when it is made from the HTML. */
  text: string | null
  headers: MailHeader[] | null
  dkimSelector: string | null
  dkimPrivateKey: Buffer | null
  dkimDomain: string | null
  /** Of the sender's domain; null when the project no longer has it. */
  domainStatus: DomainStatus | null
  /** That status counts only where mail stays in the mailbox. */
  domainMailboxOnly: boolean | null
  /** The warm-up of that domain, to tell when it was changed; null when today is no day of one. */
  warmUp: string | null
  contactId: string
  /** Of the contact, for messages that are rendered at the hand-over; null for others. */
  data: JsonObject | null
  /** Of its campaign; null when it has none, or no more. */
  campaignStatus: CampaignStatus | null
  campaignPaused: boolean | null
}

/**
 * Reads all that is needed to hand over messages, as it is at this moment. Messages that have been deleted meanwhile
 * have no row. Keys: the primary ones, domains_project_id_domain_key.
 *
 * `offset 0` keeps the planner from joining in another order, such as all contacts of the project with all its mail: it may have
 * chosen its plan when these were few.
 */
export const readDueMail = statement<{ clockShift: number; projectIds: string[]; ids: string[] }, DueEmail>(
  'read-due-mail',
  `select e.project_id as "projectId", e.id, e.to_email as "toEmail", e.to_name as "toName", e."from",
     e.from_name as "fromName", e.reply_to as "replyTo", e.subject, e.type, e.message_id as "messageId",
     e.created_at as "createdAt", c.subscribed, s.email is not null as suppressed,
     e.template_id as "templateId", e.campaign_id as "campaignId", e.variant, e.source_type as "sourceType",
     e.attachment_set_id as "attachmentSetId", content.html, content.text, content.headers,
     d.dkim_selector as "dkimSelector", d.dkim_private_key as "dkimPrivateKey", d.domain as "dkimDomain",
     d.status as "domainStatus", d.mailbox_only as "domainMailboxOnly",
     case when ${limitOfToday('d')} is not null then ${scheduleText('d')} end as "warmUp", e.contact_id as "contactId",
     case when e.campaign_id is not null then c.data end as data,
     campaign.status as "campaignStatus", campaign.paused as "campaignPaused"
   from unnest(:projectIds::uuid[], :ids::uuid[]) as asked (project_id, id)
   cross join lateral (
     select * from emails e where e.project_id = asked.project_id and e.id = asked.id offset 0) e
   cross join lateral (
     select * from contacts c where c.project_id = e.project_id and c.id = e.contact_id offset 0) c
   left join lateral (
     select * from email_contents t where t.project_id = e.project_id and t.email_id = e.id offset 0) content on true
   left join lateral (
     select * from campaigns m where m.project_id = e.project_id and m.id = e.campaign_id and not m.deleted offset 0
   ) campaign on true
   left join lateral (
     select email from suppressions s where s.project_id = e.project_id and s.email = e.to_email offset 0) s on true
   left join lateral (
     select * from domains d where d.project_id = e.project_id and d.domain = substring(e."from" from '[^@]*$') offset 0
   ) d on true`,
)

export const attachmentsOfSet = statement<
  { projectId: string; setId: string },
  {
    filename: string
    contentType: string
    disposition: MailAttachment['disposition']
    contentId: string | null
    content: Buffer
  }
>(
  'attachments-of-set',
  `select filename, content_type as "contentType", disposition, content_id as "contentId", content
   from email_attachments where project_id = :projectId::uuid and set_id = :setId::uuid order by position`,
)

/**
 * Gives back mail whose worker has died: its job is no longer active, or another worker has that by now. It is due at
 * once; receivers may get it twice, with the same Message-ID. Without `projectId` in all projects. Index:
 * deliveries_taken.
 */
export const releaseAbandoned = statement<
  { clockShift: number; projectId: string | null; queue: string; now: Date; error: string },
  { projectId: string; id: string }
>(
  'release-abandoned-mail',
  `with abandoned as (
     select d.project_id, d.email_id from deliveries d
     join emails e on e.project_id = d.project_id and e.id = d.email_id
     where d.taken_by is not null and (:projectId::uuid is null or d.project_id = :projectId::uuid)
       and not exists (
       select from pgboss.job j where j.name = :queue and j.id = d.taken_by and j.state = 'active'
         and j.retry_count = d.taken_attempt)
     for update of d, e skip locked
   ),
   released as (
     update deliveries d set uncertain = true, taken_by = null, taken_attempt = null, due_at = ${DATABASE_NOW}
     from abandoned a where d.project_id = a.project_id and d.email_id = a.email_id
     returning d.project_id, d.email_id, d.attempts
   )
   update emails e set error = :error, attempts = r.attempts, updated_at = :now::timestamptz
   from released r where e.project_id = r.project_id and e.id = r.email_id
   returning e.project_id as "projectId", e.id`,
)
