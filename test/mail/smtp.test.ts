import PostalMime from 'postal-mime'
import * as assert from 'uvu/assert'
import { createSmtpMailer } from '../../src/mail/smtp.ts'
import { startMailSink } from '../support/mail-sink.ts'
import { nothingShared, scenario } from '../support/scenario.ts'
import { type ScriptedSmtp, startScriptedSmtp } from './scripted-smtp.ts'
import { dkimKey, dkimResults, during, mailWith } from './support.ts'

scenario('SMTP: what arrives', startMailSink, (test) => {
  test('the message and its envelope', async ({ url, arrivals }) => {
    const mailer = createSmtpMailer({ url })
    const html = `<p>Grüße 👋</p>\n.\n..two dots\n<p>${'x'.repeat(5000)}</p>`
    const result = await mailer.send(
      mailWith({
        from: { address: 'a@bücher.example', name: 'Bücher, "Inc"' },
        to: { address: 'ann@münchen.example', name: 'Ann 👩‍🚀' },
        subject: 'שלום',
        html,
        headers: [{ name: 'X-One', value: '1' }],
        attachments: [
          {
            filename: 'a.bin',
            content: Buffer.alloc(200_000, 255),
            contentType: 'x/y',
            disposition: 'attachment',
          },
        ],
      }),
    )
    await mailer.close()
    assert.equal(result, { kind: 'sent', providerMessageId: 'Q1' })
    const [message] = arrivals
    assert.is(message?.from, 'a@bücher.example')
    assert.equal(message?.recipients, ['ann@münchen.example'])
    const email = await PostalMime.parse(message?.raw ?? '')
    assert.equal(email.from, { address: 'a@xn--bcher-kva.example', name: 'Bücher, "Inc"' })
    assert.is(email.subject, 'שלום')
    assert.is(email.html?.trimEnd(), html)
    assert.is(email.messageId, mailWith().messageId)
    assert.equal(email.attachments[0]?.content, new Uint8Array(200_000).fill(255).buffer)
  })

  test('international domains as ASCII in the envelope', async () => {
    await during(await startScriptedSmtp({}), async (server) => {
      const mailer = createSmtpMailer({ url: server.url })
      await mailer.send(
        mailWith({ from: { address: 'a@bücher.example' }, to: { address: 'ann@münchen.example' } }),
      )
      await mailer.close()
      assert.equal(server.seen.commands.slice(1, 3), [
        'MAIL FROM:<a@xn--bcher-kva.example>',
        'RCPT TO:<ann@xn--mnchen-3ya.example>',
      ])
    })
  })

  test('a DKIM signature that holds', async ({ url, arrivals }) => {
    const mailer = createSmtpMailer({ url })
    await mailer.send(mailWith({ dkim: dkimKey, subject: 'Ünter', html: '<p>ä</p>\n.\n\n' }))
    await mailer.close()
    assert.equal(await dkimResults(arrivals.at(-1)?.raw ?? Buffer.alloc(0)), ['pass'])
  })

  test('a message that cannot be composed never leaves', async ({ url, arrivals }) => {
    const before = arrivals.length
    const mailer = createSmtpMailer({ url })
    const refused = await mailer.send(mailWith({ headers: [{ name: 'Bcc', value: 'eve@evil.example' }] }))
    assert.equal(refused, { kind: 'permanent', reason: 'The header Bcc cannot be set' })
    const unsigned = await mailer.send(mailWith({ dkim: { ...dkimKey, privateKey: 'x' } }))
    assert.is(unsigned.kind, 'temporary')
    await mailer.close()
    assert.is(arrivals.length, before)
  })

  test('many messages share few connections', async ({ url, arrivals, sessions }) => {
    sessions.clear()
    const before = arrivals.length
    const mailer = createSmtpMailer({ url, maxConnections: 3 })
    assert.is(mailer.concurrency, 3)
    const results = await Promise.all(Array.from({ length: 60 }, () => mailer.send(mailWith())))
    await mailer.close()
    assert.ok(results.every(({ kind }) => kind === 'sent'))
    assert.is(arrivals.length, before + 60)
    assert.is(sessions.size, 3)
  })

  test('close waits for messages under way and takes no more', async ({ url, arrivals }) => {
    const before = arrivals.length
    const mailer = createSmtpMailer({ url, maxConnections: 1 })
    const underWay = [mailer.send(mailWith()), mailer.send(mailWith()), mailer.send(mailWith())]
    await mailer.close()
    assert.is(arrivals.length, before + 3)
    assert.ok((await Promise.all(underWay)).every(({ kind }) => kind === 'sent'))
    assert.equal(await mailer.send(mailWith()), {
      kind: 'temporary',
      reason: 'The service is shutting down',
    })
  })
})

