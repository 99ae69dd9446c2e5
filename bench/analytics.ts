import { parseArgs } from 'node:util'
import pg from 'pg'
import { type BenchDatabase, startBenchDatabase } from './bench-database.ts'
import { type LoadResult, percentileOf } from './http-load.ts'
import { startServiceProcess } from './processes.ts'

/**
 * How long the feed and the statistics of a large project take, two requests at a time. The kept counts are those of so many
 * messages and events of 90 days; of the events themselves so many rows are there, half of them of the last two days.
 * Loopback only; it takes some minutes. With
 * `--keep folder` the database is made once and used again.
 */
const { values: options } = parseArgs({
  options: {
    emails: { type: 'string', default: '10000000' },
    events: { type: 'string', default: '20000000' },
    rows: { type: 'string', default: '300000' },
    keep: { type: 'string' },
  },
})

const DAYS = 90
const NAMES = 200
const CAMPAIGNS = 500
const BUDGET_MS = 300
const WARM_UP = 5
const REQUESTS = 60
const CONNECTIONS = 2

/** Ids of a time, as the service makes them. */
const idAt = (time: string) =>
  `(lpad(to_hex(floor(extract(epoch from ${time}) * 1000)::bigint), 12, '0') || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid`

const MAIL_NAMES = ['sent', 'delivery', 'open', 'click', 'bounce', 'complaint']

/** Each statement by what it makes. `$1` is the project. */
const FILL: [what: string, text: string, values: unknown[]][] = [
  [
    'contacts',
    `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
     select $1, ${idAt(`now() - n * interval '1 minute'`)}, 'c' || n || '@example.org', true, now(), now()
     from generate_series(1, 20000) n`,
    [],
  ],
  [
    'counts of mail',
    `insert into mail_counts (project_id, quarter, provider, sent, delivered, bounced, complained, opened, clicked, opens, clicks)
     select $1, q, p::mailbox_provider, each, each * 98 / 100, each / 100, each / 1000, each * 40 / 100, each * 5 / 100,
       each * 60 / 100, each * 8 / 100
     from generate_series(date_bin('15 minutes', now(), '2000-01-01Z') - $2 * interval '1 day' + interval '15 minutes',
         now(), '15 minutes') q,
       unnest(array['GMAIL', 'OUTLOOK', 'YAHOO', 'APPLE', 'OTHER']) p,
       (values (($3::float8 / ($2 * 96 * 5))::int)) v (each)`,
    [DAYS, Number(options.emails)],
  ],
  [
    'tallies that are not folded',
    `insert into mail_tallies (project_id, id, quarter, provider, sent)
     select $1, gen_random_uuid(), date_bin('15 minutes', now(), '2000-01-01Z'), 'GMAIL', 0 from generate_series(1, 2000)`,
    [],
  ],
  [
    'names and counts of events',
    `with name as (
       insert into event_names (project_id, name, count)
       select $1, name, $3::bigint / $2 from (select 'event_' || n as name from generate_series(1, $2::int) n
         union all select 'email.' || unnest($4::text[])) all_names returning name)
     insert into event_counts (project_id, name, day, count)
     select $1, name, (now() at time zone 'UTC')::date - n, $3::bigint / $2 / 180
     from name, generate_series(0, 179) n`,
    [NAMES, Number(options.events), MAIL_NAMES],
  ],
  [
    'how far events are counted',
    `insert into event_recounts (project_id, settled_until, counted_at, open_count, due_at)
     values ($1, date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - interval '2 days', now(), 1000000, now() + interval '1 day')
     on conflict (project_id) do update set settled_until = excluded.settled_until, counted_at = excluded.counted_at,
       open_count = excluded.open_count, due_at = excluded.due_at`,
    [],
  ],
  [
    'events',
    `insert into events (project_id, id, contact_id, name, data, created_at)
     select $1, ${idAt('at')}, (array(select id from contacts where project_id = $1))[1 + n % 20000],
       case when n % 2 = 0 then 'email.' || ($3::text[])[1 + (n / 2) % 6] else 'event_' || (1 + (n / 2) % $4::int) end,
       '{"campaignId": null, "sourceType": "CAMPAIGN", "subject": "Spring is here"}', at
     from generate_series(1, $2::int) n,
       lateral (select date_trunc('milliseconds', now() - case when n > $2::int / 2 then 2.0 * n / $2::int - 1 else n * 1.0 / $2::int end
         * case when n > $2::int / 2 then interval '2 days' else interval '90 days' end) as at) t`,
    [Number(options.rows), MAIL_NAMES, NAMES],
  ],
  [
    'campaigns',
    `with campaign as (
       insert into campaigns (project_id, id, name, subject, body, "from", audience_type, status, started_at, sent_at, scheduled_at,
         created_at, updated_at, sent_count, opened_count, clicked_count)
       select $1, ${idAt('at')}, 'Campaign ' || n, 'Spring', repeat('<p>Hello</p>', 200), 'a@bench.example', 'ALL', 'SENT', at, at, at,
         at, at, 20000, (n * 37) % 15000, (n * 11) % 2000
       from generate_series(1, $2::int) n, lateral (select date_trunc('milliseconds', now() - n * interval '4 hours') as at) t
       returning id, created_at)
     insert into campaign_links (project_id, campaign_id, link_id, link, clicks)
     select $1, id, md5(n::text)::uuid, 'https://shop.example/' || n, n % 9000
     from (select id from campaign order by created_at desc limit 1) newest, generate_series(1, 20000) n`,
    [CAMPAIGNS],
  ],
  [
    'executions of a workflow',
    `with workflow as (
       insert into workflows (project_id, id, name, created_at, updated_at)
       values ($1, gen_random_uuid(), 'Onboarding', now(), now()) returning id)
     insert into workflow_executions (project_id, id, workflow_id, contact_id, status, next_at, started_at, completed_at)
     select $1, ${idAt('at')}, workflow.id, c.id, case when row % 5 = 0 then 'WAITING' else 'COMPLETED' end::execution_status,
       case when row % 5 = 0 then now() + row * interval '1 minute' end, at, case when row % 5 <> 0 then at end
     from workflow, (select id, row_number() over () as row from contacts where project_id = $1) c,
       generate_series(1, 3) n,
       lateral (select date_trunc('milliseconds', now() - (row * 3 + n) * interval '2 minutes') as at) t where row % 5 <> 0 or n = 1`,
    [],
  ],
]

