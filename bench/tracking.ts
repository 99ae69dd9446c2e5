import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { trackLinks } from '../src/templating/tracked-links.ts'
import { WorkMeter } from '../src/templating/work-meter.ts'
import { BENCH_DOMAIN, type BenchDatabase, startBenchDatabase } from './bench-database.ts'
import { load, percentileOf } from './http-load.ts'
import { type ServiceProcess, startServiceProcess } from './processes.ts'

/**
 * What tracking costs: rewriting templates, sending, and the pixel beside sends. Loopback only, and ends by itself
 * after about a minute; `rewriting`, `sending` and `pixel` run some of it.
 */
const RUNS = 200
const SENDS = 4_000
const PIXELS_PER_SECOND = 2_000
const PIXEL_CONNECTIONS = 64
const PIXEL_SECONDS = 10

const row = (index: number) =>
  `<tr><td align="center" style="font-family:Helvetica,Arial,sans-serif;font-size:14px;padding:10px 25px"><p>Some text about item ${index} &amp; why it is good, {{name ?? dear reader}}.</p><a href="https://shop.example/p/${index}?utm_source=mail&amp;utm_medium=x" style="color:#0b5" target="_blank">Buy now</a></td></tr>\n`

function template(bytes: number): string {
  let rows = ''
  for (let index = 0; rows.length < bytes; index += 1) rows += row(index)
  return `<!doctype html><html><body><table>${rows}</table></body></html>`
}

function benchRewriting(): void {
  console.log('| Template | Links | CPU ms | per 10 KB |\n|---|---|---|---|')
  for (const kilobytes of [10, 50, 200]) {
    const html = template(kilobytes * 1024)
    const once = () =>
      trackLinks(html, 'https://mail.example', new WorkMeter({ work: 1e12, characters: 1e9 }))
    for (let times = 0; times < 200; times += 1) once()
    const before = process.cpuUsage()
    for (let run = 0; run < RUNS; run += 1) once()
    const { user, system } = process.cpuUsage(before)
    const milliseconds = (user + system) / RUNS / 1_000
    const perPart = (milliseconds * 10 * 1024) / html.length
    console.log(
      `| ${kilobytes} KB | ${once().links.length} | ${milliseconds.toFixed(2)} | ${perPart.toFixed(2)} |`,
    )
  }
}

const withService = async (database: BenchDatabase, work: (service: ServiceProcess) => Promise<void>) => {
  const service = await startServiceProcess(await database.env({ ROLES: 'http' }))
  try {
    await work(service)
  } finally {
    await service.stop()
  }
}

const setTracking = ({ services, project }: BenchDatabase, tracking: 'ENABLED' | 'DISABLED') =>
  services.database.prisma.project.update({ where: { id: project.id }, data: { tracking } })

const BODIES = {
  'no link': '<p>Hello {{plan}}, welcome to the bench.</p>',
  '10 links': template(2_600),
  '10 links, another body each time': null,
}

/** CPU time of the service for a message, with and without tracking, in turns. */
async function benchSending(database: BenchDatabase): Promise<void> {
  console.log('\n| POST /v1/send, body with | CPU without | CPU with tracking |\n|---|---|---|')
  let sent = 0
  await withService(database, async (service) => {
    const request = (body: string | null) => () => ({
      path: '/v1/send',
      key: database.project.secret,
      body: {
        to: `send${sent++ % 2_000}@example.org`,
        from: `a@${BENCH_DOMAIN}`,
        subject: 'Hi {{plan}}',
        body: body ?? `<!-- ${sent} -->${BODIES['10 links']}`,
        data: { plan: 'pro' },
      },
    })
    const options = { connections: 16, seconds: 60, requests: SENDS / 4 }
    for (const [name, body] of Object.entries(BODIES)) {
      const cost = { ENABLED: 0, DISABLED: 0 }
      // What runs for the first time is compiled meanwhile.
      for (const tracking of ['DISABLED', 'ENABLED'] as const) {
        await setTracking(database, tracking)
        await load(service.url, request(body), options)
      }
      for (const tracking of ['DISABLED', 'ENABLED', 'ENABLED', 'DISABLED'] as const) {
        await setTracking(database, tracking)
        const before = service.cpuSeconds()
        const { failed } = await load(service.url, request(body), options)
        if (failed > 0) throw new Error(`${failed} requests were not answered with 200`)
        cost[tracking] += ((service.cpuSeconds() - before) / options.requests / 2) * 1e6
      }
      console.log(`| ${name} | ${Math.round(cost.DISABLED)} µs | ${Math.round(cost.ENABLED)} µs |`)
    }
  })
}

