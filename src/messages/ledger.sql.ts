/*
 * The one place that counts what becomes of the recipients of campaigns: parts of the statements that move rows of the
 * ledger. A campaign's own row is not touched, so that nobody who writes waits for another; the tallies are added up when
 * they are read, and folded into the campaign later.
 */

const STATES = ['PENDING', 'SENDING', 'SENT', 'FAILED', 'SUPPRESSED', 'SKIPPED', 'CANCELLED'] as const

const change = (state: string): string =>
  `(count(*) filter (where m.status = '${state}') - count(*) filter (where m.was = '${state}'))::int`

/**
 * The CTE `tally`, for a select (project_id, campaign_id, variant, was, status) of rows of the ledger that were moved;
 * `was` is null for those that are new, `status` for those that count for another variant from here on. `status` and `was` are of the type recipient_status.
 */
export const tallyCte = (moved: string): string => `
  tally as (
    insert into campaign_tallies (project_id, campaign_id, id, variant, ${STATES.join(', ').toLowerCase()})
    select m.project_id, m.campaign_id, gen_random_uuid(), m.variant, ${STATES.map(change).join(', ')}
    from (${moved}) m group by m.project_id, m.campaign_id, m.variant
  )`

/**
 * The CTEs `tally` and others before it: contacts `:ids` of the project are deleted. They stay in the ledgers of campaigns
 * without their messages; PENDING and SENDING become SKIPPED. Index: campaign_recipients_project_id_contact_id_idx.
 */
export const DELETED_RECIPIENTS = `
  listed as (
    select project_id, campaign_id, contact_id, status from campaign_recipients
    where project_id = :projectId::uuid and contact_id = any(:ids::uuid[]) order by campaign_id, contact_id for update
  ),
  nameless as (
    update campaign_recipients r set email_id = null,
      status = case when listed.status in ('PENDING', 'SENDING') then 'SKIPPED' else listed.status end
    from listed
    where r.project_id = listed.project_id and r.campaign_id = listed.campaign_id and r.contact_id = listed.contact_id
    returning r.project_id, r.campaign_id, r.variant, listed.status as was, r.status
  ),
  ${tallyCte('select * from nameless where was <> status')}`

/** What the tallies count. The columns of a campaign and of its variants are called the same, with `_count` behind. */
export const COUNTED = [
  'pending',
  'sending',
  'sent',
  'failed',
  'suppressed',
  'skipped',
  'cancelled',
  'delivered',
  'opened',
  'clicked',
  'bounced',
  'complained',
  'unsubscribed',
] as const

/** The counters of a row, of a campaign or a variant, with what the sums `t` of tallies add to them. */
export const countersOf = (row: string): string =>
  COUNTED.map((name) => `(${row}.${name}_count + coalesce(t.${name}, 0))::int as "${name}Count"`).join(', ')

/** Adds the sums `summed` to the counters of a row. */
export const addToCounters = (row: string): string =>
  COUNTED.map((name) => `${name}_count = ${row}.${name}_count + summed.${name}`).join(', ')

/** The sums of tallies, each by its name. */
export const SUMS = COUNTED.map((name) => `sum(${name})::int as ${name}`).join(', ')
