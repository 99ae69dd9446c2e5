import * as assert from 'uvu/assert'
import type { DeliveryResult } from '../../src/mail/mailer.ts'
import { createSmtpMailer } from '../../src/mail/smtp.ts'
import { nothingShared, scenario } from '../support/scenario.ts'
import { type Script, startScriptedSmtp } from './scripted-smtp.ts'
import { mailWith } from './support.ts'

const short = { connection: 300, greeting: 200, socket: 200, send: 5000 }

/** Sends one message to a server that follows the script. */
async function outcome(script: Script, timeouts = short): Promise<DeliveryResult> {
  const server = await startScriptedSmtp(script)
  const mailer = createSmtpMailer({ url: server.url, timeouts })
  const result = await mailer.send(mailWith())
  await mailer.close()
  await server.stop()
  return result
}

/** A port of this machine on which nobody listens. */
async function freePort(): Promise<number> {
  const server = await startScriptedSmtp({})
  await server.stop()
  return server.port
}

scenario('SMTP: what the server says', nothingShared, (test) => {
  const points = ['MAIL', 'RCPT', 'DATA', 'end'] as const

  for (const point of points) {
    test(`a 4xx reply to ${point} is temporary`, async () => {
      assert.equal(await outcome({ [point]: '451 4.3.0 Try later' }), {
        kind: 'temporary',
        reason: '451 4.3.0 Try later',
      })
    })

    test(`a 5xx reply to ${point} is permanent`, async () => {
      assert.equal(await outcome({ [point]: '550-5.1.1 No such\r\n550 5.1.1 user' }), {
        kind: 'permanent',
        reason: '550-5.1.1 No such 550 5.1.1 user',
      })
    })

    test(`a connection lost at ${point} is temporary`, async () => {
      assert.is((await outcome({ [point]: 'drop' })).kind, 'temporary')
    })

    test(`a server that hangs at ${point} is temporary, soon`, async () => {
      assert.is((await outcome({ [point]: 'hang' })).kind, 'temporary')
    })
  }

  test('a connection lost in the middle of the message is temporary', async () => {
    assert.is((await outcome({ body: 'drop' })).kind, 'temporary')
  })

  test('refusals that are not about the message are temporary', async () => {
    const scripts: Script[] = [
      { greeting: '554 5.7.1 Your address is blocked' },
      { greeting: '421 Too many connections' },
      { MAIL: '530 5.7.0 Must issue a STARTTLS command first' },
      { MAIL: '421 4.7.0 Closing' },
      { end: '421 4.7.0 Closing' },
      { RCPT: 'nonsense' },
      { end: '503 5.5.1 Bad sequence of commands' },
    ]
    for (const script of scripts) {
      assert.is((await outcome(script)).kind, 'temporary', JSON.stringify(script))
    }
  })

  test('a server that hangs or hangs up before the first command is temporary, soon', async () => {
    for (const script of [{ greeting: 'hang' }, { EHLO: 'hang' }, { EHLO: 'drop' }]) {
      assert.is((await outcome(script)).kind, 'temporary', JSON.stringify(script))
    }
    const closing = await outcome({ greeting: 'drop' }, { ...short, send: 400 })
    assert.is(closing.kind, 'temporary')
  })

  test('a server that trickles its replies is given up after a bounded time', async () => {
    for (const point of ['greeting', 'RCPT', 'end']) {
      const server = await startScriptedSmtp({ [point]: 'trickle' })
      const mailer = createSmtpMailer({
        url: server.url,
        maxConnections: 1,
        timeouts: { connection: 60_000, greeting: 60_000, socket: 100, send: 300 },
      })
      const results = await Promise.all([mailer.send(mailWith()), mailer.send(mailWith())])
      assert.equal(
        results.map(({ kind }) => kind),
        ['temporary', 'temporary'],
      )
      await mailer.close()
      await server.stop()
    }
  })

  test('a reply is shown up to 500 characters', async () => {
    const result = await outcome({ RCPT: `550 ${'x'.repeat(5000)}` })
    assert.equal(result, { kind: 'permanent', reason: `550 ${'x'.repeat(496)}` })
  })

  test('an address that SMTP cannot carry is permanent', async () => {
    const server = await startScriptedSmtp({ MAIL: '553 5.6.7 Non-ASCII addresses not permitted' })
    const mailer = createSmtpMailer({ url: server.url, timeouts: short })
    const result = await mailer.send(mailWith({ from: { address: 'jürgen@sender.example' } }))
    assert.is(result.kind, 'permanent')
    await mailer.close()
    await server.stop()
  })

  test('the queue id is taken from the reply when there is one', async () => {
    const ids = {
      '250 2.0.0 Ok: queued as 4XyZ1234': '4XyZ1234',
      '250 OK id=1tQ2aB-000000-Cd': '1tQ2aB-000000-Cd',
      '250 2.0.0 x5A1b2C3 Message accepted for delivery': 'x5A1b2C3',
      '250 Ok 0100018b5c3c0a4f-1234-000000': '0100018b5c3c0a4f-1234-000000',
      '250 Ok': null,
      '250 2.0.0 accepted': null,
    }
    for (const [reply, providerMessageId] of Object.entries(ids)) {
      assert.equal(await outcome({ end: reply }), { kind: 'sent', providerMessageId })
    }
  })
})

