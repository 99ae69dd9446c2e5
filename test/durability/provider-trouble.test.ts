import { createServer } from 'node:http'
import * as assert from 'uvu/assert'
import { type CapturedLog, capturedLog } from '../support/captured-log.ts'
import { listen } from '../support/listen.ts'
import { type MailSink, startMailSink } from '../support/mail-sink.ts'
import { emailRow, sendMail } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { type Service, startService, until } from '../support/service.ts'

type Context = Service & { log: CapturedLog; server: { accepts: boolean }; sink: MailSink }

/** A service with a password that its SMTP server does not take until the test says so. */
async function start(): Promise<Context> {
  const server = { accepts: false }
  const sink = await startMailSink({
    server: {
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) =>
        server.accepts
          ? done(null, { user: 'mailwright' })
          : done(Object.assign(new Error('5.7.8 Bad password'), { responseCode: 535 })),
    },
  })
  const log = capturedLog()
  const service = await startService(
    { MAIL_PROVIDER: 'smtp', SMTP_URL: `smtp://mailwright:wrong@${sink.host}` },
    { log: log.log },
  )
  return {
    ...service,
    log,
    server,
    sink,
    stop: async () => {
      await service.stop()
      await sink.stop()
    },
  }
}

const warnings = ({ log }: Context) =>
  log.lines().filter(({ msg, level }) => Number(level) >= 40 && String(msg).includes('can leave'))

const readiness = async ({ call }: Context) => (await call('GET', '/health/ready')).body

scenario('A provider that refuses the log-in', start, (test) => {
  test('is noticed at the start, before any mail is sent', async (context) => {
    await until('the warning', () => warnings(context).length > 0)
    const [warning] = warnings(context)
    assert.match(String(warning?.reason), /password|535/i)
    assert.match(String(warning?.advice), /SMTP_URL/)
    const body = await until('readiness tells', async () => {
      const found = await readiness(context)
      return found.status === 'degraded' && found
    })
    assert.is(body.checks.mail, 'degraded')
  })

  test('costs no message an attempt, is warned of once, and mail leaves when it is mended', async (context) => {
    const ids: string[] = []
    for (const name of ['ada', 'grace', 'alan']) ids.push(await sendMail(context, `${name}@receiver.example`))
    // The pause after the start ends, and the provider is asked again at least once.
    await until(
      'it is asked again',
      async () => {
        const [trouble] = await context.sql('select failures from provider_troubles')
        return (trouble?.failures ?? 0) >= 2
      },
      20_000,
    )
    for (const id of ids) {
      const row = await emailRow(context, id)
      assert.equal([row.status, row.attempts], ['PENDING', 0])
    }
    assert.is(warnings(context).length, 1, 'one warning, however many messages and tries')
    context.server.accepts = true
    for (const id of ids) {
      await until('it is sent', async () => (await emailRow(context, id)).status === 'SENT', 40_000)
    }
    assert.is(context.sink.arrivals.length, ids.length)
    await until('readiness is well again', async () => (await readiness(context)).status === 'ok')
  })
})

type MailgunContext = Service & { refused: Set<string>; accepted: string[] }

/** A stand-in for Mailgun's API that does not know some domains. */
async function startWithMailgun(): Promise<MailgunContext> {
  const refused = new Set<string>()
  const accepted: string[] = []
  const api = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      const domain = /^\/v3\/([^/]+)\/messages/.exec(request.url ?? '')?.[1]
      const isKnown = domain === undefined || !refused.has(domain)
      if (isKnown && domain) accepted.push(domain)
      response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' })
      const message = isKnown ? 'Queued. Thank you.' : `Domain not found: ${domain}`
      response.end(JSON.stringify({ id: `<${accepted.length}@stand-in>`, message }))
    })
  })
  const port = await listen(api)
  const service = await startService({
    MAIL_PROVIDER: 'mailgun',
    MAILGUN_API_KEY: 'key-of-the-test',
    MAILGUN_URL: `http://127.0.0.1:${port}`,
  })
  return {
    ...service,
    refused,
    accepted,
    stop: async () => {
      await service.stop()
      api.closeAllConnections()
      await new Promise<void>((resolve) => api.close(() => resolve()))
    },
  }
}

scenario('A provider that does not know one sender domain', startWithMailgun, (test) => {
  test('holds up the mail of that domain only, and costs it no attempt', async (context) => {
    const { newProject, refused, accepted, sql } = context
    const [unknown, known] = [await newProject(), await newProject()]
    refused.add(unknown.domain)
    const held = await sendMail(context, 'held@receiver.example', {}, unknown)
    const row = await until('it is refused', async () => {
      const found = await emailRow(context, held)
      return found.error && found
    })
    assert.equal([row.status, row.attempts], ['PENDING', 0])
    assert.match(row.error, 'Domain not found')
    const other = await sendMail(context, 'other@receiver.example', {}, known)
    await until('other mail leaves', async () => (await emailRow(context, other)).status === 'SENT')
    const troubles = await sql('select name from provider_troubles')
    assert.equal(
      troubles.map(({ name }) => name),
      [unknown.domain],
    )
    refused.clear()
    await until('it leaves as well', async () => (await emailRow(context, held)).status === 'SENT', 30_000)
    assert.equal([...new Set(accepted)].sort(), [known.domain, unknown.domain].sort())
    assert.equal(await sql('select from provider_troubles'), [])
  })
})
