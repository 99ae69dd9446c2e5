import { createHmac, randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { newId } from '../src/lib/ids.ts'
import { BENCH_DOMAIN, type BenchDatabase, startBenchDatabase } from './bench-database.ts'
import { load, type RequestAt } from './http-load.ts'
import { startServiceProcess } from './processes.ts'

/**
 * A storm of notifications: each message of a campaign was delivered, a tenth bounced and one in fifty complained, in random
 * order, and a fifth of them come twice. Loopback only. `node bench/notifications.ts 5000` has another size than 100,000.
 */
const SIZE = Number(process.argv[2] ?? 100_000)
const CONNECTIONS = 32
const KEY = 'key-of-the-bench'
const REPEATED = 0.2
const SEND_SECONDS = 5
/** When the benchmark gives up, in milliseconds. */
const LIMIT_MS = 600_000

type Mail = { id: string; contactId: string; email: string }

/** Messages of one campaign that have been handed over. */
async function messagesOf({ services, project }: BenchDatabase, count: number): Promise<Mail[]> {
  const now = new Date()
  const mails = Array.from({ length: count }, (_, index) => ({
    id: newId(now),
    contactId: newId(now),
    email: `storm${index}@example.org`,
  }))
  const { prisma } = services.database
  const campaignId = newId(now)
  const written = { subject: 'x', body: 'x', from: `a@${BENCH_DOMAIN}` }
  const campaign = {
    projectId: project.id,
    id: campaignId,
    name: 'Storm',
    ...written,
    createdAt: now,
    updatedAt: now,
  }
  await prisma.campaign.create({ data: { ...campaign, status: 'SENT', audienceType: 'ALL', isFrozen: true } })
  for (let from = 0; from < count; from += 2_000) {
    const part = mails.slice(from, from + 2_000)
    const common = { projectId: project.id, createdAt: now, updatedAt: now }
    await prisma.contact.createMany({
      data: part.map(({ contactId: id, email }) => ({ ...common, id, email, subscribed: true })),
    })
    await prisma.email.createMany({
      data: part.map(({ id, contactId, email }) => ({
        ...common,
        ...{
          id,
          contactId,
          toEmail: email,
          from: `a@${BENCH_DOMAIN}`,
          subject: 'x',
          type: 'MARKETING' as const,
        },
        ...{ sourceType: 'CAMPAIGN' as const, status: 'SENT' as const, campaignId, sentAt: now },
        messageId: `<${id}@${BENCH_DOMAIN}>`,
      })),
    })
  }
  return mails
}

/** What happens to them. */
function happenings(mails: Mail[]): { expected: Record<string, number>; events: object[] } {
  const events: { mail: Mail; event: object }[] = []
  const expected = { delivered: 0, bounced: 0, complained: 0 }
  for (const [index, mail] of mails.entries()) {
    events.push({ mail, event: { event: 'delivered', 'delivery-status': { code: 250, message: 'OK' } } })
    expected.delivered += 1
    if (index % 10 === 0) {
      events.push({
        mail,
        event: { event: 'failed', severity: 'permanent', 'delivery-status': { code: 550 } },
      })
      expected.bounced += 1
    }
    if (index % 50 === 0) {
      events.push({ mail, event: { event: 'complained' } })
      expected.complained += 1
    }
  }
  const once = events.map(({ mail, event }) => ({
    id: randomBytes(16).toString('base64url'),
    timestamp: Date.now() / 1_000,
    recipient: mail.email,
    message: {
      headers: { to: mail.email, 'message-id': `${mail.id}@${BENCH_DOMAIN}`, subject: 'x' },
      size: 900,
    },
    tags: [],
    'user-variables': {},
    ...event,
  }))
  const repeated = once.filter((_, index) => index % Math.round(1 / REPEATED) === 0)
  const all = [...once, ...repeated].map((event) => ({ event, place: Math.random() }))
  return { expected, events: all.toSorted((a, b) => a.place - b.place).map(({ event }) => event) }
}

/** The body of a webhook, signed when it leaves. */
function signed(event: object): object {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const token = randomBytes(25).toString('hex')
  const signature = createHmac('sha256', KEY).update(timestamp).update(token).digest('hex')
  return { signature: { timestamp, token, signature }, 'event-data': event }
}

async function counted({ services, project }: BenchDatabase) {
  const [row] = await services.database.prisma.$queryRaw<Record<string, number>[]>`
    select (select count(*)::int from mail_reports) as waiting,
      (max(c.delivered_count) + coalesce(sum(t.delivered), 0))::int as delivered,
      (max(c.bounced_count) + coalesce(sum(t.bounced), 0))::int as bounced,
      (max(c.complained_count) + coalesce(sum(t.complained), 0))::int as complained,
      (select count(*)::int from events where project_id = ${project.id}::uuid
        and name in ('email.delivery', 'email.bounce', 'email.complaint')) as events,
      (select count(*)::int from suppressions where project_id = ${project.id}::uuid) as suppressed
    from campaigns c left join campaign_tallies t on t.project_id = c.project_id and t.campaign_id = c.id
    where c.project_id = ${project.id}::uuid`
  return row ?? {}
}

const database = await startBenchDatabase()
try {
  const service = await startServiceProcess(
    await database.env({ MAILGUN_WEBHOOK_KEY: KEY, AUTO_PROJECT_DISABLE: 'false', MAIL_PROVIDER: 'mailbox' }),
  )
  try {
    const send: RequestAt = (index) => ({
      path: '/v1/send',
      key: database.project.secret,
      body: {
        to: `send${index % 500}@example.org`,
        from: `a@${BENCH_DOMAIN}`,
        subject: 'x',
        body: '<p>y</p>',
      },
    })
    const sending = (seconds: number) => load(service.url, send, { connections: 8, seconds })
    await sending(2)
    const cpuOfSends = service.cpuSeconds()
    const { rate: alone } = await sending(SEND_SECONDS)
    const perSend = (service.cpuSeconds() - cpuOfSends) / (alone * SEND_SECONDS)
    // Every message has 1.12 happenings, and a fifth of them come twice.
    const mails = await messagesOf(database, Math.round(SIZE / (1.12 * (1 + REPEATED))))
    const { expected, events } = happenings(mails)
    const notify = (part: object[]): Promise<{ rate: number; failed: number }> =>
      load(
        service.url,
        (index) => ({
          path: '/webhooks/mailgun',
          key: 'none',
          body: signed(part[index % part.length] ?? {}),
        }),
        { connections: CONNECTIONS, seconds: LIMIT_MS / 1_000, requests: part.length },
      )
    const cpuBefore = service.cpuSeconds()
    const half = Math.floor(events.length / 2)
    const began = performance.now()
    const first = await notify(events.slice(0, half))
    while (Number((await counted(database)).waiting) > 0) await pause(50)
    const applied = half / ((performance.now() - began) / 1_000)
    const perNotification = (service.cpuSeconds() - cpuBefore) / half
    const stop = { at: false }
    const beside = (async () => {
      const rates: number[] = []
      while (!stop.at) rates.push((await sending(1)).rate)
      return rates
    })()
    const second = await notify(events.slice(half))
    while (Number((await counted(database)).waiting) > 0) await pause(50)
    stop.at = true
    const rates = await beside
    const result = await counted(database)
    const { delivered, bounced, complained } = expected
    const exact = { waiting: 0, ...expected, events: 0, suppressed: 0 }
    exact.events = Number(delivered) + Number(bounced) + Number(complained)
    exact.suppressed = Number(bounced)
    const isExact = JSON.stringify(result) === JSON.stringify(exact)
    const mean = rates.reduce((sum, rate) => sum + rate, 0) / Math.max(1, rates.length)
    console.log(`| ${events.length} notifications | |\n|---|---|`)
    console.log(`| accepted alone | ${Math.round(first.rate)}/s |`)
    console.log(`| accepted and applied alone | ${Math.round(applied)}/s |`)
    console.log(`| accepted beside sends | ${Math.round(second.rate)}/s |`)
    console.log(`| not answered with 200 | ${first.failed + second.failed} |`)
    console.log(
      `| sends alone, beside | ${Math.round(alone)}/s, ${Math.round(mean)}/s (${(mean / alone).toFixed(2)}) |`,
    )
    console.log(`| counters exact | ${isExact ? 'yes' : `no: ${JSON.stringify({ result, exact })}`} |`)
    const [one, other] = [perNotification, perSend].map((seconds) => Math.round(seconds * 1e6))
    console.log(`| processor of the service for a notification, for a send | ${one} µs, ${other} µs |`)
    console.log(`| memory | ${Math.round(service.peakMemory())} MB |`)
  } finally {
    await service.stop()
  }
} finally {
  await database.stop()
}
