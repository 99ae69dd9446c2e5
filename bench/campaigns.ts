import { setTimeout as pause } from 'node:timers/promises'
import { BENCH_DOMAIN, type BenchDatabase, startBenchDatabase } from './bench-database.ts'
import { bareLoop } from './delivery.ts'
import { percentileOf } from './http-load.ts'
import { type ServiceProcess, startServiceProcess, startTalker, type Talker } from './processes.ts'

/**
 * What a campaign does: how fast its ledger and its queue are written (nothing is handed over meanwhile), how fast it
 * is delivered over SMTP beside a bare pooled loop that signs, too, what a message of the same project waits meanwhile,
 * and what a recipient takes on disk. `--contacts N` says how large the audience is, 20,000 by default; with `--provider
 * mailgun` it leaves by a stand-in for Mailgun, whose calls are counted, and there is no bare loop. Loopback only.
 */
const CONTACTS = Number(process.argv[process.argv.indexOf('--contacts') + 1] || 20_000)
const PROVIDER = process.argv.includes('--provider')
  ? process.argv[process.argv.indexOf('--provider') + 1]
  : 'smtp'
const CONNECTIONS = 10
const FRESH_EVERY_MS = 500
const LOOK_EVERY_MS = 250
const LIMIT_MS = 480_000
const BODY = `<h1>Hello {{name ?? friend}}</h1>${'<p>Everything is 20 % off this week, and with you in two days.</p>'.repeat(10)}`

type Counts = Record<string, number> & { status?: string }

const json = async (url: string, key: string, method: string, body?: object): Promise<{ data: Counts }> => {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  })
  if (!response.ok) throw new Error(`${method} ${url}: ${await response.text()}`)
  return response.json() as Promise<{ data: Counts }>
}

/** Contacts that one statement adds: more would take longer than a statement may. */
const ADDED = 10_000

async function addContacts({ services, project }: BenchDatabase): Promise<void> {
  for (let from = 1; from <= CONTACTS; from += ADDED) {
    const to = Math.min(CONTACTS, from + ADDED - 1)
    await services.database.prisma
      .$executeRaw`insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
       select ${project.id}::uuid, (lpad(to_hex(1700000000000 + n), 12, '0') || '7'
           || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid,
         'c' || n || '@example.org', true, jsonb_build_object('name', 'Ada ' || n), now(), now()
       from generate_series(${from}::int, ${to}::int) as n`
  }
}

async function newCampaign(service: ServiceProcess, { project }: BenchDatabase): Promise<string> {
  const { data } = await json(`${service.url}/campaigns`, project.secret, 'POST', {
    name: 'Bench',
    subject: 'Hello {{name}}',
    body: BODY,
    from: `news@${BENCH_DOMAIN}`,
    audienceType: 'ALL',
  })
  return String(data.id)
}

/** Milliseconds until the numbers of the campaign are as wanted; at every look they have to add up. */
async function until(
  service: ServiceProcess,
  key: string,
  id: string,
  isReached: (counts: Counts) => boolean,
): Promise<number> {
  const began = performance.now()
  for (;;) {
    const { data } = await json(`${service.url}/campaigns/${id}/stats`, key, 'GET')
    const states = ['pending', 'sending', 'sent', 'failed', 'suppressed', 'skipped', 'cancelled']
    const sum = states.reduce((total, state) => total + (data[`${state}Count`] ?? 0), 0)
    if (sum !== data.totalRecipients) throw new Error(`The ledger does not add up: ${JSON.stringify(data)}`)
    if (isReached(data)) return performance.now() - began
    if (performance.now() - began > LIMIT_MS) throw new Error(`Not reached: ${JSON.stringify(data)}`)
    await pause(LOOK_EVERY_MS)
  }
}

async function diskOf({ services }: BenchDatabase): Promise<number> {
  const rows = await services.database.prisma.$queryRaw<
    { bytes: bigint }[]
  >`select sum(pg_table_size(c)) as bytes
     from unnest(array['emails', 'campaign_recipients', 'events', 'email_contents']::regclass[]) as c`
  return Number(rows[0]?.bytes ?? 0)
}