scenario('SMTP: options of the address', nothingShared, (test) => {
  test('user and password are used, and a wrong one costs no mail', async () => {
    const sink = await startMailSink({
      server: {
        authOptional: false,
        allowInsecureAuth: true,
        onAuth({ username, password }, _session, done) {
          if (username === 'us/er' && password === 'p@ss:w/rd') done(null, { user: 'u' })
          else done(new Error(`Invalid password ${password} for ${username}`))
        },
      },
    })
    await during(sink, async ({ host, url }) => {
      const right = createSmtpMailer({ url: `smtp://us%2Fer:p%40ss%3Aw%2Frd@${host}` })
      assert.is((await right.send(mailWith())).kind, 'sent')
      assert.is(await right.check(), null)
      const wrong = createSmtpMailer({ url: `smtp://user:s3cret@${host}` })
      const none = createSmtpMailer({ url })
      const advice = 'Check the user name and the password in SMTP_URL.'
      for (const [mailer, reason] of [
        [wrong, /^535 .*Invalid password \*\*\* for user/],
        [none, /^530 /],
      ] as const) {
        const result = await mailer.send(mailWith())
        assert.equal(result, { ...result, kind: 'provider', scope: 'account', advice })
        assert.match(result.kind === 'provider' ? result.reason : '', reason)
      }
      const trouble = await wrong.check()
      assert.is(trouble?.advice, advice)
      assert.match(trouble?.reason ?? '', /\*\*\* for user/)
      await Promise.all([right, wrong, none].map((mailer) => mailer.close()))
    })
  })

  test('TLS is used, with a certificate that must be right unless the address says otherwise', async () => {
    await during(await startMailSink({ server: { secure: true } }), async ({ host }) => {
      const strict = createSmtpMailer({ url: `smtps://${host}` })
      for (const trouble of [await strict.send(mailWith()), await strict.check()]) {
        assert.match(trouble && 'reason' in trouble ? trouble.reason : '', /certificate/i)
        assert.match(trouble && 'advice' in trouble ? trouble.advice : '', 'NODE_EXTRA_CA_CERTS')
      }
      const lenient = createSmtpMailer({ url: `smtps://${host}?tls.rejectUnauthorized=false` })
      assert.is((await lenient.send(mailWith())).kind, 'sent')
      const plain = createSmtpMailer({ url: `smtp://${host}`, timeouts: { greeting: 300 } })
      assert.is((await plain.send(mailWith())).kind, 'provider')
      await Promise.all([strict, lenient, plain].map((mailer) => mailer.close()))
    })
  })

  test('TLS that is required and not offered, or offered with a bad certificate, concerns the operator', async () => {
    const refusing = await startScriptedSmtp({ STAR: '502 5.5.1 Unknown command' })
    const expired = await startMailSink({ server: { hideSTARTTLS: false } })
    for (const [server, query, advice] of [
      [refusing, '?requireTLS=true', 'smtp:// against smtps://'],
      [expired, '', 'NODE_EXTRA_CA_CERTS'],
    ] as const) {
      await during(server, async ({ url }) => {
        const mailer = createSmtpMailer({ url: `${url}${query}` })
        const result = await mailer.send(mailWith())
        assert.equal(result, { ...result, kind: 'provider', scope: 'account' })
        assert.match(result.kind === 'provider' ? result.advice : '', advice)
        await mailer.close()
      })
    }
    assert.not.ok(refusing.seen.commands.some((command) => command.startsWith('MAIL')))
    assert.is(expired.arrivals.length, 0)
  })

  test('the name in EHLO is the one that was given', async () => {
    await during(await startScriptedSmtp({}), async ({ url, seen }) => {
      const mailer = createSmtpMailer({ url, ehloName: 'mail.sender.example' })
      await mailer.send(mailWith())
      await mailer.check()
      await mailer.close()
      const greetings = seen.commands.filter((command) => command.startsWith('EHLO'))
      assert.equal(greetings, ['EHLO mail.sender.example', 'EHLO mail.sender.example'])
    })
  })

  test('a password that may go out unencrypted is warned about', () => {
    const warningsFor = (url: string) => createSmtpMailer({ url }).warnings
    for (const url of [
      'smtp://user:pw@mail.example?tls=optional',
      'smtp://user:pw@10.0.0.1:25?ignoreTLS=true&tls=optional',
    ]) {
      const [warning = '', ...more] = warningsFor(url)
      assert.match(warning, /tls=optional/)
      assert.not.match(warning, /pw/)
      assert.equal(more, [])
    }
    for (const url of [
      'smtp://mail.example',
      'smtp://user:pw@mail.example',
      'smtp://user:pw@10.0.0.1:25?ignoreTLS=true',
      'smtps://user:pw@mail.example?tls=optional',
      'smtp://user:pw@mail.example?requireTLS=true',
      'smtp://user:pw@127.0.0.1:1025',
      'smtp://user:pw@localhost',
      'smtp://user:pw@[::1]:25',
    ]) {
      assert.equal(warningsFor(url), [], url)
    }
  })

  test('what is no address of an SMTP server is refused without being shown', () => {
    for (const url of ['', 'mail.example', 'http://user:s3cret@mail.example', 'smtp://', 'smtp:// :s3cret']) {
      assert.throws(
        () => createSmtpMailer({ url }),
        (error: Error) =>
          /^The SMTP server must be given/.test(error.message) && !/s3cret/.test(error.message),
      )
    }
  })
})

