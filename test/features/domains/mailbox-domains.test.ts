import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { type App, startApp } from '../../../src/app.ts'
import type { Config } from '../../../src/config.ts'
import { forceVerified } from '../../../src/features/domains/domains.ts'
import { createLog } from '../../../src/observe/log.ts'
import { type MailSink, startMailSink } from '../../support/mail-sink.ts'
import { emailRow, sendBody } from '../../support/mailing.ts'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, requestTo, type Service, startService, until } from '../../support/service.ts'
import { filesOf } from '../../support/sources.ts'

type Context = Service & { sink: MailSink; leaving: App }

/** A service that keeps mail, and one on the same database from which mail leaves. */
async function startBoth(environment: Config['environment']): Promise<Context> {
  const sink = await startMailSink()
  const service = await startService({ ROLES: 'http' })
  const { config } = service.app
  const mail: Config['mail'] = { provider: 'smtp', url: sink.url, connections: 1, ehloName: '[127.0.0.1]' }
  const apiUrl = 'http://127.0.0.1:0'
  const other: Config = { ...config, environment, mail, port: 0, apiUrl, roles: ['http', 'worker'] }
  const leaving = await startApp(other, createLog('silent'))
  const stop = async () => {
    await leaving.stop()
    await service.stop()
    await sink.stop()
  }
  return { ...service, sink, leaving, stop }
}

/** Adds a domain where mail stays. */
async function added(context: Context): Promise<string> {
  const domain = `n${randomUUID().slice(0, 8)}.example`
  const key = context.project.secret
  const { body } = await context.as(key).post('/domains', { domain })
  assert.equal([body.status, body.verified], ['VERIFIED', true])
  return domain
}

const ask = ({ leaving, project }: Context, method: string, path: string, body?: object): Promise<Answer> =>
  requestTo(`${leaving.config.apiUrl}${path}`, method, { key: project.secret, body })

const sendFrom = (context: Context, domain: string) =>
  ask(context, 'POST', '/v1/send', sendBody(context.project, { from: `hello@${domain}` }))

async function listed(context: Context, domain: string) {
  const { body } = await ask(context, 'GET', `/domains/project/${context.project.id}`)
  return body.find((one: { domain: string }) => one.domain === domain)
}

for (const environment of ['development', 'production'] as const) {
  scenario(
    `A domain that was added while mail stayed in the mailbox, in ${environment}`,
    () => startBoth(environment),
    (test) => {
      test('is pending where mail leaves, and mail from it is refused', async (context) => {
        const domain = await added(context)
        const { status, verified, verifiedAt, records } = await listed(context, domain)
        assert.equal([status, verified, verifiedAt], ['PENDING', false, null])
        assert.equal(
          new Set(records.map((record: { status: string }) => record.status)),
          new Set(['PENDING']),
        )
        assertRefused(await sendFrom(context, domain), 403, 'INTERNAL_SERVER_ERROR')
        const template = { name: 'T', subject: 'S', body: 'B', from: `hello@${domain}` }
        assertRefused(await ask(context, 'POST', '/templates', template), 403, 'INTERNAL_SERVER_ERROR')
      })

      test('is verified where mail stays, all the time', async (context) => {
        const domain = await added(context)
        const { key, body } = { key: context.project.secret, body: { from: `hello@${domain}` } }
        const answer = await context.as(key).post('/v1/send', sendBody(context.project, body))
        assert.is(answer.status, 200)
      })

      test('sends nothing of what was accepted for the mailbox', async (context) => {
        const domain = await added(context)
        const body = sendBody(context.project, { from: `hello@${domain}`, to: `kept@${environment}.example` })
        const accepted = await context.as().post('/v1/send', body)
        const id = accepted.body.data.emails[0].email
        const email = await until('it is tried', async () => {
          const row = await emailRow(context, id)
          return row.error !== null && row
        })
        assert.is(email.status, 'PENDING')
        assert.match(email.error, 'not verified')
        assert.is(context.sink.attemptsFor(`kept@${environment}.example`), 0)
      })

      test('may send once somebody vouches for it', async (context) => {
        const domain = await added(context)
        await forceVerified(context.ctx(context.project.id), domain)
        assert.is((await listed(context, domain)).status, 'VERIFIED')
        assert.is((await sendFrom(context, domain)).status, 200)
      })
    },
  )
}

const [file = ''] = filesOf('prisma/migrations/*_domains_mailbox_only/migration.sql')
const MIGRATION = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')

scenario(
  'The migration of domains',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('knows those that were verified because mail stayed in the mailbox', async (service) => {
      const { sql, project } = service
      const add = async (status: string, verifiedAt: string | null) => {
        const id = randomUUID()
        await sql(
          `insert into domains (project_id, id, domain, status, verified_at, created_at, updated_at)
           values ($1, $2::uuid, $2 || '.example', $3::domain_status, $4, '2026-01-01T00:00:00Z', now())`,
          [project.id, id, status, verifiedAt],
        )
        return id
      }
      const mailbox = await add('VERIFIED', '2026-01-01T00:00:00Z')
      const others = [
        await add('VERIFIED', '2026-01-01T00:00:01Z'),
        await add('PENDING', null),
        await add('FAILED', '2026-01-01T00:00:00Z'),
      ]
      await sql(MIGRATION.slice(MIGRATION.indexOf('UPDATE')))
      const rows = await sql('select id from domains where mailbox_only and id = any($1)', [
        [mailbox, ...others],
      ])
      assert.equal(rows, [{ id: mailbox }])
    })
  },
)
