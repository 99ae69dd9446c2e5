import * as assert from 'uvu/assert'
import type { DeliveryResult, Mailer } from '../../src/mail/mailer.ts'
import { createSmtpMailer, type SmtpOptions } from '../../src/mail/smtp.ts'
import { nothingShared, scenario } from '../support/scenario.ts'
import { type Script, type ScriptedSmtp, startScriptedSmtp } from './scripted-smtp.ts'
import { during, mailWith } from './support.ts'

const checkServer =
  'Check the port in SMTP_URL, smtp:// against smtps://, and whether the server takes connections.'

type Options = Omit<SmtpOptions, 'url'>

/** A server that follows the script, and a mailer that sends to it. */
async function talk<T>(
  script: Script,
  options: Options,
  use: (mailer: Mailer, server: ScriptedSmtp) => Promise<T>,
): Promise<T> {
  return during(await startScriptedSmtp(script), async (server) => {
    const mailer = createSmtpMailer({ url: server.url, ...options })
    const result = await use(mailer, server)
    await mailer.close()
    return result
  })
}

/** What becomes of one message. */
const outcome = (script: Script, options: Options = {}): Promise<DeliveryResult> =>
  talk(script, options, (mailer) => mailer.send(mailWith()))

const kindsOf = (results: DeliveryResult[]) => results.map(({ kind }) => kind)
const sendMany = (mailer: Mailer, count: number) =>
  Promise.all(Array.from({ length: count }, () => mailer.send(mailWith())))

/** A port of this machine on which nobody listens. */
const freePort = async (): Promise<number> => during(await startScriptedSmtp({}), async ({ port }) => port)