/** Paths of pixels in messages that were sent. */
async function pixelsOf(database: BenchDatabase, url: string, count: number): Promise<string[]> {
  await setTracking(database, 'ENABLED')
  const request = (index: number) => ({
    path: '/v1/send',
    key: database.project.secret,
    body: { to: `pixel${index}@example.org`, from: `a@${BENCH_DOMAIN}`, subject: 'x', body: '<p>x</p>' },
  })
  await load(url, request, { connections: 16, seconds: 60, requests: count })
  const contents = await database.services.database.prisma.emailContent.findMany({
    where: { projectId: database.project.id, html: { startsWith: '<p>x</p>' } },
    take: count,
  })
  return contents.map(({ html }) => /\/t\/o\/[\w-]+\.gif/.exec(html)?.[0] ?? '')
}

/**
 * Asks for pixels at a steady rate, however long the answers take, and tells how long after its moment each was answered:
 * the wait for a free connection counts.
 */
async function ask(url: string, paths: string[], seconds = PIXEL_SECONDS): Promise<number[]> {
  const { hostname, port } = new URL(url)
  const latencies: number[] = []
  const due: number[] = []
  let next = 0
  const connections = Array.from({ length: PIXEL_CONNECTIONS }, () => {
    const socket = connect(Number(port), hostname).setNoDelay(true)
    const connection = { socket, askedAt: 0 }
    socket.on('data', () => {
      latencies.push(performance.now() - connection.askedAt)
      idle.push(connection)
      askNext()
    })
    return connection
  })
  const idle = [...connections]
  const askNext = () => {
    const connection = due.length > 0 ? idle.pop() : undefined
    if (!connection) return
    connection.askedAt = due.shift() ?? 0
    next += 1
    connection.socket.write(
      `GET ${paths[next % paths.length]} HTTP/1.1\r\nHost: ${hostname}\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n\r\n`,
    )
  }
  const began = performance.now()
  for (let count = 0; count < PIXELS_PER_SECOND * seconds; ) {
    const now = performance.now()
    for (; count < ((now - began) / 1_000) * PIXELS_PER_SECOND; count += 1) {
      due.push(began + (count * 1_000) / PIXELS_PER_SECOND)
      askNext()
    }
    await pause(1)
  }
  const until = performance.now() + 30_000
  while (latencies.length < PIXELS_PER_SECOND * seconds && performance.now() < until) await pause(50)
  for (const { socket } of connections) socket.destroy()
  return latencies
}

async function benchPixel(database: BenchDatabase): Promise<void> {
  console.log(`\n| ${PIXELS_PER_SECOND} pixels a second | Answered | p50 / p95 / p99 ms |\n|---|---|---|`)
  await withService(database, async (service) => {
    const { url } = service
    const paths = await pixelsOf(database, url, 1_000)
    const print = (name: string, latencies: number[]) => {
      const { p50, p95, p99 } = percentileOf(latencies)
      const times = [p50, p95, p99].map((time) => time.toFixed(1)).join(' / ')
      console.log(`| ${name} | ${latencies.length} | ${times} |`)
    }
    // What runs for the first time is compiled meanwhile.
    await ask(url, paths, 3)
    const before = service.cpuSeconds()
    const alone = await ask(url, paths)
    const cpu = ((service.cpuSeconds() - before) * 1e6) / alone.length
    print(`alone, ${Math.round(cpu)} µs of the processor each`, alone)
    const request = (index: number) => ({
      path: '/v1/send',
      key: database.project.secret,
      body: { to: `beside${index}@example.org`, from: `a@${BENCH_DOMAIN}`, subject: 'x', body: '<p>y</p>' },
    })
    const sends = load(url, request, { connections: 2, seconds: PIXEL_SECONDS })
    print('beside sends', await ask(url, paths))
    console.log(`\nBeside them ${Math.round((await sends).rate)} sends a second over two connections.`)
  })
}

const asked = process.argv.slice(2)
const isAsked = (name: string) => asked.length === 0 || asked.includes(name)

if (isAsked('rewriting')) benchRewriting()
if (isAsked('sending') || isAsked('pixel')) {
  const database = await startBenchDatabase()
  try {
    if (isAsked('sending')) await benchSending(database)
    if (isAsked('pixel')) await benchPixel(database)
  } finally {
    await database.stop()
  }
}