/** No loopback address by its name, and all the same one under which this machine answers. */
const ELSEWHERE = '0.0.0.0'
/** What whoever sits in between makes of the replies: an honest server would offer STARTTLS. */
const STRIPPED = { STAR: '502 5.5.1 Unknown command' }

scenario('SMTP: a password', nothingShared, (test) => {
  const logIns = ({ seen }: ScriptedSmtp) => seen.commands.filter((command) => command.startsWith('AUTH'))
  const accessTo = (server: ScriptedSmtp, query = '') =>
    `smtp://user:s3cret@${ELSEWHERE}:${server.port}${query}`

  for (const query of ['', '?ignoreTLS=true', '?opportunisticTLS=true', '?requireTLS=false', '?tls=no']) {
    test(`is not sent to another machine that offers no TLS, with ${query || 'the plain address'}`, async () => {
      await during(await startScriptedSmtp(STRIPPED), async (server) => {
        const mailer = createSmtpMailer({ url: accessTo(server, query) })
        const result = await mailer.send(mailWith())
        assert.equal(result, { ...result, kind: 'provider', scope: 'account' })
        assert.match(result.kind === 'provider' ? result.advice : '', 'tls=optional')
        assert.ok(await mailer.check())
        await mailer.close()
        assert.equal(logIns(server), [])
        assert.not.match(server.seen.commands.join('\n'), 'MAIL')
      })
    })
  }

  for (const script of [
    { EHLO: '500 5.5.1 Unknown command' },
    { EHLO: '502 5.5.1 No', HELO: '250 scripted' },
  ]) {
    test(`is not sent to another machine that answers EHLO with ${script.EHLO}`, async () => {
      await during(await startScriptedSmtp(script), async (server) => {
        const mailer = createSmtpMailer({ url: accessTo(server) })
        assert.is((await mailer.send(mailWith())).kind, 'provider')
        await mailer.close()
        assert.equal(logIns(server), [])
      })
    })
  }

  test('is sent unencrypted when the address says so, and to this machine', async () => {
    for (const [host, query] of [
      [ELSEWHERE, '?tls=optional'],
      ['127.0.0.1', ''],
    ] as const) {
      await during(await startScriptedSmtp({}), async (server) => {
        const url = `smtp://user:s3cret@${host}:${server.port}${query}`
        const mailer = createSmtpMailer({ url })
        assert.is((await mailer.send(mailWith())).kind, 'sent')
        await mailer.close()
        assert.is(logIns(server).length, 1)
      })
    }
  })

  test('goes over TLS to another machine that offers it', async () => {
    const secured: boolean[] = []
    const sink = await startMailSink({
      server: {
        authOptional: false,
        hideSTARTTLS: false,
        onAuth({ password }, { secure }, done) {
          secured.push(secure)
          done(null, { user: String(password) })
        },
      },
    })
    await during(sink, async ({ port, arrivals }) => {
      const url = `smtp://user:s3cret@${ELSEWHERE}:${port}?tls.rejectUnauthorized=false`
      const mailer = createSmtpMailer({ url })
      assert.is((await mailer.send(mailWith())).kind, 'sent')
      await mailer.close()
      assert.is(arrivals.length, 1)
    })
    assert.equal(secured, [true])
  })

  test('that is in the address is used as it stands there', async () => {
    await during(await startScriptedSmtp({}), async (server) => {
      const url = `smtp://us%2Fer:p%40ss%3Aw%2Frd%2B@127.0.0.1:${server.port}?tls=optional`
      const mailer = createSmtpMailer({ url })
      await mailer.send(mailWith())
      await mailer.close()
      const credentials = Buffer.from('\0us/er\0p@ss:w/rd+').toString('base64')
      assert.equal(logIns(server), [`AUTH PLAIN ${credentials}`])
    })
  })
})
