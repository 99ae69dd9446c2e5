import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import PostalMime from 'postal-mime'
import * as assert from 'uvu/assert'
import { member } from '../support/browser-session.ts'
import { HOUR } from '../support/clock.ts'
import { type MailSink, startMailSink } from '../support/mail-sink.ts'
import { emailRow } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { until } from '../support/service.ts'
import { type Talk, talk } from '../support/smtp-talk.ts'
import { pythonLines } from './python-lines.ts'
import { type Door, mailerOf, startDoor } from './smtp-support.ts'

type Sending = Door & { sink: MailSink }

async function startSendingDoor(): Promise<Sending> {
  const sink = await startMailSink()
  const door = await startDoor({ MAIL_PROVIDER: 'smtp', SMTP_URL: sink.url })
  const stop = async () => {
    await door.stop()
    await sink.stop()
  }
  return { ...door, sink, stop }
}

/** What a reader gets of a message, byte for byte. */
async function contentOf(raw: Buffer | string) {
  const { subject, from, to, cc, replyTo, text, html, attachments, headers } = await PostalMime.parse(raw)
  return {
    ...{ subject, from, to, cc, replyTo, text: text?.trimEnd(), html: html?.trimEnd() },
    files: attachments.map(({ filename, mimeType, disposition, contentId, content }) => ({
      ...{ filename, mimeType, disposition, contentId },
      content: Buffer.from(content instanceof ArrayBuffer ? new Uint8Array(content) : content).toString(
        'base64',
      ),
    })),
    own: headers.filter(({ key }) => /^(x-(?!original)|list-|in-reply|references)/.test(key)),
  }
}

const arrivalOf = ({ sink }: Sending, id: string) =>
  until('the message to arrive', async () => sink.arrivals.find(({ messageId }) => messageId.includes(id)))

const idsIn = (answer: string): string[] => answer.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? []

async function loggedIn({ ports, project }: Door, key = project.secret): Promise<Talk & { answer: string }> {
  const client = await talk(ports.submission)
  await client.ask('EHLO test.example')
  const answer = await client.ask(`AUTH PLAIN ${Buffer.from(`\0mailwright\0${key}`).toString('base64')}`)
  return Object.assign(client, { answer })
}

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')
const EVERY_BYTE = Buffer.from(Array.from({ length: 1024 }, (_, index) => index % 256))

/** Has Python send a message, where there is one; `raw` is the message. */
async function pythonSends(
  { ports, project }: Door,
  from: string,
): Promise<{ raw: Buffer | null; answer: string }> {
  const given = [String(ports.submission), project.secret, from, PNG.toString('hex')]
  try {
    const { stdout } = await promisify(execFile)('python3', ['test/smtp/send-mail.py', ...given], {
      encoding: 'buffer',
    })
    const end = stdout.indexOf('\0')
    return { raw: stdout.subarray(0, end), answer: stdout.toString('utf8', end) }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { raw: null, answer: '' }
    throw error
  }
}

