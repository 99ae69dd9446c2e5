import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { isRunning } from '../../src/db/embedded/embedded-postgres-sharing.ts'
import { provision } from '../support/backstage.ts'
import { databaseProxy } from '../support/database-proxy.ts'
import { startMailSink } from '../support/mail-sink.ts'
import { sendBody } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { callerOf, cloneDatabase, type Project, until } from '../support/service.ts'
import {
  endProcess,
  launchProcess,
  ownPort,
  type ServiceProcess,
  startProcess,
} from '../support/service-process.ts'

const STOP_MS = 15_000
/** Less than any time-out that a start could wait for; a busy machine takes its part of it. */
const START_MS = 30_000
const CLIENTS = 6

/** The service with the database that it brings along, in a folder of its own. */
async function start() {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-restart-'))
  const sink = await startMailSink({ holdMs: 5 })
  const env = {
    DATA_DIR: dataDir,
    PORT: String(await ownPort()),
    MAIL_PROVIDER: 'smtp',
    SMTP_URL: sink.url,
    RATE_LIMIT_PER_MINUTE: '0',
    PROJECT_SEND_RATE_PER_SECOND: '0',
  }
  const project = await provision(env)
  const state: { service: ServiceProcess | undefined } = { service: undefined }
  const starts: number[] = []
  return {
    env,
    sink,
    project,
    /** How long each start took, in milliseconds. */
    starts,
    /** Starts the service again, also when a test that failed has left one. */
    boot: async (): Promise<ServiceProcess> => {
      await endProcess(state.service)
      const service = await startProcess(env)
      state.service = service
      starts.push(service.startMs)
      return service
    },
    stop: async () => {
      await endProcess(state.service)
      const pid = postgresPid(dataDir)
      if (pid) process.kill(pid, 'SIGQUIT')
      await until('the database is down', () => !pid || !isRunning(pid))
      await sink.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** The process id of the embedded server; null when none has been left. */
function postgresPid(dataDir: string): number | null {
  const file = path.join(dataDir, 'postgres', 'cluster', 'postmaster.pid')
  if (!existsSync(file)) return null
  const pid = Number.parseInt(readFileSync(file, 'utf8'), 10)
  return isRunning(pid) ? pid : null
}

/** Sends one message after the other over kept-alive connections until nobody listens any more. */
function startClients(service: ServiceProcess, project: Project, name: string) {
  const accepted: string[] = []
  const failures: string[] = []
  const reset: string[] = []
  const run = async (client: number) => {
    for (let number = 1; ; number += 1) {
      const to = `${name}${client}x${number}@receiver.example`
      try {
        const body = sendBody(project, { to })
        const answer = await callerOf(service.url, project).post('/v1/send', body)
        if (answer.status === 200) accepted.push(to)
        else failures.push(answer.text)
      } catch (error) {
        const code = codeOf(error)
        if (code === 'ECONNRESET') reset.push(to)
        else if (code !== 'ECONNREFUSED') failures.push(code)
        return
      }
    }
  }
  const running = Promise.all(Array.from({ length: CLIENTS }, (_, client) => run(client)))
  return { accepted, failures, reset, ended: running }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error && 'code' in error.cause
    ? String(error.cause.code)
    : String(error)

/** A request whose head is at the service while its body is still to come; `finish` sends the rest. */
async function beginRequest(service: ServiceProcess, project: Project, to: string) {
  const body = JSON.stringify(sendBody(project, { to }))
  const agent = new Agent({ keepAlive: true })
  const sending = httpRequest(`${service.url}/v1/send`, {
    method: 'POST',
    agent,
    headers: {
      authorization: `Bearer ${project.secret}`,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    },
  })
  const answered = new Promise<{ status: number; connection: string | undefined }>((resolve, reject) => {
    sending.once('error', reject)
    sending.once('response', (response) => {
      response.resume()
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, connection: response.headers.connection }),
      )
    })
  })
  await new Promise<void>((resolve) => sending.write(body.slice(0, 20), () => resolve()))
  return {
    finish: () => {
      sending.end(body.slice(20))
      return answered.finally(() => agent.destroy())
    },
  }
}

scenario('Restarts of the service', start, (test) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal} answers what is under way, and loses and doubles nothing`, async (context) => {
      const { boot, env, project, sink } = context
      const name = signal.toLowerCase()
      const service = await boot()
      const silent = connect({ port: Number(env.PORT), host: '127.0.0.1' }).on('error', () => undefined)
      const upload = `upload-${name}@receiver.example`
      const begun = await beginRequest(service, project, upload)
      const clients = startClients(service, project, name)
      await until('traffic', () => clients.accepted.length > 50)
      const askedAt = performance.now()
      service.signal(signal)
      await pause(300)
      const answer = await begun.finish()
      assert.equal(answer, { status: 200, connection: 'close' })
      const exit = await service.exited
      const stopMs = performance.now() - askedAt
      await clients.ended
      silent.destroy()
      assert.equal(exit, { code: 0, signal: null }, service.output())
      assert.ok(stopMs < STOP_MS, `the stop took ${Math.round(stopMs)} ms`)
      assert.equal(clients.failures, [], 'requests that were cut off')
      assert.is(postgresPid(env.DATA_DIR), null, 'a database server is left over')

      const next = await boot()
      const expected = [...clients.accepted, upload]
      await until('all mail', () => expected.every((to) => sink.counts().has(to)))
      // A request may meet a connection that is being ended, as HTTP has it: then it was not begun.
      assert.equal(
        clients.reset.filter((to) => sink.counts().has(to)),
        [],
        'requests that were begun and not answered',
      )
      assert.equal(
        expected.filter((to) => sink.counts().get(to) !== 1),
        [],
        'sent twice',
      )
      await endGently(next)
    })
  }

  test('after SIGKILL the next start takes over the database that runs', async ({
    boot,
    env,
    project,
    sink,
  }) => {
    const service = await boot()
    const database = postgresPid(env.DATA_DIR)
    await endProcess(service)
    assert.is(postgresPid(env.DATA_DIR), database, 'the database has survived')
    const next = await boot()
    assert.is(postgresPid(env.DATA_DIR), database, 'another database was started')
    const body = sendBody(project, { to: 'adopted@receiver.example' })
    const answer = await callerOf(next.url, project).post('/v1/send', body)
    assert.is(answer.status, 200, answer.text)
    await until('the mail', () => sink.counts().has('adopted@receiver.example'))
    await endGently(next)
    assert.is(postgresPid(env.DATA_DIR), null, 'a database server is left over')
  })

  test('SIGTERM in the middle of a start ends the database, too', async ({ boot, env }) => {
    await endGently(await boot())
    const service = launchProcess(env)
    await until('the database', () => postgresPid(env.DATA_DIR) !== null)
    service.signal('SIGTERM')
    assert.equal(await service.exited, { code: 0, signal: null }, service.output())
    assert.is(postgresPid(env.DATA_DIR), null, 'a database server is left over')
  })

  test('a mail server that does not answer does not keep the service from stopping', async (context) => {
    const { boot, env, project, sink } = context
    const service = await boot()
    const answerAgain = sink.hold()
    const body = sendBody(project, { to: 'held@receiver.example' })
    await callerOf(service.url, project).post('/v1/send', body)
    await until('the mail', () => sink.counts().has('held@receiver.example'))
    service.signal('SIGTERM')
    const exit = await service.exited
    answerAgain()
    // A stop that takes too long ends with another code.
    assert.equal(exit, { code: 0, signal: null }, service.output())
    assert.is(postgresPid(env.DATA_DIR), null, 'a database server is left over')
  })

  test('take seconds', ({ starts }) => {
    console.log(`    started in ${starts.join(', ')} ms`)
    assert.ok(starts.length > 5)
    // The quickest: whatever else the machine does meanwhile slows the others down.
    assert.ok(Math.min(...starts) < START_MS, `the starts took ${starts.join(', ')} ms`)
  })
})

async function endGently(service: ServiceProcess): Promise<void> {
  service.signal('SIGTERM')
  assert.equal(await service.exited, { code: 0, signal: null }, service.output())
}

async function startStalled() {
  const database = await cloneDatabase()
  const proxy = await databaseProxy(database.url)
  const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-stalled-'))
  const env = { DATABASE_URL: proxy.through(database.url), DATA_DIR: dataDir, PORT: String(await ownPort()) }
  const service = await startProcess(env)
  return {
    proxy,
    service,
    stop: async () => {
      await endProcess(service)
      await proxy.stop()
      await database.drop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

scenario('A database that no longer answers', startStalled, (test) => {
  test('does not keep the service from stopping', async ({ proxy, service }) => {
    proxy.stall()
    // The worker has asked for mail and waits for the answer.
    await pause(1_500)
    const askedAt = performance.now()
    service.signal('SIGTERM')
    await service.exited
    const stopMs = performance.now() - askedAt
    assert.ok(stopMs < 35_000, `the stop took ${Math.round(stopMs)} ms`)
  })
})