/** Sends a message now and then, and says how long each took to the SMTP server. */
async function freshMail(
  database: BenchDatabase,
  service: ServiceProcess,
  sink: Talker,
  isOver: () => boolean,
) {
  const waits: number[] = []
  for (let index = 1; !isOver(); index += 1) {
    const sentAt = Date.now()
    await json(`${service.url}/v1/send`, database.project.secret, 'POST', {
      to: `fresh${index}@example.org`,
      from: `a@${BENCH_DOMAIN}`,
      subject: 'Now',
      body: '<p>Now</p>',
    })
    const { fresh = 0, freshAt = 0 } = await sink.ask(`fresh ${index}`)
    if (fresh < index) throw new Error('A message of the project did not arrive within ten seconds')
    waits.push(freshAt - sentAt)
    await pause(FRESH_EVERY_MS)
  }
  return percentileOf(waits)
}

const database = await startBenchDatabase()
const isMailgun = PROVIDER === 'mailgun'
const { talker: sink, hello } = await startTalker(`bench/${isMailgun ? 'mailgun' : 'smtp'}-sink.ts`)
try {
  const smtpUrl = `smtp://127.0.0.1:${hello.port}`
  const bare = isMailgun ? undefined : await bareLoop(database, smtpUrl, sink)
  await addContacts(database)
  await sink.ask('reset')
  const mail: Record<string, string> = isMailgun
    ? {
        MAIL_PROVIDER: 'mailgun',
        MAILGUN_API_KEY: 'key-s3cret',
        MAILGUN_URL: `http://127.0.0.1:${hello.port}`,
      }
    : { MAIL_PROVIDER: 'smtp', SMTP_URL: smtpUrl, SMTP_CONNECTIONS: String(CONNECTIONS) }
  const service = await startServiceProcess(await database.env({ ...mail, ROLES: 'http,worker' }))
  const { secret } = database.project
  const before = await diskOf(database)
  const id = await newCampaign(service, database)
  await json(`${service.url}/campaigns/${id}/send`, secret, 'POST', {})
  let isOver = false
  const fresh = freshMail(database, service, sink, () => isOver)
  const frozenMs = await until(service, secret, id, (counts) => counts.totalRecipients === CONTACTS)
  await until(service, secret, id, ({ status }) => String(status) === 'SENT')
  isOver = true
  const seen = await sink.ask('count')
  const { count = 0, calls = 0, first = 0, last = 0, repeated } = seen
  const waits = await fresh
  const perRecipient = ((await diskOf(database)) - before) / CONTACTS
  const rate = ((count - 1) / (last - first)) * 1000
  const figure = (value: number | undefined) => (value === undefined ? '-' : String(Math.round(value)))
  console.log(`| A campaign to ${CONTACTS.toLocaleString('en')} contacts | |
|---|---|
| ledger complete, messages leaving meanwhile | ${figure((CONTACTS / frozenMs) * 1000)} contacts/s |
| delivered over ${PROVIDER} | ${figure(rate)}/s |
| messages a call | ${(count / calls).toFixed(1)} |
| bare signed loop | ${figure(bare)}/s |
| ratio | ${bare ? (rate / bare).toFixed(2) : '-'} |
| CPU of the process a recipient | ${figure((service.cpuSeconds() / CONTACTS) * 1e6)} µs |
| another message of the project meanwhile, to the provider | p50 ${figure(waits.p50)} ms, p95 ${figure(waits.p95)} ms (${waits.rate} of them) |
| a recipient on disk, beside indexes | ${figure(perRecipient)} bytes |
| arrived more than once | ${repeated} |
| peak memory of the process | ${figure(service.peakMemory())} MB |`)
  await service.stop()
} finally {
  await sink.stop()
  await database.stop()
}
