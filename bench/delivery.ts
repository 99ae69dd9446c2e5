import { createTransport } from 'nodemailer'
import type { BenchDatabase } from './bench-database.ts'
import { BENCH_DOMAIN } from './bench-database.ts'
import { type LoadResult, load, percentileOf } from './http-load.ts'
import { startServiceProcess, startTalker, type Talker } from './processes.ts'

const MESSAGES = 4_000
const IDLE_MESSAGES = 60
const CONNECTIONS = 10
const HTML = `<h1>Hello Ada</h1>${'<p>Your order has been shipped and will be with you soon.</p>'.repeat(10)}`

export type DeliveryResult = {
  service: number
  bare: number
  peakMemory: number
  acceptToProvider: LoadResult
}

/** Drains a queue of accepted mail over SMTP, and sends the same messages with a bare pooled nodemailer loop. */
export async function benchDelivery(database: BenchDatabase): Promise<DeliveryResult> {
  const { talker: sink, hello } = await startTalker('bench/smtp-sink.ts')
  const smtpUrl = `smtp://127.0.0.1:${hello.port}`
  try {
    const bare = await bareLoop(database, smtpUrl, sink)
    const drained = await drain(database, smtpUrl, sink)
    return { bare, ...drained }
  } finally {
    await sink.stop()
  }
}

const message = (database: BenchDatabase, index: number) => ({
  path: '/v1/send',
  key: database.project.secret,
  body: { to: `drain${index}@example.org`, from: `a@${BENCH_DOMAIN}`, subject: 'Shipped', body: HTML },
})

async function drain(database: BenchDatabase, smtpUrl: string, sink: Talker) {
  const mail = { MAIL_PROVIDER: 'smtp', SMTP_URL: smtpUrl, SMTP_CONNECTIONS: String(CONNECTIONS) }
  const http = await startServiceProcess(await database.env({ ...mail, ROLES: 'http' }))
  await load(http.url, (index) => message(database, index), {
    connections: 16,
    seconds: 120,
    requests: MESSAGES,
  })
  await http.stop()
  await sink.ask('reset')
  const worker = await startServiceProcess(await database.env({ ...mail, ROLES: 'http,worker' }))
  const { first = 0, last = 0, count = 0 } = await arrived(sink, MESSAGES)
  const acceptToProvider = await idleLatency(database, worker.url, sink)
  const peakMemory = worker.peakMemory()
  await worker.stop()
  return { service: ((count - 1) / (last - first)) * 1000, peakMemory, acceptToProvider }
}

async function arrived(sink: Talker, expected: number): Promise<Record<string, number>> {
  const deadline = Date.now() + 120_000
  for (;;) {
    const seen = await sink.ask('count')
    if ((seen.count ?? 0) >= expected) return seen
    if (Date.now() > deadline) throw new Error(`only ${seen.count} of ${expected} messages arrived`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** One message at a time to an idle service: from the request to the message's end at the SMTP server. */
async function idleLatency(database: BenchDatabase, url: string, sink: Talker): Promise<LoadResult> {
  const latencies: number[] = []
  for (let index = 0; index < IDLE_MESSAGES; index += 1) {
    await sink.ask('reset')
    const sentAt = Date.now()
    await load(url, () => message(database, MESSAGES + index), { connections: 1, seconds: 5, requests: 1 })
    let seen = await sink.ask('count')
    while (!seen.count) {
      await new Promise((resolve) => setTimeout(resolve, 2))
      seen = await sink.ask('count')
    }
    latencies.push((seen.last ?? 0) - sentAt)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return percentileOf(latencies)
}

/** The same messages, signed as well, from memory: what nodemailer's pool can do with this server. */
export async function bareLoop(database: BenchDatabase, smtpUrl: string, sink: Talker): Promise<number> {
  const transport = createTransport({
    url: smtpUrl,
    pool: true,
    maxConnections: CONNECTIONS,
    maxMessages: 1000,
    dkim: { domainName: BENCH_DOMAIN, keySelector: 'bench', privateKey: database.privateKey },
  })
  const send = (index: number) =>
    transport.sendMail({
      from: `a@${BENCH_DOMAIN}`,
      to: `bare${index}@example.org`,
      subject: 'Shipped',
      html: HTML,
      text: 'Hello Ada. Your order has been shipped and will be with you soon.',
    })
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, index) => send(index)))
  await sink.ask('reset')
  let next = 0
  await Promise.all(
    Array.from({ length: CONNECTIONS * 2 }, async () => {
      while (next < MESSAGES) await send(next++)
    }),
  )
  const { first = 0, last = 0, count = 0 } = await sink.ask('count')
  transport.close()
  return ((count - 1) / (last - first)) * 1000
}