scenario('SMTP: what the server says', nothingShared, (test) => {
  test('a reply that asks for less mail is told from one about a mailbox, or of a server that takes nobody', async () => {
    const slowedDown = async (script: Parameters<typeof outcome>[0]) => 'slowDown' in (await outcome(script))
    for (const reply of [
      '421 4.7.28 Rate',
      '421 Busy',
      '451 4.7.650 Busy',
      '450 4.3.2 Load',
      '451 4.4.5 Full',
    ]) {
      assert.is(await slowedDown({ RCPT: reply }), true, reply)
      assert.is(await slowedDown({ end: reply }), true, reply)
      assert.is(await slowedDown({ MAIL: reply }), false, reply)
    }
    for (const reply of [
      '452 4.2.2 Full',
      '450 4.2.0 Grey',
      '451 4.3.0 Later',
      '451 Later',
      '550 5.7.1 No',
    ]) {
      assert.is(await slowedDown({ RCPT: reply }), false, reply)
    }
  })

  for (const point of ['MAIL', 'RCPT', 'DATA', 'end'] as const) {
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

    const doubt = point === 'end' ? { uncertain: true } : {}

    test(`a connection lost at ${point} is temporary`, async () => {
      const reason = 'SMTP: Connection closed unexpectedly'
      assert.equal(await outcome({ [point]: 'drop' }), { kind: 'temporary', reason, ...doubt })
    })

    test(`a server that hangs at ${point} is temporary, soon`, async () => {
      const expected = { kind: 'temporary', reason: 'SMTP: Timeout', ...doubt }
      assert.equal(await outcome({ [point]: 'hang' }, { timeouts: { socket: 1000 } }), expected)
    })
  }

  test('a server that takes commands in one go is understood as well', async () => {
    const EHLO = '250-scripted\r\n250 PIPELINING'
    const DATA = '554 5.5.1 No valid recipients'
    const expected = [
      [
        { EHLO, MAIL: '550 5.7.1 Not you', DATA },
        { kind: 'permanent', reason: '550 5.7.1 Not you' },
      ],
      [
        { EHLO, MAIL: '450 4.7.1 Not now', DATA },
        { kind: 'temporary', reason: '450 4.7.1 Not now' },
      ],
      [
        { EHLO, RCPT: '550 5.1.1 No such', DATA },
        { kind: 'permanent', reason: '550 5.1.1 No such' },
      ],
      [
        { EHLO, RCPT: '450 4.2.0 Grey', DATA },
        { kind: 'temporary', reason: '450 4.2.0 Grey' },
      ],
      [
        { EHLO, RCPT: '550 5.1.1 No such' },
        { kind: 'permanent', reason: '550 5.1.1 No such' },
      ],
      [
        { EHLO, end: '554 5.7.1 Spam' },
        { kind: 'permanent', reason: '554 5.7.1 Spam' },
      ],
      [{ EHLO }, { kind: 'sent', providerMessageId: null }],
    ] as const
    for (const [script, result] of expected) assert.equal(await outcome(script), result)
  })

  test('a connection lost in the middle of the message leaves no doubt: it was not taken', async () => {
    const html = `<p>${'long '.repeat(2_000_000)}</p>`
    const result = await talk({ body: 'drop' }, {}, (mailer) => mailer.send(mailWith({ html, text: '' })))
    assert.is(result.kind, 'temporary')
    assert.not(result.kind === 'temporary' && result.uncertain)
  })

  test('a message that was handed over and not answered in time may have been taken', async () => {
    const timeouts = { send: 1000 }
    for (const behaviour of ['hang', 'trickle']) {
      assert.equal(await outcome({ end: behaviour }, { timeouts }), {
        kind: 'temporary',
        reason: 'SMTP: not done within 1 s',
        uncertain: true,
      })
    }
  })

  test('refusals that are for now only are temporary', async () => {
    const scripts: Script[] = [
      { MAIL: '421 4.7.0 Closing' },
      { end: '421 4.7.0 Closing' },
      { RCPT: 'nonsense' },
      { end: '503 5.5.1 Bad sequence of commands' },
    ]
    for (const script of scripts) {
      assert.is((await outcome(script)).kind, 'temporary', JSON.stringify(script))
    }
  })

  test("trouble before the first message is no message's fault", async () => {
    const timeouts = { greeting: 300, socket: 1000 }
    const scripts: [Script, RegExp][] = [
      [{ greeting: '554 5.7.1 Your address is blocked' }, /^554 5.7.1 Your address/],
      [{ greeting: '421 Too many connections' }, /^421 Too many/],
      [{ greeting: 'hang' }, /^SMTP: Greeting never received$/],
      [{ EHLO: 'hang' }, /^SMTP: Timeout$/],
      [{ EHLO: 'drop' }, /^SMTP: Connection closed/],
    ]
    for (const [script, reason] of scripts) {
      const result = await outcome(script, { timeouts })
      assert.equal(result, { ...result, kind: 'provider', scope: 'account', advice: checkServer })
      assert.match(result.kind === 'provider' ? result.reason : '', reason)
    }
  })

  test('a server that closes at once is tried again for a bounded time', async () => {
    const result = await outcome({ greeting: 'drop' }, { timeouts: { send: 1000 } })
    assert.equal(result, {
      kind: 'provider',
      scope: 'account',
      reason: 'SMTP: not done within 1 s',
      advice: checkServer,
    })
  })

  test('a server that asks for a log-in or for TLS concerns the operator, whenever it asks', async () => {
    for (const [reply, advice] of [
      ['530 5.7.0 Must issue a STARTTLS command first', /requireTLS/],
      ['538 5.7.11 Encryption required', /requireTLS/],
      ['530 5.7.0 Authentication required', /user name and the password/],
      ['535 5.7.8 Bad credentials', /user name and the password/],
      ['534 5.7.9 Please log in with your web browser', /user name and the password/],
    ] as const) {
      for (const point of ['MAIL', 'RCPT', 'DATA', 'end']) {
        const result = await outcome({ [point]: reply })
        assert.equal(result, { ...result, kind: 'provider', scope: 'account', reason: reply })
        assert.match(result.kind === 'provider' ? result.advice : '', advice)
      }
    }
  })

  test('a recipient whose name says certificate is refused like any other', async () => {
    const reply = '550 5.1.1 <certificate@receiver.example> User unknown'
    assert.equal(await outcome({ RCPT: reply }), { kind: 'permanent', reason: reply })
  })

  test('a server that trickles its replies is given up after a bounded time', async () => {
    const timeouts = { connection: 60_000, greeting: 60_000, socket: 1000, send: 2000 }
    const expected = { greeting: 'provider', RCPT: 'temporary', end: 'temporary' }
    for (const [point, kind] of Object.entries(expected)) {
      const script = { [point]: 'trickle' }
      const results = await talk(script, { maxConnections: 1, timeouts }, (mailer) => sendMany(mailer, 2))
      // The second one waits for the connection, and may have it for the last moment.
      const [first, second] = kindsOf(results)
      assert.is(first, kind)
      assert.is.not(second, 'sent')
    }
  })

  test('a reply is shown up to 500 characters', async () => {
    assert.equal(await outcome({ RCPT: `550 ${'x'.repeat(5000)}` }), {
      kind: 'permanent',
      reason: `550 ${'x'.repeat(496)}`,
    })
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
  test("a refused connection and an unknown host are the operator's, and a check says the same", async () => {
    for (const [url, reason, advice] of [
      [`smtp://127.0.0.1:${await freePort()}`, /ECONNREFUSED/, 'Check the host and the port in SMTP_URL'],
      ['smtp://mail.invalid', /ENOTFOUND|EAI_AGAIN/, 'Check the host name in SMTP_URL'],
    ] as const) {
      const mailer = createSmtpMailer({ url })
      for (const trouble of [await mailer.send(mailWith()), await mailer.check()]) {
        assert.match(trouble && 'reason' in trouble ? trouble.reason : '', reason)
        assert.match(trouble && 'advice' in trouble ? trouble.advice : '', advice)
      }
      assert.is((await mailer.send(mailWith())).kind, 'provider')
      await mailer.close()
    }
  })

  test('a check of a server that would take mail finds nothing, and sends nothing', () =>
    talk({}, {}, async (mailer, server) => {
      assert.is(await mailer.check(), null)
      assert.not.ok(server.seen.commands.some((command) => /^(?:MAIL|RCPT|DATA)/.test(command)))
    }))

  test('a check of a server that does not answer ends soon', () =>
    talk({ greeting: 'hang' }, { timeouts: { greeting: 300 } }, async (mailer) => {
      assert.equal(await mailer.check(), { reason: 'SMTP: Greeting never received', advice: checkServer })
    }))

  test('idle connections that the server closed cost nothing', () =>
    talk({}, { maxConnections: 2 }, async (mailer, server) => {
      for (let round = 0; round < 3; round += 1) {
        assert.equal(kindsOf(await sendMany(mailer, 2)), ['sent', 'sent'])
        server.dropAll()
      }
      assert.ok(server.seen.connections >= 5)
    }))

  test('an idle connection that timed out costs nothing', () =>
    talk({}, { timeouts: { socket: 500 } }, async (mailer, server) => {
      assert.is((await mailer.send(mailWith())).kind, 'sent')
      await server.deserted()
      assert.is((await mailer.send(mailWith())).kind, 'sent')
      assert.is(server.seen.connections, 2)
    }))

  test('mail flows again once the server is back', () =>
    talk({}, { maxConnections: 2 }, async (mailer, server) => {
      assert.is((await mailer.send(mailWith())).kind, 'sent')
      await server.stop()
      assert.equal([...new Set(kindsOf(await sendMany(mailer, 5)))], ['provider'])
      await during(await startScriptedSmtp({}, server.port), async () => {
        assert.equal([...new Set(kindsOf(await sendMany(mailer, 5)))], ['sent'])
      })
    }))

  test('a message that was refused does not spoil its connection', () =>
    talk({ RCPT: '550 5.1.1 no' }, { maxConnections: 1 }, async (mailer, server) => {
      assert.is((await mailer.send(mailWith())).kind, 'permanent')
      delete server.script.RCPT
      assert.is((await mailer.send(mailWith())).kind, 'sent')
      assert.is(server.seen.connections, 1)
    }))

  test('a message whose body was on its way is not sent twice by the pool', () =>
    talk({}, { maxConnections: 1 }, async (mailer, server) => {
      await mailer.send(mailWith())
      server.script.end = 'drop'
      assert.is((await mailer.send(mailWith())).kind, 'temporary')
      assert.is(server.seen.commands.filter((command) => command === 'DATA').length, 2)
    }))

  test('close leaves no connection open', () =>
    talk({}, {}, async (mailer, server) => {
      await mailer.send(mailWith())
      await mailer.close()
      const patience = new Promise((resolve) => setTimeout(resolve, 10_000, 'still connected'))
      assert.is(await Promise.race([server.deserted(), patience]), undefined)
    }))
})
