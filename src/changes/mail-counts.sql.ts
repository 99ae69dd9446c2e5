import { mailboxProviderSql } from './mailbox-providers.ts'

/*
 * What becomes of mail is counted in the statement that records its events, so that the counts agree with them. Nobody
 * waits for a row of the counts: each statement adds tallies, which are folded into the counts later.
 */

/** Events `e` of messages that are not tests; `first` is true of a person's first open or click of a message. */
const IS = {
  first: `coalesce((e.data ->> 'isFirst')::boolean, false)`,
  bot: `coalesce((e.data ->> 'bot')::boolean, false)`,
  soft: `lower(e.data ->> 'bounceType') is not distinct from 'transient'`,
}

/** What is counted, by its column: which of the events `e` count. */
const COUNTED = {
  sent: `e.name = 'email.sent'`,
  delivered: `e.name = 'email.delivery'`,
  bounced: `e.name = 'email.bounce' and not ${IS.soft}`,
  soft_bounced: `e.name = 'email.bounce' and ${IS.soft}`,
  complained: `e.name = 'email.complaint'`,
  failed: `e.name = 'email.failed'`,
  suppressed: `e.name = 'email.suppressed'`,
  received: `e.name = 'email.received'`,
  opened: `e.name = 'email.open' and ${IS.first}`,
  clicked: `e.name = 'email.click' and ${IS.first}`,
  opens: `e.name = 'email.open' and not ${IS.bot}`,
  clicks: `e.name = 'email.click' and not ${IS.bot}`,
  bot_opens: `e.name = 'email.open' and ${IS.bot}`,
  bot_clicks: `e.name = 'email.click' and ${IS.bot}`,
} as const

/** Columns of `mail_counts` and `mail_tallies`. */
export const MAIL_COUNTS = Object.keys(COUNTED)

/** The CTEs `mail_tally` and `link_tally`: they count the rows of `event`, all of whose columns are there. */
export const MAIL_COUNT_CTES = `
  of_mail as (
    select e.*, date_bin('15 minutes', e.created_at, timestamptz '2000-01-01 00:00Z') as quarter,
      ${mailboxProviderSql('m.to_email')} as provider
    from event e left join emails m on m.project_id = e.project_id and m.id = e.email_id
    where e.name like 'email.%' and e.data ->> 'sourceType' is distinct from 'TEST'
  ),
  mail_tally as (
    insert into mail_tallies (project_id, id, quarter, provider, ${MAIL_COUNTS.join(', ')})
    select e.project_id, gen_random_uuid(), e.quarter, e.provider,
      ${Object.values(COUNTED)
        .map((counts) => `count(*) filter (where ${counts})`)
        .join(', ')}
    from of_mail e group by e.project_id, e.quarter, e.provider
  ),
  link_tally as (
    insert into campaign_links as l (project_id, campaign_id, link_id, link, clicks, bot_clicks)
    select e.project_id, c.id, md5(e.data ->> 'link')::uuid, e.data ->> 'link',
      count(*) filter (where ${COUNTED.clicks}), count(*) filter (where ${COUNTED.bot_clicks})
    from of_mail e
    join campaigns c on c.project_id = e.project_id and c.id = (e.data ->> 'campaignId')::uuid
    where e.name = 'email.click' and e.data ->> 'link' is not null
    group by 1, 2, 3, 4 order by 1, 2, 3
    on conflict (project_id, campaign_id, link_id) do update
      set clicks = l.clicks + excluded.clicks, bot_clicks = l.bot_clicks + excluded.bot_clicks
  )`
