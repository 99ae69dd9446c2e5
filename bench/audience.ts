import { parseArgs } from 'node:util'
import pg from 'pg'
import { FULL_SIZE } from './audience-data.ts'
import { startAudienceDatabase } from './audience-database.ts'
import type { BenchDatabase } from './bench-database.ts'
import { type LoadResult, percentileOf } from './http-load.ts'
import { startServiceProcess } from './processes.ts'

/**
 * How long the lists and statistics of a large project take, one request after the other. Loopback only. With
 * `--keep folder` the database is made once and used again; made it takes some minutes, measured about one.
 */
const WARM_UP = 10
const REQUESTS = 100
/** No row takes longer. */
const ROW_MS = 20_000
const TIMEOUT_MS = 30_000
/** Contacts of 10,000 pages. */
const FAR = 200_000

type Row = { path: string; latency: LoadResult; requests: number; budget: number }

const { values: options } = parseArgs({
  options: {
    contacts: { type: 'string', default: String(FULL_SIZE.contacts) },
    events: { type: 'string', default: String(FULL_SIZE.events) },
    keep: { type: 'string' },
  },
})

async function time(url: string, key: string, method = 'GET'): Promise<number> {
  const startedAt = performance.now()
  const headers = { authorization: `Bearer ${key}` }
  const answer = await fetch(url, { method, headers, signal: AbortSignal.timeout(TIMEOUT_MS) })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${url} was answered with ${answer.status}: ${text}`)
  return performance.now() - startedAt
}

async function measure(url: string, key: string, path: string, budget: number): Promise<Row> {
  const latencies: number[] = []
  const deadline = performance.now() + ROW_MS
  for (let warm = 0; warm < WARM_UP && performance.now() < deadline; warm += 1) await time(url + path, key)
  while (latencies.length === 0 || (latencies.length < REQUESTS && performance.now() < deadline)) {
    latencies.push(await time(url + path, key))
  }
  return { path: `GET ${path}`, latency: percentileOf(latencies), requests: latencies.length, budget }
}

const filter = (field: string, operator: string, value?: unknown, unit?: string) => ({
  field,
  operator,
  ...(value !== undefined && { value }),
  ...(unit && { unit }),
})

const tree = (logic: string, ...groups: object[][]) => ({
  logic,
  groups: groups.map((filters) => ({ filters })),
})

/** What the members of a segment are counted by; an equality is served by an index, a comparison by none. */
const CONDITIONS: [what: string, condition: object][] = [
  ['data equals, 20 contacts', tree('AND', [filter('data.company', 'equals', 'Company 77')])],
  ['data equals, a quarter of the contacts', tree('AND', [filter('data.plan', 'equals', 'pro')])],
  ['data greaterThan', tree('AND', [filter('data.score', 'greaterThan', 90)])],
  ['event within 30 days, a rare one', tree('AND', [filter('event.rare_77', 'triggeredWithin', 30, 'days')])],
  [
    'event within 30 days, signed_up',
    tree('AND', [filter('event.signed_up', 'triggeredWithin', 30, 'days')]),
  ],
  [
    'event within 30 days, purchased',
    tree('AND', [filter('event.purchased', 'triggeredWithin', 30, 'days')]),
  ],
  [
    'three groups',
    tree(
      'OR',
      [filter('data.plan', 'equals', 'enterprise'), filter('data.country', 'equals', 'DE')],
      [filter('event.signed_up', 'triggeredWithin', 7, 'days'), filter('data.score', 'greaterThan', 80)],
      [filter('data.vip', 'exists'), filter('subscribed', 'equals', true)],
    ),
  ],
]

const COUNTS = 10

/** Makes a segment and counts its members again and again. */
async function measureCount(url: string, key: string, [what, condition]: [string, object]): Promise<Row> {
  const answer = await fetch(`${url}/segments`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: what, condition }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const { id, memberCount }: { id: string; memberCount: number } = await answer.json()
  const latencies: number[] = []
  for (let n = 0; n < COUNTS; n += 1) latencies.push(await time(`${url}/segments/${id}/refresh`, key, 'POST'))
  await fetch(`${url}/segments/${id}`, { method: 'DELETE', headers: { authorization: `Bearer ${key}` } })
  const path = `count of a segment: ${what}, ${memberCount} members`
  return { path, latency: percentileOf(latencies), requests: COUNTS, budget: COUNT_MS }
}

/** The cursor of the page that begins after so many contacts. */
async function farCursor({ url, project }: BenchDatabase, column: 'id' | 'email'): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ key: string }>(
      `select ${column} as key from contacts where project_id = $1
       order by ${column} desc offset least($2, (select count(*) from contacts where project_id = $1) / 2) limit 1`,
      [project.id, FAR],
    )
    const order = column === 'id' ? 'createdAt desc' : 'email desc'
    return Buffer.from(JSON.stringify({ order, key: rows[0]?.key })).toString('base64url')
  } finally {
    await client.end()
  }
}

const STATISTICS_MS = 200
const LIST_MS = 50
const COUNT_MS = 1_000

async function pathsOf(database: BenchDatabase): Promise<[path: string, budget: number][]> {
  const [byTime, byEmail] = [await farCursor(database, 'id'), await farCursor(database, 'email')]
  return [
    ['/events/names', STATISTICS_MS],
    ['/events/stats', STATISTICS_MS],
    [`/events/stats?startDate=${new Date(Date.now() - 20 * 86_400_000).toISOString()}`, STATISTICS_MS],
    ['/events/page_viewed/usage', STATISTICS_MS],
    ['/events/signed_up/usage', STATISTICS_MS],
    ['/events/rare_77/usage', STATISTICS_MS],
    ['/events', LIST_MS],
    ['/events?eventName=page_viewed', LIST_MS],
    ['/events?eventName=rare_77', LIST_MS],
    ['/contacts', LIST_MS],
    [`/contacts?cursor=${byTime}`, LIST_MS],
    ['/contacts?sort=email&dir=asc', LIST_MS],
    [`/contacts?sort=email&cursor=${byEmail}`, LIST_MS],
    ['/contacts?search=example', LIST_MS],
    ['/contacts?search=gmail.com&sort=email', LIST_MS],
    ['/contacts?search=person-777', LIST_MS],
    ['/contacts?search=person-777777', LIST_MS],
    ['/contacts?search=77', LIST_MS],
    ['/contacts?search=nobody', LIST_MS],
    ['/contacts?subscribed=true', LIST_MS],
    ['/contacts?subscribed=false', LIST_MS],
    ['/contacts?subscribed=false&search=gmail.com', LIST_MS],
    ['/contacts/fields', STATISTICS_MS],
    ['/contacts/fields/data.country/values', STATISTICS_MS],
    ['/contacts/fields/data.company/values?search=77', STATISTICS_MS],
    ['/contacts/fields/data.plan/usage', STATISTICS_MS],
  ]
}

function print(rows: Row[]): void {
  console.log('| Request | p50 / p95 / p99 ms | Requests | Budget (p95) |')
  console.log('|---|---|---|---|')
  for (const { path, latency, requests, budget } of rows) {
    const times = [latency.p50, latency.p95, latency.p99].map((value) => value.toFixed(1)).join(' / ')
    const shown = path.replace(/cursor=.*/, 'cursor=…').replace(/T\d\d:[^&]*/, 'T…')
    console.log(
      `| ${shown} | ${times} | ${requests} | ${budget} ms${latency.p95 > budget ? ': missed' : ''} |`,
    )
  }
}

const sizes = { ...FULL_SIZE, contacts: Number(options.contacts), events: Number(options.events) }
const database = await startAudienceDatabase(sizes, options.keep)
try {
  const paths = await pathsOf(database)
  const service = await startServiceProcess(await database.env({ ROLES: 'http' }))
  try {
    const rows: Row[] = []
    for (const [path, budget] of paths) {
      rows.push(await measure(service.url, database.project.secret, path, budget))
    }
    for (const condition of CONDITIONS) {
      rows.push(await measureCount(service.url, database.project.secret, condition))
    }
    print(rows)
  } finally {
    await service.stop()
  }
} finally {
  await database.stop()
}
