import * as assert from 'uvu/assert'
import { type App, startApp } from '../../src/app.ts'
import type { Config } from '../../src/config.ts'
import { createLog } from '../../src/observe/log.ts'
import { type MailSink, type Refusal, startMailSink } from '../support/mail-sink.ts'
import { emailRow, sendBody } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { callerOf, type Service, startService, until } from '../support/service.ts'

const MINUTE = 60_000
const BUSY: Refusal = { at: 'RCPT', code: 450, text: '4.2.0 Greylisted' }

type Context = Service & { sink: MailSink; urls: string[] }

/** Two processes on one database whose clocks are two minutes apart, beside the first one, whose clock is right. */
async function start(): Promise<Context> {
  const sink = await startMailSink({
    refuse: (to, attempt) => (to.startsWith('busy') && attempt === 1 ? BUSY : null),
  })
  const service = await startService({ MAIL_PROVIDER: 'smtp', SMTP_URL: sink.url, ROLES: 'http' })
  const { config } = service.app
  const apps: App[] = []
  for (const skew of [MINUTE, -MINUTE]) {
    const skewed: Config = { ...config, port: 0, apiUrl: 'http://127.0.0.1:0', roles: ['http', 'worker'] }
    apps.push(await startApp(skewed, createLog('silent'), { now: () => new Date(Date.now() + skew) }))
  }
  return {
    ...service,
    sink,
    urls: apps.map((app) => app.config.apiUrl),
    stop: async () => {
      for (const app of apps) await app.stop()
      await service.stop()
      await sink.stop()
    },
  }
}

async function sendBy(context: Context, url: string, to: string): Promise<string> {
  const { project } = context
  const body = sendBody(project, { to })
  const answer = await callerOf(url, project).post('/v1/send', body)
  assert.is(answer.status, 200, answer.text)
  return answer.body.data.emails[0].email
}

scenario('Processes whose clocks are a minute ahead and a minute behind', start, (test) => {
  test('deliver every message once, at once', async (context) => {
    const { urls, sink } = context
    const ids: string[] = []
    for (let index = 0; index < 20; index += 1) {
      ids.push(await sendBy(context, urls[index % 2] ?? '', `skewed${index}@receiver.example`))
    }
    const startedAt = performance.now()
    for (const id of ids) {
      await until('it is sent', async () => (await emailRow(context, id)).status === 'SENT')
    }
    assert.ok(performance.now() - startedAt < 40_000, 'nobody waits for a clock')
    const counts = [...sink.counts()].filter(([to]) => to.startsWith('skewed'))
    assert.is(counts.length, ids.length)
    assert.ok(
      counts.every(([, count]) => count === 1),
      'no message twice',
    )
  })

  test('agree on when a message is tried again', async (context) => {
    const { urls, sql } = context
    for (const [index, url] of urls.entries()) {
      const id = await sendBy(context, url, `busy${index}@receiver.example`)
      const [row] = await until('the first attempt', async () => {
        const rows = await sql<{ wait: number }>(
          `select extract(epoch from due_at - now())::float8 as wait from deliveries
           where email_id = $1 and attempts = 1 and taken_by is null`,
          [id],
        )
        return rows.length > 0 && rows
      })
      const wait = row?.wait ?? 0
      assert.ok(wait > 40 && wait <= 72, `tried again in ${wait} s, whoever has the first try`)
    }
  })
})
