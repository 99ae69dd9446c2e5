import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { startEmbeddedPostgres } from '../../src/db/embedded/embedded-postgres.ts'
import { provision } from '../support/backstage.ts'
import { listen } from '../support/listen.ts'
import { startMailSink } from '../support/mail-sink.ts'
import { query } from '../support/query.ts'
import { scenario } from '../support/scenario.ts'
import { seeded } from '../support/seeded.ts'
import { type Body, type Caller, callerOf, until } from '../support/service.ts'
import { endProcess, ownPort, type ServiceProcess, startProcess } from '../support/service-process.ts'

const CONTACTS = process.env.DEEP ? 1_000 : 200
const KILLS = process.env.DEEP ? 10 : 3
/** The steps that each passes, the TRIGGER included. */
const [PRO_STEPS, FREE_STEPS] = [8, 9]

/** A server that webhooks go to, slow enough that some are under way at any moment. */
async function startReceiver() {
  const ids: string[] = []
  const server = createServer((request, response) => {
    ids.push(String(request.headers['webhook-id']))
    request.resume()
    setTimeout(() => response.writeHead(204).end(), 20)
  })
  const port = await listen(server)
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return { ids, url: `http://127.0.0.1:${port}`, stop }
}

async function start() {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-workflow-'))
  const sink = await startMailSink({ holdMs: 5 })
  const receiver = await startReceiver()
  const env = {
    DATA_DIR: dataDir,
    PORT: String(await ownPort()),
    MAIL_PROVIDER: 'smtp',
    SMTP_URL: sink.url,
    SMTP_CONNECTIONS: '4',
    RATE_LIMIT_PER_MINUTE: '0',
    PROJECT_SEND_RATE_PER_SECOND: '0',
    ALLOW_PRIVATE_WEBHOOKS: 'true',
  }
  const postgres = await startEmbeddedPostgres({ dataDir: path.join(dataDir, 'postgres') })
  const project = await provision(env)
  const state: { service: ServiceProcess | undefined } = { service: undefined }
  return {
    env,
    sink,
    receiver,
    project,
    postgres,
    state,
    stop: async () => {
      await endProcess(state.service)
      await postgres.stop()
      await sink.stop()
      receiver.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function posted(caller: Caller, at: string, body: object): Promise<Body> {
  const answer = await caller.post(at, body)
  assert.is(answer.status, 201, answer.text)
  return answer.body
}

/**
 * The way of every contact: an update, a mail, a call, a delay, a condition. Those of the plan "pro" wait for an event, which comes,
 * and get another mail; the others wait for one that does not come, are changed once more and exit.
 */
async function journey(caller: Caller, domain: string, receiverUrl: string): Promise<string> {
  const template = {
    name: 'n',
    subject: 'Hello',
    body: '<p>Hello</p>',
    from: `news@${domain}`,
    type: 'TRANSACTIONAL',
  }
  const { id: templateId } = await posted(caller, '/templates', template)
  const { id, steps } = await posted(caller, '/workflows', { name: 'Chaos', eventName: 'began' })
  const add = async (step: object): Promise<string> =>
    (await posted(caller, `/workflows/${id}/steps`, step)).id
  const connect = (fromStepId: string, toStepId: string, branch?: string) =>
    posted(caller, `/workflows/${id}/transitions`, { fromStepId, toStepId, branch })
  const update = await add({ type: 'UPDATE_CONTACT', config: { updates: { seen: true } } })
  const first = await add({ type: 'SEND_EMAIL', templateId })
  const hook = await add({
    type: 'WEBHOOK',
    config: { url: `${receiverUrl}/{{id}}`, method: 'POST', body: {} },
  })
  const delay = await add({ type: 'DELAY', config: { amount: 0.01, unit: 'minutes' } })
  const fork = await add({
    type: 'CONDITION',
    config: { field: 'data.plan', operator: 'equals', value: 'pro' },
  })
  const paid = await add({ type: 'WAIT_FOR_EVENT', config: { eventName: 'paid' } })
  const thanks = await add({ type: 'SEND_EMAIL', templateId })
  const never = await add({ type: 'WAIT_FOR_EVENT', config: { eventName: 'never', timeout: 1 } })
  const late = await add({ type: 'UPDATE_CONTACT', config: { updates: { late: true } } })
  const exit = await add({ type: 'EXIT', config: { reason: 'free' } })
  await connect(steps[0].id, update)
  await connect(update, first)
  await connect(first, hook)
  await connect(hook, delay)
  await connect(delay, fork)
  await connect(fork, paid, 'yes')
  await connect(paid, thanks, 'event')
  await connect(fork, never, 'no')
  await connect(never, late, 'timeout')
  await connect(late, exit)
  const enabled = await caller.patch(`/workflows/${id}`, { enabled: true })
  assert.is(enabled.status, 200, enabled.text)
  return id
}

/** Tracks the event that executions wait for as soon as they do, until told to stop; what a kill cuts off is tracked again. */
function payWhoWaits(databaseUrl: string, caller: Caller) {
  const ended = new AbortController()
  const waiting = `select c.email from workflow_executions x join contacts c on c.project_id = x.project_id and c.id = x.contact_id
    where x.waiting_for_event = 'paid'`
  const paying = (async () => {
    while (!ended.signal.aborted) {
      for (const { email } of await query<{ email: string }>(databaseUrl, waiting)) {
        await caller.post('/v1/track', { email, event: 'paid' }).catch(() => pause(100))
      }
      await pause(100)
    }
  })()
  return async () => {
    ended.abort()
    await paying
  }
}

scenario('A workflow whose worker is killed', start, (test) => {
  test('brings everybody to the right end, with every step and every message once', (context) =>
    seeded(async (random) => {
      const { env, sink, receiver, project, postgres, state } = context
      state.service = await startProcess(env)
      const caller = callerOf(state.service.url, project)
      const id = await journey(caller, project.domain, receiver.url)
      const publicCaller = callerOf(state.service.url, project.public)
      for (let number = 0; number < CONTACTS; number += 1) {
        const data = { plan: number % 2 === 0 ? 'pro' : 'free' }
        const email = `r${number}@receiver.example`
        const answer = await publicCaller.post('/v1/track', { email, event: 'began', data })
        assert.is(answer.status, 200, answer.text)
      }
      const stepsDone = async () => {
        const [row] = await query<{ count: number }>(
          postgres.url,
          'select count(*)::int as count from step_executions',
        )
        return row?.count ?? 0
      }
      const all = (CONTACTS / 2) * (PRO_STEPS + FREE_STEPS)
      const stopPaying = payWhoWaits(postgres.url, publicCaller)
      const cutOff = new Set<string>()
      const killed = async () => {
        for (let kill = 1; kill <= KILLS; kill += 1) {
          const wanted = Math.floor((kill / (KILLS + 1)) * all * 0.8)
          await until(`${wanted} steps`, async () => (await stepsDone()) >= wanted)
          await pause(random.between(0, 50))
          await endProcess(state.service)
          const underWay = 'select id from webhook_messages where taken_by is not null'
          for (const { id: callId } of await query<{ id: string }>(postgres.url, underWay)) cutOff.add(callId)
          state.service = await startProcess(env)
        }
        return await until(
          'every execution is over',
          async () => {
            const found = await query<Body>(
              postgres.url,
              `select x.status, x.exit_reason, x.context ->> 'plan' as plan, c.data, array_agg(s.status::text) as steps,
               array_agg(s.attempts) as attempts,
               (select count(*) from emails e where e.workflow_execution_id = x.id)::int as mails
             from workflow_executions x join contacts c on c.project_id = x.project_id and c.id = x.contact_id
             join step_executions s on s.project_id = x.project_id and s.execution_id = x.id
             where x.workflow_id = $1 group by x.project_id, x.id, c.project_id, c.id`,
              [id],
            )
            const isOver = ({ status }: Body) => status !== 'RUNNING' && status !== 'WAITING'
            return found.length === CONTACTS && found.every(isOver) && found
          },
          90_000,
        )
      }
      const executions = await killed().finally(stopPaying)
      for (const { status, exit_reason: reason, plan, data, steps, attempts, mails } of executions) {
        const isPro = plan === 'pro'
        assert.equal([status, reason, mails], isPro ? ['COMPLETED', null, 2] : ['EXITED', 'free', 1])
        assert.equal(data, { plan, seen: true, ...(!isPro && { late: true }) })
        assert.is(steps.length, isPro ? PRO_STEPS : FREE_STEPS)
        assert.ok([...steps, ...attempts].every((one: unknown) => one === 'COMPLETED' || one === 1))
      }
      const calls = Map.groupBy(receiver.ids, (callId) => callId)
      assert.is(calls.size, CONTACTS)
      const calledAgain = [...calls].filter(([, all]) => all.length > 1).map(([callId]) => callId)
      assert.equal(
        calledAgain.filter((callId) => !cutOff.has(callId)),
        [],
      )
      const mails = (CONTACTS / 2) * 3
      await until(
        'all mail arrived',
        () => sink.counts().size === CONTACTS && sink.arrivals.length >= mails,
        90_000,
      )
      const repeated = sink.arrivals.length - mails
      assert.ok(repeated <= 16 * KILLS, `${repeated} arrived more than once`)
    }))
})
