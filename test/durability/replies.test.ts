import { createServer } from 'node:http'
import * as assert from 'uvu/assert'
import { startScriptedSmtp } from '../mail/scripted-smtp.ts'
import { listen } from '../support/listen.ts'
import { attempted, emailEvents, sendMail } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { type Service, startService } from '../support/service.ts'

/** A provider's words go into the database; some of them Postgres does not take. Delivery must not stop at them. */
async function startWithSmtp() {
  const smtp = await startScriptedSmtp({})
  const service = await startService({ MAIL_PROVIDER: 'smtp', SMTP_URL: smtp.url })
  return { ...service, script: smtp.script, stop: () => stopBoth(service, smtp.stop) }
}

async function stopBoth(service: Service, stopProvider: () => Promise<void>): Promise<void> {
  await service.stop()
  await stopProvider()
}

scenario('Replies of an SMTP server that no column can hold', startWithSmtp, (test) => {
  test('a NUL in a refusal', async (context) => {
    context.script.RCPT = '550 no\0body'
    const refused = await sendMail(context, 'nobody@receiver.example')
    const row = await attempted(context, refused, 1)
    assert.is(row.status, 'FAILED')
    assert.match(row.error, '550 nobody')
    const [event] = await emailEvents(context, refused)
    assert.match(event.data.reason, '550 nobody')
    delete context.script.RCPT
    const next = await sendMail(context, 'next@receiver.example')
    assert.is((await attempted(context, next, 1)).status, 'SENT')
  })
})

async function startWithMailgun() {
  const api = createServer((request, response) => {
    request.resume()
    request.once('end', () => {
      // What is asked at the start, whether the key is good, is answered well.
      const isMessage = request.method === 'POST'
      response.writeHead(isMessage ? 400 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(isMessage ? { message: answers.shift() ?? '' } : { items: [] }))
    })
  })
  const answers: string[] = []
  const port = await listen(api)
  const service = await startService({
    MAIL_PROVIDER: 'mailgun',
    MAILGUN_API_KEY: 'key',
    MAILGUN_URL: `http://127.0.0.1:${port}`,
  })
  const stopApi = () =>
    new Promise<void>((resolve) => {
      api.close(() => resolve())
      api.closeAllConnections()
    })
  return { ...service, answers, stop: () => stopBoth(service, stopApi) }
}

scenario('Answers of Mailgun that no column can hold', startWithMailgun, (test) => {
  test('a reason that is cut in the middle of a character', async (context) => {
    for (const padding of ['', 'x']) {
      context.answers.push(padding + '😀'.repeat(300))
      const id = await sendMail(context, `cut${padding}@receiver.example`)
      const row = await attempted(context, id, 1)
      assert.is(row.status, 'FAILED')
      assert.match(row.error, '😀😀')
      assert.is((await emailEvents(context, id)).length, 1)
    }
  })
})
