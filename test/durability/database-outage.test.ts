import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/embedded/embedded-postgres.ts'
import { provision } from '../support/backstage.ts'
import { startMailSink } from '../support/mail-sink.ts'
import { sendBody } from '../support/mailing.ts'
import { emailStates, query, unfinished } from '../support/query.ts'
import { assertRefused } from '../support/refusals.ts'
import { scenario } from '../support/scenario.ts'
import { type Answer, callerOf, type Project, requestTo, until } from '../support/service.ts'
import { endProcess, ownPort, type ServiceProcess, startProcess } from '../support/service-process.ts'

/** No answer may take longer, whatever the database does. */
const PATIENCE_MS = 7_000
const RECOVERY_MS = 60_000

type Posted = { to: string; key: string; answer: Answer; ms: number }

/** A database that the test can take away and bring back, and the service that stands on it. */
async function start() {
  const directory = mkdtempSync(path.join(tmpdir(), 'mailwright-outage-'))
  const dataDir = path.join(directory, 'postgres')
  const sink = await startMailSink({ holdMs: 20 })
  const database: { server: EmbeddedPostgres } = { server: await startEmbeddedPostgres({ dataDir }) }
  const env = {
    DATABASE_URL: database.server.url,
    DATA_DIR: directory,
    PORT: String(await ownPort()),
    MAIL_PROVIDER: 'smtp',
    SMTP_URL: sink.url,
    RATE_LIMIT_PER_MINUTE: '100000',
    PROJECT_SEND_RATE_PER_SECOND: '1000',
  }
  const project = await provision(env)
  const service = await startProcess(env)
  return {
    dataDir,
    sink,
    database,
    project,
    service,
    stop: async () => {
      await endProcess(service)
      await database.server.stop()
      await sink.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** So many posts wait for their answers at most: a slow machine must not be buried under them. */
const MAX_OPEN = 40

/** Starts a post every few milliseconds, whatever becomes of the earlier ones, until it is told to stop. */
function startClient(service: ServiceProcess, project: Project, name: string) {
  const underWay: Promise<Posted>[] = []
  let open = 0
  const post = (to: string) => {
    open += 1
    return postOnce(service.url, project, to, `key ${to}`).finally(() => {
      open -= 1
    })
  }
  const timer = setInterval(() => {
    if (open < MAX_OPEN) underWay.push(post(`${name}${underWay.length}@receiver.example`))
  }, 15)
  return {
    stop: () => {
      clearInterval(timer)
      return Promise.all(underWay)
    },
    /** Posts once more and waits for the answer. */
    post: () => {
      const posted = post(`${name}${underWay.length}@receiver.example`)
      underWay.push(posted)
      return posted
    },
  }
}

async function postOnce(url: string, project: Project, to: string, key: string): Promise<Posted> {
  const startedAt = performance.now()
  const headers = { 'idempotency-key': key }
  const answer = await callerOf(url, project).post('/v1/send', sendBody(project, { to }), { headers })
  return { to, key, answer, ms: performance.now() - startedAt }
}

/** Asks for the state of health all the time. */
function startProbes(service: ServiceProcess) {
  const live: Answer[] = []
  const ready: number[] = []
  let slowest = 0
  let going = true
  const probe = async () => {
    while (going) {
      const startedAt = performance.now()
      live.push(await requestTo(`${service.url}/health/live`, 'GET'))
      ready.push((await requestTo(`${service.url}/health/ready`, 'GET')).status)
      slowest = Math.max(slowest, performance.now() - startedAt)
      await pause(50)
    }
  }
  const probing = probe()
  return {
    stop: async () => {
      going = false
      await probing
      return { live, ready, slowest }
    },
  }
}

type Context = Awaited<ReturnType<typeof start>>

/** Takes the database away under the posting client, for about `awayMs`, and waits until all is well again. */
async function outage(context: Context, name: string, takeAway: () => Promise<void>, awayMs: number) {
  const { service, project, database, dataDir } = context
  const isReady = async () => (await requestTo(`${service.url}/health/ready`, 'GET')).status === 200
  await until('readiness', isReady)
  const client = startClient(service, project, name)
  const probes = startProbes(service)
  await pause(700)
  await takeAway()
  await pause(awayMs)
  database.server = await startEmbeddedPostgres({ dataDir })
  await until('readiness comes back by itself', isReady)
  const readyAgain = await client.post()
  await pause(300)
  const [posted, health] = await Promise.all([client.stop(), probes.stop()])
  return { posted, health, readyAgain }
}

type Outage = Awaited<ReturnType<typeof outage>>

function assertAnswers({ posted, readyAgain }: Outage): void {
  const statuses = [...new Set(posted.map(({ answer }) => answer.status))].sort()
  assert.equal(statuses, [200, 503], 'only accepted or unavailable')
  for (const { answer } of posted.filter(({ answer }) => answer.status === 503)) {
    assertRefused(answer, 503, 'SERVICE_UNAVAILABLE')
    assert.ok(Number(answer.headers.get('retry-after')) > 0)
  }
  assert.is(readyAgain.answer.status, 200, 'the first post after readiness')
  const slowest = Math.max(...posted.map(({ ms }) => ms))
  assert.ok(slowest < PATIENCE_MS, `an answer took ${Math.round(slowest)} ms`)
}

function assertHealth({ health }: Outage): void {
  assert.ok(
    health.live.every(({ status }) => status === 200),
    'the process is alive all the time',
  )
  assert.is(health.ready[0], 200)
  assert.ok(health.ready.includes(503), 'not ready without a database')
  assert.is(health.ready.at(-1), 200)
  assert.ok(health.slowest < PATIENCE_MS, `health took ${Math.round(health.slowest)} ms`)
}

async function assertDelivered(context: Context, posted: Posted[]): Promise<void> {
  const { sink, project, database, service } = context
  const { url } = database.server
  await until(
    'every email is final',
    async () => {
      await pause(250)
      return (await unfinished(url, project.id)) === 0
    },
    RECOVERY_MS,
  )
  const counts = sink.counts()
  const accepted = posted.filter(({ answer }) => answer.status === 200).map(({ to }) => to)
  assert.equal(
    accepted.filter((to) => !counts.has(to)),
    [],
    'answered, but never arrived',
  )
  assert.equal(
    [...counts].filter(([, count]) => count > 1),
    [],
    'the worker has lived all the time',
  )
  const states = await emailStates(url, project.id)
  assert.equal(
    states.filter(({ status, sentEvents }) => status !== 'SENT' || sentEvents !== 1),
    [],
  )
  assert.equal(
    service.log().filter(({ level }) => level >= 50),
    [],
    'errors in the log',
  )
  assert.ok(service.isRunning(), service.output())
}

/** Without it mail would still leave, but only when the worker looks by itself. */
const assertListens = ({ database }: Context) =>
  until('the worker listens for notifications again, once', async () => {
    const { url } = database.server
    const name = 'mailwright notifications'
    return (await query(url, 'select from pg_stat_activity where application_name = $1', [name])).length === 1
  })

/** A 503 says that a repeat with the same key is safe. */
async function assertRepeatsAreSafe({ service, project, sink, database }: Context, posted: Posted[]) {
  for (const { to, key } of posted.filter(({ answer }) => answer.status === 503)) {
    const { answer } = await postOnce(service.url, project, to, key)
    assert.ok(answer.status === 200 || answer.status === 409, answer.text)
  }
  await until('repeats are final', async () => (await unfinished(database.server.url, project.id)) === 0)
  assert.equal(
    [...sink.counts()].filter(([, count]) => count > 1),
    [],
    'a repeat was sent twice',
  )
}

scenario('A database that goes away under the service', start, (test) => {
  test('shut down and started again', async (context) => {
    const result = await outage(context, 'fast', () => context.database.server.stop(), 2_500)
    assertAnswers(result)
    assertHealth(result)
    await assertListens(context)
    await assertDelivered(context, result.posted)
    await assertRepeatsAreSafe(context, result.posted)
  })

  test('killed and started again', async (context) => {
    const kill = async () => {
      const file = path.join(context.dataDir, 'cluster', 'postmaster.pid')
      process.kill(Number.parseInt(readFileSync(file, 'utf8'), 10), 'SIGKILL')
    }
    const result = await outage(context, 'killed', kill, 1_500)
    assertAnswers(result)
    assertHealth(result)
    await assertListens(context)
    await assertDelivered(context, result.posted)
    await assertRepeatsAreSafe(context, result.posted)
  })
})
