import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { rotateKeys } from '../../src/features/projects/projects.ts'
import { openBackstage } from '../support/backstage.ts'
import { startMailSink } from '../support/mail-sink.ts'
import { sendBody } from '../support/mailing.ts'
import { emailStates, unfinished } from '../support/query.ts'
import { scenario } from '../support/scenario.ts'
import { type Answer, callerOf, cloneDatabase, type Project, requestTo, until } from '../support/service.ts'
import { endProcess, ownPort, type ServiceProcess, startProcess } from '../support/service-process.ts'

const REQUESTS_A_MINUTE = 50
/** Tracks come with the public key, which has four fifths of it. */
const TRACKS_A_MINUTE = 40
const SENDS_A_SECOND = 20
const THROTTLED = 160
const CONNECTIONS = 10
/** One project leaves some connections to the others. */
const OF_ONE_PROJECT = 8
/** How many messages a worker with that many connections takes at most. */
const CLAIMED_AT_ONCE = 100
const MINUTE = 60_000

/** Two processes of the service, each with both roles, on one database. */
async function start() {
  const database = await cloneDatabase()
  const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-two-'))
  const sink = await startMailSink({ holdMs: 5 })
  const env = {
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    JWT_SECRET: randomBytes(32).toString('hex'),
    MAIL_PROVIDER: 'smtp',
    SMTP_URL: sink.url,
    SMTP_CONNECTIONS: String(CONNECTIONS),
    RATE_LIMIT_PER_MINUTE: String(REQUESTS_A_MINUTE),
    PROJECT_SEND_RATE_PER_SECOND: String(SENDS_A_SECOND),
  }
  const backstage = await openBackstage(env)
  const launch = async () => startProcess({ ...env, PORT: String(await ownPort()) })
  const services = await Promise.all([launch(), launch()])
  return {
    sink,
    backstage,
    databaseUrl: database.url,
    services,
    stop: async () => {
      for (const service of services) await endProcess(service)
      await backstage.stop()
      await database.drop()
      await sink.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

type Context = Awaited<ReturnType<typeof start>>

/** The process whose turn it is. */
const turn = <Item>(items: readonly [Item, Item], index: number): Item => items[index % 2 === 0 ? 0 : 1]

const send = ({ url }: ServiceProcess, project: Project, to: unknown, headers = {}) =>
  callerOf(url, project).post('/v1/send', sendBody(project, { to }), { headers })

const track = ({ url }: ServiceProcess, project: Project) =>
  callerOf(url, project.public).post('/v1/track', { email: 'ada@receiver.example', event: 'seen' })

const allFinal = ({ databaseUrl }: Context, project: Project, timeoutMs: number) =>
  until('every email is final', async () => (await unfinished(databaseUrl, project.id)) === 0, timeoutMs)

/** Messages that this process has handed over. */
async function deliveriesOf(service: ServiceProcess): Promise<number> {
  const { text } = await requestTo(`${service.url}/metrics`, 'GET')
  return Number(/^mailwright_deliveries_total\{.*outcome="sent"\} (\d+)/m.exec(text)?.[1] ?? 0)
}

function assertAdmitted(answers: Answer[]): void {
  const remaining = answers.map(({ headers }) => Number(headers.get('ratelimit-remaining')))
  const each = Array.from({ length: TRACKS_A_MINUTE }, (_, index) => index)
  assert.equal(
    remaining.toSorted((a, b) => a - b),
    each,
    'every place of the window was taken once',
  )
}

function assertRefused(answers: Answer[]): void {
  for (const { headers, body } of answers) {
    assert.is(body.success, false)
    assert.is(body.error.code, 'RATE_LIMIT_EXCEEDED')
    assert.is(headers.get('ratelimit-remaining'), '0')
    assert.is(headers.get('retry-after'), headers.get('ratelimit-reset'))
  }
}

scenario('Two processes on one database', start, (test) => {
  test('share the request limit of a project to the last request', async ({ services, backstage }) => {
    const project = await backstage.newProject({ sendsPerSecond: 0 })
    const left = MINUTE - (Date.now() % MINUTE)
    if (left < 15_000) await pause(left + 100)
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, index) => track(turn(services, index), project)),
    )
    const admitted = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status === 429)
    assert.is(admitted.length + refused.length, 120)
    assertAdmitted(admitted)
    assertRefused(refused)
    for (const { headers } of answers) {
      assert.is(headers.get('ratelimit-limit'), String(TRACKS_A_MINUTE))
      const reset = Number(headers.get('ratelimit-reset'))
      assert.ok(reset > 0 && reset <= 60, `reset ${reset}`)
    }
  })

  test('refuse a rotated key at the very next request, also where they remembered it', async (context) => {
    const { services, backstage, sink } = context
    const project = await backstage.newProject({ requestsPerMinute: 0 })
    for (const service of services) {
      assert.is((await track(service, project)).status, 200)
      assert.is((await send(service, project, 'before@receiver.example')).status, 200)
    }
    const keys = await rotateKeys(backstage.ctx(project.id), project.id)
    for (const service of services) {
      const stale = [
        await track(service, project),
        await send(service, project, 'stale@receiver.example'),
        await callerOf(service.url, project).get(`/domains/project/${project.id}`),
      ]
      assert.equal(
        stale.map(({ status }) => status),
        [401, 401, 401],
      )
      assert.equal(new Set(stale.map(({ body }) => body.error.code)), new Set(['INVALID_API_KEY']))
    }
    for (const service of services) {
      assert.is((await track(service, { ...project, ...keys })).status, 200)
      assert.is((await send(service, { ...project, ...keys }, 'after@receiver.example')).status, 200)
    }
    await allFinal(context, project, 30_000)
    assert.is(sink.counts().get('stale@receiver.example'), undefined)
    assert.is(sink.counts().get('after@receiver.example'), 2)
  })

  test('deliver each message once', async (context) => {
    const { services, backstage, sink, databaseUrl } = context
    const unlimited = { requestsPerMinute: 0, sendsPerSecond: 0 }
    const [project, other] = [await backstage.newProject(unlimited), await backstage.newProject(unlimited)]
    const before = await Promise.all(services.map(deliveriesOf))
    // Both workers are kept busy until all mail is there, and then take it from under each other's hands.
    const goOn = sink.hold()
    const people = (count: number, name: string) =>
      Array.from({ length: count }, (_, index) => `${name}${index}@receiver.example`)
    await send(services[0], other, people(2 * CLAIMED_AT_ONCE, 'busy'))
    await until('both workers hold all they may', () => sink.underWay.size === 2 * OF_ONE_PROJECT)
    const sends = people(300, 'm').map((to, index) => send(turn(services, index), project, to))
    assert.equal([...new Set((await Promise.all(sends)).map(({ status }) => status))], [200])
    goOn()
    await allFinal(context, project, 60_000)
    const counts = [...sink.counts()].filter(([to]) => /^m\d+@/.test(to))
    assert.is(counts.length, 300)
    assert.equal(
      counts.filter(([, count]) => count !== 1),
      [],
    )
    const states = await emailStates(databaseUrl, project.id)
    assert.equal(
      states.filter(({ status, attempts }) => status !== 'SENT' || attempts !== 1),
      [],
    )
    for (const [index, service] of services.entries()) {
      const delivered = (await deliveriesOf(service)) - (before[index] ?? 0)
      assert.ok(delivered > 50, `process ${index} has delivered ${delivered}`)
    }
  })

  test('keep the sending rate of a project together', async (context) => {
    const { services, backstage, sink } = context
    const project = await backstage.newProject({ requestsPerMinute: 0 })
    const people = (part: number) =>
      Array.from({ length: THROTTLED / 2 }, (_, index) => `throttled${part}x${index}@receiver.example`)
    const startedAt = Date.now()
    const answers = await Promise.all(services.map((service, index) => send(service, project, people(index))))
    assert.equal(
      answers.map(({ status }) => status),
      [200, 200],
    )
    await allFinal(context, project, 60_000)
    const times = sink.arrivals.filter(({ to }) => to.startsWith('throttled')).map(({ at }) => at)
    assert.is(times.length, THROTTLED)
    const seconds = (Math.max(...times) - startedAt) / 1_000
    // The rate counts by the seconds of the clock, and the first of them may be almost over.
    assert.ok(seconds > THROTTLED / SENDS_A_SECOND - 2, `${THROTTLED} messages in ${seconds} s`)
  })

  test('do the work for an Idempotency-Key once', async (context) => {
    const { services, backstage, sink } = context
    const project = await backstage.newProject({ requestsPerMinute: 0, sendsPerSecond: 0 })
    for (let round = 1; round <= 5; round += 1) {
      const to = `once${round}@receiver.example`
      const key = `order ${round} ${randomUUID()}`
      const startedAt = Date.now() - 1_000
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          send(turn(services, index), project, to, { 'idempotency-key': key }),
        ),
      )
      assert.is(answers.filter(({ status }) => status === 200).length, 1)
      const conflicts = answers.filter(({ status }) => status === 409)
      assert.is(conflicts.length, 19)
      for (const { body } of conflicts) {
        assert.is(body.error.code, 'IDEMPOTENCY_KEY_REUSED')
        const { originalRequestAt, originalStatusCode, ...details } = body.error.details
        assert.equal(details, { key, originalRequest: 'POST /v1/send' })
        assert.ok([null, 200].includes(originalStatusCode))
        assert.ok(Date.parse(originalRequestAt) >= startedAt && Date.parse(originalRequestAt) <= Date.now())
      }
      const late = await send(turn(services, round), project, to, { 'idempotency-key': key })
      assert.is(late.status, 409)
      assert.is(late.body.error.details.originalStatusCode, 200)
    }
    await allFinal(context, project, 30_000)
    const counts = [...sink.counts()].filter(([to]) => to.startsWith('once'))
    assert.equal(
      counts.map(([, count]) => count),
      Array(5).fill(1),
    )
  })
})
