import { query } from '../../support/query.ts'

const STATES = ['pending', 'sending', 'sent', 'failed', 'suppressed', 'skipped', 'cancelled'] as const
const HITS = [
  ['opened', 'email.open'],
  ['clicked', 'email.click'],
] as const

type Counts = Record<string, number>

const told = (name: string) =>
  `c.${name}_count + coalesce((select sum(t.${name}) from campaign_tallies t
     where t.project_id = c.project_id and t.campaign_id = c.id), 0)::int as "told_${name}"`

/** Everything at one moment: the counters with what is not folded in yet, and what they count. */
const RECOUNT = `select ${[...STATES, 'opened', 'clicked', 'unsubscribed'].map(told).join(', ')},
  ${STATES.map(
    (
      state,
    ) => `(select count(*) from campaign_recipients r where r.project_id = c.project_id and r.campaign_id = c.id
      and r.status = '${state.toUpperCase()}')::int as "found_${state}"`,
  ).join(', ')},
  ${HITS.map(
    ([
      name,
      event,
    ]) => `(select count(distinct e.email_id) from events e join emails m on m.project_id = e.project_id
      and m.id = e.email_id and m.campaign_id = c.id where e.project_id = c.project_id and e.name = '${event}'
      and not e.data ? 'bot')::int as "found_${name}"`,
  ).join(', ')},
  (select count(distinct e.contact_id) from events e where e.project_id = c.project_id
    and e.name = 'contact.unsubscribed' and e.data ->> 'campaignId' = c.id::text)::int as "found_unsubscribed"
  from campaigns c where c.id = $1`

/** The counters of a campaign, and the ledger and the events counted again, at one moment. */
export async function recount(
  databaseUrl: string,
  campaignId: string,
): Promise<{ told: Counts; found: Counts }> {
  const [row = {}] = await query<Counts>(databaseUrl, RECOUNT, [campaignId])
  const part = (prefix: string) =>
    Object.fromEntries(
      Object.entries(row).flatMap(([key, count]) =>
        key.startsWith(prefix) ? [[key.slice(prefix.length), count]] : [],
      ),
    )
  return { told: part('told_'), found: part('found_') }
}
