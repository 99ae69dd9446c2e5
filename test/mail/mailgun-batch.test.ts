import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { PartedText } from '../../src/lib/text/parted-text.ts'
import type { OutgoingMail } from '../../src/mail/mailer.ts'
import { createMailgunMailer } from '../../src/mail/mailgun.ts'
import { TOGETHER } from '../../src/mail/mailgun-batch.ts'
import { type MailgunMessage, startMailgunApi } from '../support/mailgun-api.ts'
import { scenario } from '../support/scenario.ts'
import { line, mailWith } from './support.ts'

async function start() {
  const state: { status: number; message: string } = { status: 200, message: '' }
  const api = await startMailgunApi({ answer: () => state })
  const mailer = createMailgunMailer({ apiKey: 'key-s3cret', url: api.url, timeoutMs: 5_000 })
  return {
    api,
    mailer,
    answer: (status: number, message = '') => Object.assign(state, { status, message }),
    stop: async () => {
      await mailer.close()
      await api.stop()
    },
  }
}

type Own = { subject: string; html: string[]; text: string[]; header: string }

/** Messages of a campaign with these common parts; one common part less than there are values. */
function campaignOf(common: { html: string[]; text: string[] }, owns: Own[]): OutgoingMail[] {
  const woven = (parts: string[], values: string[]) =>
    values.map((value, index) => value + (parts[index] ?? '')).join('')
  return owns.map(({ subject, html, text, header }, index) => {
    const whole = { html: woven(common.html, html), text: woven(common.text, text) }
    const parts = {
      html: PartedText.of(common.html, whole.html),
      text: PartedText.of(common.text, whole.text),
    }
    assert.ok(parts.html && parts.text)
    return mailWith({
      ...whole,
      subject,
      parts: { html: parts.html, text: parts.text },
      emailId: `email-${index}`,
      messageId: `<email-${index}@sender.example>`,
      to: { address: `r${index}@receiver.example` },
      headers: [
        { name: 'List-Unsubscribe', value: `<https://x.example/${header}>` },
        { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
      ],
    })
  })
}

const plain = (count: number, value = 'x'): Own[] =>
  Array.from({ length: count }, (_, index) => ({
    subject: `Hello ${index}`,
    html: ['', `${value}${index}`],
    text: ['', `${value}${index}`],
    header: String(index),
  }))

const COMMON = {
  html: ['<p>Something that everybody reads, whoever it is: '],
  text: ['What everybody reads: '],
}

/** What a reader sees; the end of a message may have got another line break on the way. */
const readIn = ({ to, subject, html, text, headers }: MailgunMessage) => {
  const unified = (body: string) => body.replaceAll('\r\n', '\n').trimEnd()
  return {
    ...{ to, subject, html: unified(html), text: unified(text) },
    headers: ['list-unsubscribe', 'list-unsubscribe-post', 'message-id'].map((name) => headers[name]),
  }
}

scenario('Mailgun, many messages in one call', start, (test) => {
  test('each recipient reads what a call of their own would have brought', async ({ api, mailer }) => {
    const part = fc.oneof(
      line,
      fc.constantFrom('100 % of\r\n\n\rit', '%', 'a%b%', '"}\\n\\u0026', '<b>&amp;'),
    )
    const own = fc.record({
      subject: line.map((text) => text.trim()),
      html: fc.tuple(part, part, part),
      text: fc.tuple(part, part),
      header: fc.webPath(),
    })
    const common = (count: number) =>
      fc.array(
        part.map((text) => `<i>${text}</i>`),
        { minLength: count, maxLength: count },
      )
    const property = fc.asyncProperty(
      fc.record({ html: common(2), text: common(1) }),
      fc.array(own, { minLength: 2, maxLength: 4 }),
      async (shared, owns) => {
        const mails = campaignOf(shared, owns)
        // What the provider would expand by accident leaves alone, before it comes here.
        fc.pre(
          mails.every(
            ({ html, text, subject }) => ![html, text, subject].some((one) => TOGETHER.words.test(one)),
          ),
        )
        api.calls.length = 0
        const results = await mailer.sendTogether(mails)
        assert.equal(
          results?.map(({ kind }) => kind),
          owns.map(() => 'sent'),
        )
        const together = await api.messages()
        assert.is(api.calls.length, 1)
        api.calls.length = 0
        for (const mail of mails) await mailer.send(mail)
        const alone = await api.messages()
        assert.equal(together.map(readIn), alone.map(readIn))
        assert.equal(
          together.map(({ variables }) => variables.email_id),
          mails.map(({ emailId }) => emailId),
        )
      },
    )
    await fc.assert(property, { numRuns: 60 })
  })

  test('a thousand go in one call, and not one more', async ({ api, mailer, answer }) => {
    answer(200)
    api.calls.length = 0
    const results = await mailer.sendTogether(campaignOf(COMMON, plain(1_000)))
    assert.is(results?.length, 1_000)
    assert.is(new Set(results?.map((result) => result.kind === 'sent' && result.providerMessageId)).size, 1)
    assert.is(api.calls.length, 1)
    const [call] = api.calls
    // The common parts travel once.
    assert.ok((call?.bytes ?? 0) < 600_000, `${call?.bytes} bytes`)
    assert.is(await mailer.sendTogether(campaignOf(COMMON, plain(1_001))), null)
    assert.is(api.calls.length, 1)
  })

  test('a name in the sender, and an address for answers, arrive as they are', async ({
    api,
    mailer,
    answer,
  }) => {
    answer(200)
    api.calls.length = 0
    const mails = campaignOf(COMMON, plain(2)).map((mail) => ({
      ...mail,
      from: { address: 'hello@bücher.example', name: 'Bücher "& Co", GmbH' },
      replyTo: 'answers@bücher.example',
    }))
    await mailer.sendTogether(mails)
    assert.is(api.calls[0]?.path, '/v3/xn--bcher-kva.example/messages')
    const [message] = await api.messages()
    assert.is(message?.headers.from, '"Bücher \\"& Co\\", GmbH" <hello@xn--bcher-kva.example>')
    assert.is(message?.headers['reply-to'], 'answers@xn--bcher-kva.example')
  })

  test('what does not fit into a call is not sent', async ({ api, mailer, answer }) => {
    answer(200)
    api.calls.length = 0
    const large = campaignOf(COMMON, plain(30, 'y'.repeat(800_000)))
    assert.is(await mailer.sendTogether(large), null)
    const twice = campaignOf(COMMON, plain(2)).map((mail) => ({
      ...mail,
      to: { address: 'one@receiver.example' },
    }))
    assert.is(await mailer.sendTogether(twice), null)
    const [bad, good] = campaignOf(COMMON, plain(2))
    assert.ok(bad && good)
    assert.is(await mailer.sendTogether([good, { ...bad, to: { address: 'no address' } }]), null)
    assert.is(await mailer.sendTogether([{ ...good, headers: [{ name: 'Bcc', value: 'x' }] }, bad]), null)
    assert.is(api.calls.length, 0)
    // Alone each of them has an answer of its own.
    assert.is((await mailer.send({ ...bad, to: { address: 'no address' } })).kind, 'permanent')
  })

  for (const [status, message, kind] of [
    [400, "'to' parameter is not a valid address. please check documentation", null],
    [400, 'Rejected: Only 10 recipients per request is allowed on probation.', null],
    [413, 'Request entity too large', null],
    [429, 'Too many requests', 'temporary'],
    [500, 'Internal', 'temporary'],
    [401, 'Forbidden', 'provider'],
    [400, 'The domain is unverified and requires DNS configuration', 'provider'],
  ] as const) {
    test(`"${message}" (${status}) means the same for each: ${kind ?? 'fewer may fare better'}`, async (context) => {
      const { mailer, answer } = context
      answer(status, message)
      const results = await mailer.sendTogether(campaignOf(COMMON, plain(3)))
      assert.equal(results?.map((result) => result.kind) ?? null, kind && [kind, kind, kind])
      answer(200)
    })
  }

  test('a call that is not answered may have been taken, for each', async ({ api }) => {
    const mailer = createMailgunMailer({ apiKey: 'key-s3cret', url: api.url, timeoutMs: 200 })
    const release = api.hold()
    const results = await mailer.sendTogether(campaignOf(COMMON, plain(2)))
    release()
    assert.equal(
      results?.map((result) => result.kind === 'temporary' && result.uncertain),
      [true, true],
    )
  })
})
