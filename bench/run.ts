import { randomUUID } from 'node:crypto'
import { hashKey } from '../src/admission/access.ts'
import { track } from '../src/features/events/track.sql.ts'
import { storeSend } from '../src/features/sending/send.sql.ts'
import { pgbenchRate, poolLoad } from './bare-statement.ts'
import { BENCH_DOMAIN, type BenchDatabase, startBenchDatabase } from './bench-database.ts'
import { benchDelivery } from './delivery.ts'
import { type LoadResult, load, type RequestAt } from './http-load.ts'
import { benchImport } from './import.ts'
import { startServiceProcess } from './processes.ts'

/**
 * Measures the service beside the bare equivalent of its work, in one run on one machine; only ratios mean
 * something elsewhere. Loopback only, and ends by itself after about two minutes.
 */
const SECONDS = 8
const CONNECTIONS = 32
/** Connections to the database, for the service's pool and for the bare equivalents. */
const POOL = 10

type Row = {
  path: string
  rate: number
  bare: string
  ratio: number | null
  latency?: LoadResult
  memory?: number
}

const rows: Row[] = []

async function measure(
  database: BenchDatabase,
  requestAt: RequestAt,
): Promise<{ result: LoadResult; peakMemory: number }> {
  const service = await startServiceProcess(await database.env({ ROLES: 'http' }))
  try {
    const options = { connections: CONNECTIONS, seconds: SECONDS }
    await load(service.url, (index) => requestAt(-1 - index), { ...options, seconds: 2 })
    const result = await load(service.url, requestAt, options)
    if (result.failed > 0) throw new Error(`${result.failed} requests were not answered with 200`)
    return { result, peakMemory: service.peakMemory() }
  } finally {
    await service.stop()
  }
}

function report(
  path: string,
  measured: { result: LoadResult; peakMemory: number },
  bares: [string, number | null][],
) {
  for (const [bare, rate] of bares) {
    rows.push({
      path,
      rate: measured.result.rate,
      bare: rate === null ? `${bare}: not installed` : `${bare} ${Math.round(rate)}/s`,
      ratio: rate === null ? null : measured.result.rate / rate,
      latency: measured.result,
      memory: measured.peakMemory,
    })
  }
}

async function benchTrack(database: BenchDatabase): Promise<void> {
  const { project } = database
  const data = { plan: 'pro', seats: 3 }
  const measured = await measure(database, (index) => ({
    path: '/v1/track',
    key: project.public,
    body: { email: `track${index}@example.org`, event: 'signed_up', data },
  }))
  const json = JSON.stringify(data)
  const keyHash = hashKey(project.public)
  const options = { connections: POOL, seconds: SECONDS }
  const pool = await poolLoad(
    database.url,
    track,
    (index) => ({
      projectId: project.id,
      keyHash,
      email: `pool${index}@example.org`,
      newContactId: randomUUID(),
      subscribed: null,
      set: json,
      unset: [],
      eventId: randomUUID(),
      eventName: 'signed_up',
      eventData: json,
      now: new Date(),
    }),
    options,
  )
  const sql = (text: string) => `'${text}'`
  const pgbench = pgbenchRate(
    database.url,
    track,
    {
      projectId: sql(project.id),
      keyHash: `'\\x${keyHash.toString('hex')}'::bytea`,
      email: `('pgbench' || :n || '@example.org')`,
      newContactId: 'gen_random_uuid()',
      subscribed: 'null',
      set: sql(json),
      unset: `'{}'`,
      eventId: 'gen_random_uuid()',
      eventName: sql('signed_up'),
      eventData: sql(json),
      now: 'now()',
    },
    options,
  )
  report('POST /v1/track', measured, [
    ['pgbench, same statement', pgbench],
    ['pg pool, same statement', pool.rate],
  ])
}

async function benchSend(database: BenchDatabase): Promise<void> {
  const { project } = database
  const body = '<p>Hello {{plan}}, welcome to the bench.</p>'
  const measured = await measure(database, (index) => ({
    path: '/v1/send',
    key: project.secret,
    body: {
      to: `send${index}@example.org`,
      from: `a@${BENCH_DOMAIN}`,
      subject: 'Hi {{plan}}',
      body,
      data: { plan: 'pro' },
    },
  }))
  const keyHash = hashKey(project.secret)
  const pool = await poolLoad(
    database.url,
    storeSend({ single: true, contacts: 'insert', once: false, files: false, billed: false }, 0),
    (index) => {
      const contactId = randomUUID()
      return {
        projectId: project.id,
        keyHash,
        now: new Date(),
        subscribed: null,
        set: '{"plan":"pro"}',
        unset: [],
        to: `barepool${index}@example.org`,
        newContactId: contactId,
        contactId,
        emailId: randomUUID(),
        toName: null,
        subject: 'Hi pro',
        html: body,
        headers: '[]',
        messageId: `<${index}@bench>`,
        from: `a@${BENCH_DOMAIN}`,
        fromName: null,
        replyTo: null,
        text: null,
        type: 'TRANSACTIONAL' as const,
        templateId: null,
        attachmentSetId: null,
        fileBytes: 0,
        clockShift: 0,
      }
    },
    { connections: POOL, seconds: SECONDS },
  )
  report('POST /v1/send, one recipient', measured, [['pg pool, its writing statement', pool.rate]])
}

const cell = (value: number | null | undefined, digits: number) =>
  value === null || value === undefined ? '–' : value.toFixed(digits)

function print(): void {
  console.log('| Path | Rate | Bare equivalent in the same run | Ratio | p50 / p95 / p99 ms | Peak memory |')
  console.log('|---|---|---|---|---|---|')
  for (const { path, rate, bare, ratio, latency, memory } of rows) {
    const times = [latency?.p50, latency?.p95, latency?.p99].map((value) => cell(value, 1)).join(' / ')
    console.log(
      `| ${path} | ${Math.round(rate)}/s | ${bare} | ${cell(ratio, 2)} | ${times} | ${cell(memory, 0)} MB |`,
    )
  }
}

const database = await startBenchDatabase()
try {
  await benchTrack(database)
  await benchSend(database)
  const delivery = await benchDelivery(database)
  rows.push({
    path: 'Delivery over SMTP, DKIM-signed',
    rate: delivery.service,
    bare: `nodemailer pool, signed ${Math.round(delivery.bare)}/s`,
    ratio: delivery.service / delivery.bare,
    memory: delivery.peakMemory,
  })
  const imports = await benchImport(database)
  for (const [path, rate] of [
    ['CSV import, 50,000 new contacts, rows', imports.first],
    ['CSV import, the same file again, rows', imports.again],
  ] as const) {
    const bare = `pg, plain upsert of 500 rows a statement ${Math.round(imports.bare)}/s`
    rows.push({ path, rate, bare, ratio: rate / imports.bare, memory: imports.peakMemory })
  }
  print()
  const { p50, p95, p99 } = delivery.acceptToProvider
  console.log(`\nFrom request to the SMTP server, idle: ${p50} / ${p95} / ${p99} ms (p50 / p95 / p99)`)
  console.log(
    `CSV import: memory grows by ${Math.round(imports.growth)} MB; longest stall ${Math.round(imports.stall)} ms`,
  )
} finally {
  await database.stop()
}