scenario('SMTP: a server that comes and goes', nothingShared, (test) => {
  test('refused connections and unknown hosts are temporary', async () => {
    const refused = createSmtpMailer({ url: `smtp://127.0.0.1:${await freePort()}`, timeouts: short })
    const result = await refused.send(mailWith())
    assert.is(result.kind, 'temporary')
    assert.match(result.kind === 'temporary' ? result.reason : '', 'ECONNREFUSED')
    const unknown = createSmtpMailer({ url: 'smtp://mail.invalid', timeouts: short })
    assert.is((await unknown.send(mailWith())).kind, 'temporary')
    await Promise.all([refused.close(), unknown.close()])
  })

  test('idle connections that the server closed cost nothing', async () => {
    const server = await startScriptedSmtp({})
    const mailer = createSmtpMailer({ url: server.url, maxConnections: 2, timeouts: short })
    for (let round = 0; round < 3; round += 1) {
      const results = await Promise.all([mailer.send(mailWith()), mailer.send(mailWith())])
      assert.ok(results.every(({ kind }) => kind === 'sent'))
      server.dropAll()
    }
    assert.ok(server.seen.connections >= 5)
    await mailer.close()
    await server.stop()
  })

  test('an idle connection that timed out says goodbye without an error', async () => {
    const server = await startScriptedSmtp({})
    const mailer = createSmtpMailer({ url: server.url, timeouts: { ...short, socket: 50 } })
    assert.is((await mailer.send(mailWith())).kind, 'sent')
    await server.deserted()
    assert.is((await mailer.send(mailWith())).kind, 'sent')
    assert.is(server.seen.connections, 2)
    await mailer.close()
    await server.stop()
  })

  test('mail flows again once the server is back', async () => {
    const server = await startScriptedSmtp({})
    const mailer = createSmtpMailer({ url: server.url, maxConnections: 2, timeouts: short })
    assert.is((await mailer.send(mailWith())).kind, 'sent')
    await server.stop()
    const away = await Promise.all(Array.from({ length: 5 }, () => mailer.send(mailWith())))
    assert.ok(away.every(({ kind }) => kind === 'temporary'))
    const back = await startScriptedSmtp({}, server.port)
    const again = await Promise.all(Array.from({ length: 5 }, () => mailer.send(mailWith())))
    assert.ok(again.every(({ kind }) => kind === 'sent'))
    await mailer.close()
    await back.stop()
  })

  test('a message that was refused does not spoil its connection', async () => {
    const server = await startScriptedSmtp({ RCPT: '550 5.1.1 no' })
    const mailer = createSmtpMailer({ url: server.url, maxConnections: 1, timeouts: short })
    assert.is((await mailer.send(mailWith())).kind, 'permanent')
    delete server.script.RCPT
    assert.is((await mailer.send(mailWith())).kind, 'sent')
    assert.is(server.seen.connections, 1)
    await mailer.close()
    await server.stop()
  })

  test('a message whose body was on its way is not sent twice by the pool', async () => {
    const server = await startScriptedSmtp({})
    const mailer = createSmtpMailer({ url: server.url, maxConnections: 1, timeouts: short })
    await mailer.send(mailWith())
    server.script.end = 'drop'
    assert.is((await mailer.send(mailWith())).kind, 'temporary')
    assert.is(server.seen.commands.filter((command) => command === 'DATA').length, 2)
    await mailer.close()
    await server.stop()
  })
})
