import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { startEmbeddedPostgres } from '../../src/db/embedded/embedded-postgres.ts'
import { provision } from '../support/backstage.ts'
import { startMailgunApi } from '../support/mailgun-api.ts'
import { query } from '../support/query.ts'
import { scenario } from '../support/scenario.ts'
import { callerOf, until } from '../support/service.ts'
import { endProcess, ownPort, type ServiceProcess, startProcess } from '../support/service-process.ts'

const CONTACTS = 600
/** So that a campaign takes several calls. */
const RATE = 100
const KILLS = process.env.DEEP ? 8 : 2

async function start() {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-mailgun-'))
  const api = await startMailgunApi({ answer: () => pause(100).then(() => undefined) })
  const env = {
    ...api.env,
    DATA_DIR: dataDir,
    PORT: String(await ownPort()),
    RATE_LIMIT_PER_MINUTE: '0',
    PROJECT_SEND_RATE_PER_SECOND: String(RATE),
  }
  const postgres = await startEmbeddedPostgres({ dataDir: path.join(dataDir, 'postgres') })
  const project = await provision(env)
  await query(
    postgres.url,
    `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
     select $1, gen_random_uuid(), 'r' || n || '@receiver.example', true, now(), now()
     from generate_series(1, $2::int) as n`,
    [project.id, CONTACTS],
  )
  const state: { service: ServiceProcess | undefined } = { service: undefined }
  return {
    env,
    api,
    project,
    postgres,
    state,
    stop: async () => {
      await endProcess(state.service)
      await postgres.stop()
      await api.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

scenario('A campaign by Mailgun whose worker is killed', start, (test) => {
  test('reaches everybody; twice only who was in a call at that moment', async (context) => {
    const { env, api, project, postgres, state } = context
    state.service = await startProcess(env)
    const caller = callerOf(state.service.url, project)
    const created = await caller.post('/campaigns', {
      name: 'Chaos',
      subject: 'Hello',
      body: '<p>Hello {{email}}, whom we have not written to for a very long time</p>',
      from: `news@${project.domain}`,
      audienceType: 'ALL',
    })
    assert.is(created.status, 201, created.text)
    const { id } = created.body.data
    const sent = await caller.post(`/campaigns/${id}/send`, {})
    assert.is(sent.status, 200, sent.text)
    const settled = async () =>
      (
        await query<{ to: string }>(
          postgres.url,
          "select to_email as to from emails where campaign_id = $1 and status = 'SENT'",
          [id],
        )
      ).map(({ to }) => to)
    const timesOf = (to: string) => api.recipients().filter((one) => one === to).length
    const known = new Map<string, number>()
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const wanted = (kill / (KILLS + 1)) * CONTACTS
      await until(`${wanted} recipients`, () => new Set(api.recipients()).size >= wanted, 60_000)
      await endProcess(state.service)
      // A call that came in before the end is answered to nobody.
      await pause(500)
      for (const to of await settled()) known.set(to, known.get(to) ?? timesOf(to))
      state.service = await startProcess(env)
    }
    const counts = await until(
      'everybody has got it',
      async () => {
        const { body } = await caller.get(`/campaigns/${id}/stats`)
        return body?.data?.status === 'SENT' && body.data
      },
      90_000,
    )
    assert.equal([counts.sentCount, counts.totalRecipients], [CONTACTS, CONTACTS])
    assert.is(new Set(api.recipients()).size, CONTACTS)
    assert.ok(known.size > 0)
    for (const [to, times] of known) assert.is(timesOf(to), times, `${to} was written down as sent`)
    assert.ok(api.calls.length < CONTACTS / 10, `${api.calls.length} calls`)
  })
})
