import { eventCtes, heard, NEW_ID } from '../../changes/changes.sql.ts'
import { type None, shortStatement, statement } from '../../db/sql.ts'
import type { Consumer } from '../../generated/prisma/enums.ts'
import { raisedStatus } from '../../messages/email-status.sql.ts'
import { lifecycleData } from '../../messages/lifecycle-data.sql.ts'
import type { HitRow, MailRow } from './fold.rules.ts'

/**
 * Notes opens and clicks, and returns the ids of those that it has noted: none of a message of which `most` wait to be
 * counted. The arrays have an element a hit. Key: tracking_hits_pkey.
 */
export const insertHits = shortStatement<
  {
    projectIds: string[]
    emailIds: string[]
    ids: string[]
    links: (string | null)[]
    linkCounts: number[]
    machines: boolean[]
    most: number
  },
  { id: string }
>(
  'insert-tracking-hits',
  `insert into tracking_hits (project_id, email_id, id, link, links, machine)
   select project_id, email_id, id, link, links, machine
   from (
     select *, row_number() over (partition by project_id, email_id order by id) as place
     from unnest(:projectIds::uuid[], :emailIds::uuid[], :ids::uuid[], :links::text[], :linkCounts::smallint[],
       :machines::boolean[]) as asked (project_id, email_id, id, link, links, machine)) hit
   where place + (select count(*) from (select from tracking_hits waiting
     where waiting.project_id = hit.project_id and waiting.email_id = hit.email_id limit :most::int) few) <= :most::int
   returning id`,
)

/** Projects with opens and clicks to count. A loose scan of tracking_hits_pkey. */
export const projectsWithHits = statement<None, { projectId: string }>(
  'projects-with-tracking-hits',
  `with recursive project as (
     (select project_id from tracking_hits order by project_id limit 1)
     union all
     select (select h.project_id from tracking_hits h where h.project_id > project.project_id
       order by h.project_id limit 1)
     from project where project.project_id is not null
   )
   select project_id as "projectId" from project where project_id is not null`,
)

/** Until the commit nobody else counts the project's opens and clicks. False: somebody does. */
export const lockFolding = statement<{ projectId: string }, { locked: boolean }>(
  'lock-tracking-fold',
  `select pg_try_advisory_xact_lock(hashtextextended('tracking.fold ' || :projectId::text, 0)) as locked`,
)

/** Opens and clicks with ids below `before`, those of a message together, in the order of time. */
export const firstHits = statement<{ projectId: string; before: string; limit: number }, HitRow>(
  'first-tracking-hits',
  `select email_id as "emailId", id, link, links, machine from tracking_hits
   where project_id = :projectId::uuid and id < :before::uuid
   order by email_id, id limit :limit::int`,
)

/**
 * The messages of hits, as far as there are any, locked with their contacts. A join finds the partition of each id, which a
 * comparison with all of them does not. Key: emails_pkey.
 */
export const lockMail = statement<{ projectId: string; ids: string[] }, MailRow>(
  'lock-tracked-mail',
  `select e.id, e.sent_at as "sentAt", e.opens, e.clicks, e.hits
   from unnest(:ids::uuid[]) as asked (id)
   join emails e on e.project_id = :projectId::uuid and e.id = asked.id
   join contacts c on c.project_id = e.project_id and c.id = e.contact_id
   order by e.id for no key update of e for key share of c`,
)

/** The arrays have an element a message, an event, or a hit. */
type Fold = {
  projectId: string
  now: Date
  mailIds: string[]
  /** What is to be added to the counts. */
  opens: number[]
  clicks: number[]
  hits: number[]
  /** Of the first ones of them; null: there is none. */
  openedAt: (Date | null)[]
  clickedAt: (Date | null)[]
  eventIds: string[]
  eventMailIds: string[]
  eventNames: string[]
  eventData: string[]
  eventTimes: Date[]
  hitMailIds: string[]
  hitIds: string[]
}

/** Adds the messages of campaigns that were opened, or a link of which was followed, for the first time. */
const CAMPAIGN_CTE = `
  campaign as (
    insert into campaign_tallies (project_id, campaign_id, id, variant, opened, clicked)
    select project_id, campaign_id, ${NEW_ID}, variant, count(*) filter (where first_opened),
      count(*) filter (where first_clicked)
    from mail where campaign_id is not null and (first_opened or first_clicked)
    group by project_id, campaign_id, variant
  )`

/**
 * Counts opens and clicks of messages, which are locked, records their events, and takes the hits away. What a message
 * has come to is never taken back: one that bounced stays so.
 */
export const foldHits = statement<Fold, { heard: Consumer[] }>(
  'fold-tracking-hits',
  `with counted as (
     select * from unnest(:mailIds::uuid[], :opens::int[], :clicks::int[], :hits::int[], :openedAt::timestamptz[],
       :clickedAt::timestamptz[]) as n (id, opens, clicks, hits, opened_at, clicked_at)
   ),
   mail as (
     update emails e set
       opens = e.opens + n.opens, clicks = e.clicks + n.clicks, hits = e.hits + n.hits,
       opened_at = coalesce(e.opened_at, n.opened_at), clicked_at = coalesce(e.clicked_at, n.clicked_at),
       status = case when n.clicks > 0 then ${raisedStatus('e.status', `'CLICKED'::email_status`)}
         when n.opens > 0 then ${raisedStatus('e.status', `'OPENED'::email_status`)} else e.status end,
       updated_at = :now::timestamptz
     from counted n where e.project_id = :projectId::uuid and e.id = n.id
     returning e.project_id, e.id, e.contact_id, e.campaign_id, e.variant, e.opens > 0 and e.opens = n.opens as first_opened,
       e.clicks > 0 and e.clicks = n.clicks as first_clicked,
       ${lifecycleData('e')} as data
   ),
   ${CAMPAIGN_CTE},
   removed as (
     delete from tracking_hits h using unnest(:hitMailIds::uuid[], :hitIds::uuid[]) as done (email_id, id)
     where h.project_id = :projectId::uuid and h.email_id = done.email_id and h.id = done.id
   ),
   happened as (
     select * from unnest(:eventIds::uuid[], :eventMailIds::uuid[], :eventNames::text[], :eventData::jsonb[],
       :eventTimes::timestamptz[]) as h (id, mail_id, name, data, at)
   ),
   ${eventCtes(`select mail.project_id, h.id, mail.contact_id, h.name, mail.id, mail.data || h.data, h.at
     from happened h join mail on mail.id = h.mail_id`)}
   select ${heard('heard_event')} as heard`,
)