async function fill({ superuserUrl, project }: BenchDatabase): Promise<string> {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  try {
    const known = await client.query('select from mail_counts limit 1')
    for (const [what, text, values] of known.rowCount === 0 ? FILL : []) {
      const startedAt = performance.now()
      const { rowCount } = await client.query(text, [project.id, ...values])
      console.log(`${what}: ${rowCount} rows in ${Math.round(performance.now() - startedAt)} ms`)
    }
    await client.query('vacuum analyze')
    const { rows } = await client.query('select campaign_id as id from campaign_links limit 1')
    return rows[0].id
  } finally {
    await client.end()
  }
}

async function time(url: string, key: string, query: string | null): Promise<number> {
  const startedAt = performance.now()
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = query === null ? null : JSON.stringify({ query })
  const answer = await fetch(url, { method: body ? 'POST' : 'GET', headers, body })
  const text = await answer.text()
  if (answer.status !== 200 || text.includes('"errors"')) throw new Error(`${url}: ${text.slice(0, 500)}`)
  return performance.now() - startedAt
}

async function measure(url: string, key: string, query: string | null): Promise<LoadResult> {
  for (let warm = 0; warm < WARM_UP; warm += 1) await time(url, key, query)
  const latencies: number[] = []
  const runners = Array.from({ length: CONNECTIONS }, async () => {
    for (let request = 0; request < REQUESTS / CONNECTIONS; request += 1)
      latencies.push(await time(url, key, query))
  })
  await Promise.all(runners)
  return percentileOf(latencies)
}

/** The cursor behind so many pages of 100. */
async function cursorAfter(url: string, key: string, pages: number): Promise<string> {
  let cursor = ''
  for (let page = 0; page < pages; page += 1) {
    const answer = await fetch(`${url}/activity?limit=100${cursor && `&cursor=${cursor}`}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    cursor = ((await answer.json()) as { cursor: string }).cursor
  }
  return cursor
}

const RANGE = `startDate=${new Date(Date.now() - (DAYS - 1) * 86_400_000).toISOString().slice(0, 10)}`

const database = await startBenchDatabase(options.keep)
try {
  const campaignId = await fill(database)
  const service = await startServiceProcess(await database.env({ ROLES: 'http' }))
  const key = database.project.secret
  try {
    const rows: [name: string, path: string, query: string | null][] = [
      ['GET /activity', '/activity?limit=100', null],
      ['GET /activity, far', `/activity?limit=100&cursor=${await cursorAfter(service.url, key, 30)}`, null],
      ['GET /activity, a rare type', '/activity?limit=100&types=email.complaint,workflow.completed', null],
      ['GET /activity, tracked events', '/activity?limit=100&types=event.triggered', null],
      ['GET /activity/stats', `/activity/stats?${RANGE}`, null],
      ['GET /activity/recent-count', '/activity/recent-count?minutes=1440', null],
      ['GET /activity/types', '/activity/types', null],
      ['GET /activity/upcoming', '/activity/upcoming?limit=100', null],
      ['GET /analytics/timeseries', `/analytics/timeseries?${RANGE}&tz=Asia/Kathmandu`, null],
      ['GET /analytics/top-campaigns', `/analytics/top-campaigns?${RANGE}&metric=openRate&limit=100`, null],
      ['GET /analytics/campaign-stats', `/analytics/campaign-stats?${RANGE}`, null],
      ['GET /analytics/top-events', `/analytics/top-events?${RANGE}&limit=100`, null],
      [
        'mailByProvider',
        '/graphql',
        `{ mailByProvider(startDate: "${RANGE.split('=')[1]}") { provider sent } }`,
      ],
      [
        'mailByHour',
        '/graphql',
        `{ mailByHour(startDate: "${RANGE.split('=')[1]}", tz: "America/New_York") { hour opened } }`,
      ],
      ['campaignLinks', '/graphql', `{ campaignLinks(id: "${campaignId}", limit: 100) { link clicks } }`],
    ]
    for (const [name, path, query] of rows) {
      const { p50, p95 } = await measure(service.url + path, key, query)
      const verdict = p95 < BUDGET_MS ? 'ok' : `over ${BUDGET_MS} ms`
      console.log(
        `${name.padEnd(34)} p50 ${p50.toFixed(0).padStart(4)} ms  p95 ${p95.toFixed(0).padStart(4)} ms  ${verdict}`,
      )
    }
  } finally {
    await service.stop()
  }
} finally {
  await database.stop()
}