scenario('Submission over SMTP', startSendingDoor, (test) => {
  const sendRaw = async (door: Sending, raw: string | Buffer, to = ['ada@example.org']) => {
    const { secret } = door.project
    const mailer = mailerOf(door, { key: secret })
    const from = `hello@${door.project.domain}`
    const { response } = await mailer.sendMail({ envelope: { from, to }, raw })
    return idsIn(response)
  }

  test('takes what nodemailer writes, for each recipient, and passes it on as it is', async (door) => {
    const { project } = door
    const { response } = await mailerOf(door, { overTls: true }).sendMail({
      from: `Hällo <hello@${project.domain}>`,
      to: ['Ada <ada@example.org>', 'bob@example.org'],
      cc: 'Čyril <cc@example.org>',
      bcc: 'hidden@example.org',
      replyTo: 'Support <support@example.org>',
      subject: 'Rechnung №5 {{not a variable}}',
      text: 'Plain text\n\n{{nothing}} — äöü',
      html: '<p>Hi {{{x}}} <a href="https://example.org/?a=1&amp;b=2">link</a><img src="cid:logo"></p>',
      headers: { 'X-Order': '4711 "quoted"', 'X-Name': 'Jörg' },
      inReplyTo: '<earlier@example.org>',
      attachments: [
        { filename: 'logo.png', content: PNG, cid: 'logo', contentDisposition: 'inline' },
        { filename: 'every byte ä.bin', content: EVERY_BYTE },
      ],
      alternatives: [
        {
          contentType: 'text/calendar; method=REQUEST; charset=utf-8',
          content: 'BEGIN:VCALENDAR\nEND:VCALENDAR',
        },
      ],
    })
    assert.match(response, /^250 2\.0\.0 Accepted/)
    const ids = idsIn(response)
    assert.is(ids.length, 4)
    const arrivals = await Promise.all(ids.map((id) => arrivalOf(door, id)))
    assert.equal(
      arrivals.map(({ recipients }) => recipients),
      [['ada@example.org'], ['bob@example.org'], ['cc@example.org'], ['hidden@example.org']],
    )
    for (const { raw, from } of arrivals) {
      assert.is(from, `hello@${project.domain}`)
      assert.not.ok(raw.includes('hidden@example.org'), 'nobody learns of Bcc')
      const seen = await contentOf(raw)
      assert.is(seen.subject, 'Rechnung №5 {{not a variable}}')
      assert.equal(seen.from, { address: `hello@${project.domain}`, name: 'Hällo' })
      assert.equal(
        seen.to?.map(({ address }) => address),
        ['ada@example.org', 'bob@example.org'],
      )
      assert.equal(seen.cc, [{ address: 'cc@example.org', name: 'Čyril' }])
      assert.equal(seen.replyTo, [{ address: 'support@example.org', name: 'Support' }])
      assert.is(seen.text, 'Plain text\n\n{{nothing}} — äöü')
      assert.match(seen.html ?? '', 'Hi {{{x}}} <a href="https://example.org/?a=1&amp;b=2">link</a>')
      const byType = new Map(seen.files.map((file) => [file.mimeType, file]))
      assert.is(byType.get('image/png')?.content, PNG.toString('base64'))
      assert.is(byType.get('image/png')?.contentId, '<logo>')
      assert.is(byType.get('application/octet-stream')?.content, EVERY_BYTE.toString('base64'))
      assert.is(byType.get('application/octet-stream')?.filename, 'every byte ä.bin')
      assert.ok(byType.get('text/calendar'))
      assert.match(raw.toString(), /content-type: text\/calendar;[\s\S]{0,40}method=REQUEST/i)
      assert.equal(seen.own.map(({ key, value }) => [key, value]).toSorted(), [
        ['in-reply-to', '<earlier@example.org>'],
        ['x-name', '=?UTF-8?Q?J=C3=B6rg?='],
        ['x-order', '=?UTF-8?Q?4711_=22quoted=22?='],
      ])
    }
    const row = await emailRow(door, ids[0] ?? '')
    assert.is(row.to_name, 'Ada')
    assert.is(row.type, 'TRANSACTIONAL')
  })

  test("takes what Python's smtplib writes", async (door) => {
    const from = `hello@${door.project.domain}`
    const { raw, answer } = await pythonSends(door, from)
    const [id = ''] =
      raw === null ? await sendRaw(door, pythonLines(from), ['python@example.org']) : idsIn(answer)
    const sent = await contentOf(raw ?? pythonLines(from))
    const arrived = await contentOf((await arrivalOf(door, id)).raw)
    assert.ok(sent.html?.includes('{{{raw}}}'))
    assert.ok(sent.text?.includes('.leading dot'))
    assert.equal(arrived, sent)
    assert.is(arrived.files.length, 3)
  })

  test('adds nothing to a text alone, and to HTML the text that API mail has', async (door) => {
    const from = `hello@${door.project.domain}`
    const [text = ''] = await sendRaw(
      door,
      Buffer.from(
        `From: ${from}\r\nTo: a@example.org\r\nSubject: =?iso-8859-1?q?caf=E9?=\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\ncaf\xe9\r\n..dots\r\n`,
        'latin1',
      ),
    )
    const { raw } = await arrivalOf(door, text)
    const seen = await contentOf(raw)
    assert.is(seen.subject, 'café')
    assert.is(seen.text, 'café\n..dots')
    assert.is(seen.html, undefined)
    assert.not.match(raw.toString(), 'multipart')
    const shown = await door.as().graphql('query ($id: ID!) { email(id: $id) { body } }', { id: text })
    assert.match(shown.body.data.email.body, 'café\n..dots')

    const [html = ''] = await sendRaw(
      door,
      `From: ${from}\r\nSubject: x\r\nContent-Type: text/html\r\n\r\n<h1>Big</h1>\r\n`,
    )
    const both = await contentOf((await arrivalOf(door, html)).raw)
    assert.match(both.html ?? '', '<h1>Big</h1>')
    assert.is(both.text, 'Big')
  })

  test('passes on a signed message byte for byte', async (door) => {
    const body =
      'This is signed.\r\n--s\r\nContent-Type: text/plain\r\n\r\nexact   text \r\n--s\r\nContent-Type: application/pgp-signature; name="s.asc"\r\n\r\n-----BEGIN PGP SIGNATURE-----\r\n--s--\r\n'
    const type = 'Content-Type: multipart/signed; boundary="s";\r\n protocol="application/pgp-signature"\r\n'
    const from = `hello@${door.project.domain}`
    const [id = ''] = await sendRaw(door, `From: ${from}\r\nSubject: signed\r\n${type}\r\n${body}`)
    const { raw } = await arrivalOf(door, id)
    const text = raw.toString()
    assert.ok(text.endsWith(body), text)
    assert.ok(text.includes(type))
    assert.is(text.match(/^content-type:/gim)?.length, 3)
  })

  test('has an own Message-ID for each message, and says which one it came with', async (door) => {
    const from = `hello@${door.project.domain}`
    const [id = ''] = await sendRaw(
      door,
      `From: ${from}\r\nMessage-ID: <own@app>\r\nX-Mailgun-Tag: x\r\nBcc: b@c.de\r\nSubject: x\r\n\r\nx\r\n`,
    )
    const { raw, messageId } = await arrivalOf(door, id)
    assert.is(messageId, `<${id}@${door.project.domain}>`)
    assert.match(raw.toString(), /^X-Original-Message-ID: <own@app>\r$/m)
    assert.not.match(raw.toString(), /mailgun|b@c\.de/i)
  })

  test('sends a message with an X-Idempotency-Key once, and accepts its repeats', async (door) => {
    const from = `hello@${door.project.domain}`
    const message = (text: string) =>
      `From: ${from}\r\nX-Idempotency-Key: order-1\r\nSubject: x\r\n\r\n${text}\r\n`
    const first = await sendRaw(door, message('once'))
    assert.equal(await sendRaw(door, message('once')), first)
    await refused(() => sendRaw(door, message('another text')), 554, '5.5.0')
    const { raw } = await arrivalOf(door, first[0] ?? '')
    assert.not.match(raw.toString(), /idempotency/i)
    const rows = await door.sql("select 1 from emails where subject = 'x' and message_id like $1", [
      `<${first[0]}%`,
    ])
    assert.is(rows.length, 1)
  })

  test('refuses with a code for each reason', async (door) => {
    const { domain } = door.project
    const letter = (fields: string) => `${fields}\r\nSubject: x\r\n\r\nx\r\n`
    await refused(() => sendRaw(door, letter('From: a@elsewhere.example')), 550, '5.7.1')
    await refused(() => sendRaw(door, letter('From: nobody')), 553, '5.1.7')
    await refused(
      () => sendRaw(door, letter(`From: a@${domain}\r\nSubject: ${'x'.repeat(1200)}`)),
      554,
      '5.6.0',
    )
    await refused(
      () => sendRaw(door, letter(`From: a@${domain}\r\n${'X-A: b\r\n'.repeat(400)}X-B: c`)),
      554,
      '5.6.0',
    )
    await refused(() => sendRaw(door, letter(`From: a@${domain}`), ['not an address@x']), 553, '5.1.3')
    const many = Array.from({ length: 101 }, (_, index) => `m${index}@example.org`)
    const mailer = mailerOf(door)
    const { rejected, rejectedErrors } = await mailer.sendMail({
      envelope: { from: `a@${domain}`, to: many },
      raw: letter(`From: a@${domain}`),
    })
    assert.equal(rejected, ['m100@example.org'])
    assert.is(rejectedErrors?.[0]?.responseCode, 452)
    assert.is((await door.sql("select 1 from emails where to_email like 'm%@example.org'")).length, 100)
    const files = Array.from({ length: 11 }, (_, index) => ({ filename: `${index}`, content: 'x' }))
    await refused(
      () => mailer.sendMail({ from: `a@${domain}`, to: 'a@b.co', attachments: files }),
      552,
      '5.3.4',
    )
  })

  test('lets in who shows a secret key, over TLS', async (door) => {
    const plain = await loggedIn(door)
    assert.match(plain.answer, /^538/)
    plain.close()
    await refused(() => mailerOf(door, { key: door.project.public }).verify(), 535, '5.7.8')
    await refused(() => mailerOf(door, { key: `sk_${'0'.repeat(64)}` }).verify(), 535, '5.7.8')
    await refused(() => mailerOf(door, { key: 'password' }).verify(), 535, '5.7.8')
    const open = await talk(door.ports.submission)
    await open.ask('EHLO x.example')
    assert.match(await open.ask('MAIL FROM:<a@b.co>'), /^530/)
    open.close()
  })

  test('refuses a project that is disabled, also one that has logged in before', async (door) => {
    const project = await door.newProject()
    const other: Sending = { ...door, project }
    const from = `hello@${project.domain}`
    assert.is((await sendRaw(other, `From: ${from}\r\n\r\nx\r\n`)).length, 1)
    await door.sql('update projects set disabled = true where id = $1', [project.id])
    door.clock.advance(6_000)
    await refused(() => sendRaw(other, `From: ${from}\r\n\r\nx\r\n`), 550, '5.7.1')
  })

  test('is shown in GET /config', async (door) => {
    const { body } = await door.call('GET', '/config')
    assert.equal(body.features.smtp, {
      enabled: true,
      domain: '127.0.0.1',
      ports: [door.ports.submission, door.ports.tls],
    })
  })

  // Stands last: it moves the clock that the others share.
  test('lets in further keys that may send, until they end or are revoked', async (door) => {
    const project = await door.newProject()
    const admin = await member(door, 'ADMIN', project)
    const make = async (input: object) =>
      (await admin.graphql(CREATE_KEY, { id: project.id, input })).body.data.createApiKey
    const sendWith = ({ key }: { key: string }) => {
      const raw = `From: hello@${project.domain}\r\n\r\nx\r\n`
      return sendRaw({ ...door, project: { ...project, secret: key } }, raw)
    }
    const expiresAt = new Date(door.clock.now().getTime() + HOUR).toISOString()
    const revoked = await make({ name: 'revoked', scope: 'SEND' })
    const ending = await make({ name: 'ending', scope: 'SEND', expiresAt })
    const full = await make({ name: 'full', scope: 'FULL' })
    for (const made of [revoked, ending, full]) assert.is((await sendWith(made)).length, 1)
    for (const scope of ['READ', 'TRACK']) {
      const { key } = await make({ name: scope, scope })
      await refused(() => mailerOf(door, { key }).verify(), 535, '5.7.8')
    }
    await admin.graphql(REVOKE_KEY, { id: project.id, key: revoked.apiKey.id })
    await refused(() => sendWith(revoked), 535, '5.7.8')
    door.clock.advance(HOUR)
    await refused(() => sendWith(ending), 535, '5.7.8')
    assert.is((await sendWith(full)).length, 1)
  })
})

const CREATE_KEY = `mutation ($id: ID!, $input: CreateApiKeyInput!) {
  createApiKey(projectId: $id, input: $input) { key apiKey { id } } }`
const REVOKE_KEY = 'mutation ($id: ID!, $key: ID!) { revokeApiKey(projectId: $id, id: $key) { id } }'

async function refused(work: () => Promise<unknown>, code: number, enhanced: string): Promise<void> {
  try {
    await work()
  } catch (error) {
    const { response = '' } = error as { response?: string }
    assert.match(response, new RegExp(`^${code} ${enhanced.replaceAll('.', '\\.')} `), String(error))
    return
  }
  assert.unreachable(`not refused with ${code} ${enhanced}`)
}
