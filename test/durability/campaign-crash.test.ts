import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { startEmbeddedPostgres } from '../../src/db/embedded/embedded-postgres.ts'
import { provision } from '../support/backstage.ts'
import { type Refusal, startMailSink } from '../support/mail-sink.ts'
import { query } from '../support/query.ts'
import { scenario } from '../support/scenario.ts'
import { seeded } from '../support/seeded.ts'
import { callerOf, until } from '../support/service.ts'
import { endProcess, ownPort, type ServiceProcess, startProcess } from '../support/service-process.ts'

const CONTACTS = 400
const UNSUBSCRIBED = 40
const KILLS = process.env.DEEP ? 10 : 3
const HOLD_MS = 20

/** Every tenth recipient is not there; every seventh server has a bad moment at first. */
function refuse(to: string, attempt: number): Refusal | null {
  const number = Number(/\d+/.exec(to)?.[0])
  if (number % 10 === 3) return { at: 'RCPT', code: 550, text: 'no such user' }
  return number % 7 === 0 && attempt === 1 ? { at: 'DATA', code: 451, text: 'try again' } : null
}

async function start() {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-campaign-'))
  const sink = await startMailSink({ holdMs: HOLD_MS, refuse })
  const env = {
    DATA_DIR: dataDir,
    PORT: String(await ownPort()),
    MAIL_PROVIDER: 'smtp',
    SMTP_URL: sink.url,
    SMTP_CONNECTIONS: '4',
    RATE_LIMIT_PER_MINUTE: '0',
    PROJECT_SEND_RATE_PER_SECOND: '0',
  }
  const postgres = await startEmbeddedPostgres({ dataDir: path.join(dataDir, 'postgres') })
  const project = await provision(env)
  await query(
    postgres.url,
    `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
     select $1, gen_random_uuid(), 'r' || n || '@receiver.example', n > $2, now(), now()
     from generate_series(1, $3::int) as n`,
    [project.id, UNSUBSCRIBED, CONTACTS],
  )
  const state: { service: ServiceProcess | undefined } = { service: undefined }
  return {
    env,
    sink,
    project,
    postgres,
    state,
    stop: async () => {
      await endProcess(state.service)
      await postgres.stop()
      await sink.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

scenario('A campaign whose worker is killed', start, (test) => {
  test('reaches everybody, nobody more often than once for each kill, and ends', (context) =>
    seeded(async (random) => {
      const { env, sink, project, postgres, state } = context
      state.service = await startProcess(env)
      const caller = callerOf(state.service.url, project)
      const created = await caller.post('/campaigns', {
        name: 'Chaos',
        subject: 'Hello',
        body: '<p>Hello {{email}}</p>',
        from: `news@${project.domain}`,
        audienceType: 'ALL',
      })
      assert.is(created.status, 201, created.text)
      const { id } = created.body.data
      const sent = await caller.post(`/campaigns/${id}/send`, {})
      assert.is(sent.status, 200, sent.text)
      for (let kill = 1; kill <= KILLS; kill += 1) {
        const wanted = Math.floor((kill / (KILLS + 1)) * CONTACTS * 0.8)
        await until(`${wanted} arrivals`, () => sink.arrivals.length >= wanted)
        await pause(random.between(0, 50))
        await endProcess(state.service)
        state.service = await startProcess(env)
      }
      const counts = await until(
        'every recipient is in a final state',
        async () => {
          await pause(250)
          // A refusal and a kill together put a message off by minutes, which nobody waits for here.
          await query(
            postgres.url,
            "update deliveries set due_at = now() where taken_by is null and due_at between now() and now() + interval '1 day'",
          )
          const { body } = await caller.get(`/campaigns/${id}/stats`)
          return body?.data?.status === 'SENT' && body.data
        },
        90_000,
      )
      const ledger = await query<{ status: string; email: string; subscribed: boolean }>(
        postgres.url,
        `select r.status, c.email, c.subscribed from campaign_recipients r join contacts c
           on c.project_id = r.project_id and c.id = r.contact_id where r.campaign_id = $1`,
        [id],
      )
      assert.is(ledger.length, CONTACTS)
      const arrived = sink.counts()
      for (const { status, email, subscribed } of ledger) {
        const isThere = refuse(email, 2) === null
        assert.is(status, !subscribed ? 'SKIPPED' : isThere ? 'SENT' : 'FAILED', email)
        assert.is(arrived.has(email), status === 'SENT', email)
      }
      const repeated = [...arrived.values()].reduce((sum, count) => sum + count - 1, 0)
      // At a kill each connection may have a message in flight, and what has arrived is written down in batches.
      assert.ok(repeated <= 16 * KILLS, `${repeated} arrived more than once`)
      const numberOf = (status: string) => ledger.filter((one) => one.status === status).length
      assert.equal(
        [counts.sentCount, counts.failedCount, counts.skippedCount, counts.totalRecipients],
        [numberOf('SENT'), numberOf('FAILED'), numberOf('SKIPPED'), CONTACTS],
      )
    }))
})
