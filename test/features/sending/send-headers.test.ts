import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { delivered, fieldErrors, send, sent, templateOf, withoutTrace } from './send-support.ts'

const start = () => startService({ ROLES: 'http' })

const FORBIDDEN = [
  'Bcc',
  'Cc',
  'From',
  'To',
  'Sender',
  'Subject',
  'Date',
  'Message-ID',
  'DKIM-Signature',
  'Content-Type',
  'Content-Transfer-Encoding',
  'Content-Disposition',
  'Content-Anything',
  'MIME-Version',
  'Resent-To',
  'Resent-Cc',
  'Resent-Bcc',
  'Resent-From',
  'Resent-Sender',
  'Resent-Date',
  'Resent-Message-ID',
  'Received',
  'Received-SPF',
  'Return-Path',
  'Delivered-To',
  'Apparently-To',
  'Envelope-To',
  'X-Envelope-To',
  'X-Envelope-From',
  'DomainKey-Signature',
  'Authentication-Results',
  'ARC-Seal',
  'ARC-Message-Signature',
  'ARC-Authentication-Results',
]

/** What providers obey, by the names in their documentation. */
const ORDERS = {
  SendGrid: ['X-SMTPAPI', 'X-SG-EID', 'X-SG-ID'],
  Mailgun: [
    'X-Mailgun-Tag',
    'X-Mailgun-Dkim',
    'X-Mailgun-Deliver-By',
    'X-Mailgun-Drop-Message',
    'X-Mailgun-Track',
    'X-Mailgun-Variables',
    'X-Mailgun-Recipient-Variables',
    'X-Mailgun-Sending-Ip',
    'X-Mailgun-Require-TLS',
    'X-Mailgun-Skip-Verification',
    'X-Mailgun-Template-Name',
  ],
  'Amazon SES': [
    'X-SES-CONFIGURATION-SET',
    'X-SES-MESSAGE-TAGS',
    'X-SES-SOURCE-ARN',
    'X-SES-FROM-ARN',
    'X-SES-RETURN-PATH-ARN',
    'X-SES-TENANT',
    'X-SES-LIST-MANAGEMENT-OPTIONS',
  ],
  Postmark: ['X-PM-Message-Stream', 'X-PM-Tag', 'X-PM-TrackOpens', 'X-PM-KeepID', 'X-PM-Metadata-id'],
  Mandrill: ['X-MC-Template', 'X-MC-BccAddress', 'X-MC-Subaccount', 'X-MC-SendAt', 'X-MC-MergeVars'],
  SparkPost: ['X-MSYS-API', 'X-MSYS-SUBACCOUNT'],
  Mailjet: ['X-MJ-CustomID', 'X-MJ-TemplateID', 'X-Mailjet-Campaign', 'X-Mailjet-TrackOpen'],
  Brevo: ['X-Mailin-Tag', 'X-Mailin-custom', 'X-Sib-Sandbox', 'sender.ip'],
  Resend: ['Resend-Idempotency-Key', 'X-Resend-Tags'],
  MailerSend: ['X-MailerSend-Tags'],
  SMTP2GO: ['X-Smtp2go-Template'],
  'Elastic Email': ['X-ElasticEmail-Settings'],
  Mailtrap: ['X-MT-Category', 'X-MT-Custom-Variables'],
  Postal: ['X-Postal-Tag'],
  PowerMTA: ['X-Virtual-MTA', 'X-VirtualMTA', 'X-Job', 'X-Envid', 'X-DKIM-Options'],
  Netcore: ['X-APIHEADER'],
  Exchange: ['X-MS-Exchange-Organization-SCL'],
  'any server (RFC 8689)': ['TLS-Required'],
}

/** Near to what is refused, or of use to honest senders. */
const ALLOWED = [
  'Reply-To',
  'List-Id',
  'List-Unsubscribe',
  'List-Help',
  'Auto-Submitted',
  'Precedence',
  'Importance',
  'X-Priority',
  'X-Mailer',
  'Feedback-ID',
  'X-Entity-Ref-ID',
  'X-Auto-Response-Suppress',
  'Disposition-Notification-To',
  'In-Reply-To',
  'X-Campaign',
  'X-Tag',
  'X-Job-Title',
  'X-SES',
  'X-Mailgun',
  'X-MCX',
  'Resent',
  'X-Resent-To',
  'My-X-SMTPAPI',
]

const BAD: [what: string, headers: object, errors: [string, string][]][] = [
  ['a name with CR LF', { 'X-A\r\nBcc': 'x' }, [['headers.X-A\r\nBcc', 'invalid_string']]],
  ['a name that ends with a line feed', { 'X-A\n': 'x' }, [['headers.X-A\n', 'invalid_string']]],
  ['a name with a colon', { 'X-A:': 'x' }, [['headers.X-A:', 'invalid_string']]],
  ['a name with a blank', { 'X A': 'x' }, [['headers.X A', 'invalid_string']]],
  ['a name with a NUL', { 'X\0': 'x' }, [['headers.X\0', 'invalid_string']]],
  ['a name outside ASCII', { 'X-Ü': 'x' }, [['headers.X-Ü', 'invalid_string']]],
  ['an empty name', { '': 'x' }, [['headers.', 'invalid_string']]],
  ['a name of 77 characters', { ['x'.repeat(77)]: 'x' }, [[`headers.${'x'.repeat(77)}`, 'invalid_string']]],
  ['a value with CR LF', { 'X-A': 'a\r\nBcc: b@c.de' }, [['headers.X-A', 'invalid_string']]],
  ['a value with a line feed', { 'X-A': 'a\n b' }, [['headers.X-A', 'invalid_string']]],
  ['a value with a carriage return', { 'X-A': 'a\rb' }, [['headers.X-A', 'invalid_string']]],
  ['a value with a NUL', { 'X-A': 'a\0' }, [['headers.X-A', 'invalid_string']]],
  ['a value with half a surrogate pair', { 'X-A': '\ud83d' }, [['headers.X-A', 'invalid_string']]],
  ['a value of 999 characters', { 'X-A': 'x'.repeat(999) }, [['headers.X-A', 'too_big']]],
  ['a number', { 'X-A': 5 }, [['headers.X-A', 'invalid_type']]],
  ['null', { 'X-A': null }, [['headers.X-A', 'invalid_type']]],
  ['a list', { 'X-A': ['x'] }, [['headers.X-A', 'invalid_type']]],
  ['an object', { 'X-A': {} }, [['headers.X-A', 'invalid_type']]],
  [
    'several',
    { 'X-A': 5, 'X-B': 'ok', Bcc: 'b@c.de' },
    [
      ['headers.X-A', 'invalid_type'],
      ['headers.Bcc', 'custom'],
    ],
  ],
  [
    'more than fifty',
    Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`X-${index}`, 'x'])),
    [['headers', 'too_big']],
  ],
]

scenario('Custom headers', start, (test) => {
  for (const name of FORBIDDEN) {
    test(`may not replace ${name}`, async (service) => {
      for (const written of [name, name.toLowerCase(), name.toUpperCase()]) {
        const answer = await withoutTrace(service, () => send(service, { headers: { [written]: 'x' } }))
        assert.equal(fieldErrors(answer), [[`headers.${written}`, 'custom']])
      }
    })
  }

  for (const [whose, names] of Object.entries(ORDERS)) {
    test(`give no orders to ${whose}`, async (service) => {
      for (const name of names) {
        for (const written of [name, name.toLowerCase(), name.toUpperCase()]) {
          const answer = await withoutTrace(service, () => send(service, { headers: { [written]: '1' } }))
          assert.equal(fieldErrors(answer), [[`headers.${written}`, 'custom']])
        }
      }
    })
  }

  test('may be any others', async (service) => {
    const headers = Object.fromEntries(ALLOWED.map((name) => [name, '<a@b.co>']))
    assert.equal((await sent(service, { headers })).email.headers, headers)
  })

  for (const name of ['In-Reply-To', 'References', 'REFERENCES']) {
    test(`must have ASCII only in ${name}`, async (service) => {
      for (const value of ['<ü@b.co>', '<a@b.co> <é@b.co>', '<a@b.co>\u00a0', '🎉']) {
        const answer = await withoutTrace(service, () => send(service, { headers: { [name]: value } }))
        assert.equal(fieldErrors(answer), [[`headers.${name}`, 'invalid_string']])
      }
    })
  }

  for (const [what, headers, errors] of BAD) {
    test(`may not have ${what}`, async (service) => {
      const answer = await withoutTrace(service, () => send(service, { headers }))
      assert.equal(fieldErrors(answer), errors)
    })
  }

  test('are kept as they are, in their order', async (service) => {
    const headers = {
      'X-Long': 'x'.repeat(998),
      'x-tab': 'a\tb',
      'X-Empty': '',
      References: '<a@b.co>',
      __proto__x: '1',
    }
    const { email } = await sent(service, { headers })
    assert.equal(Object.entries(email.headers), Object.entries(headers))
  })

  test('do not replace the unsubscribe link of a MARKETING mail', async (service) => {
    const template = await templateOf(service, { type: 'MARKETING' })
    const headers = {
      'list-UNSUBSCRIBE': '<https://evil.example>',
      'List-Unsubscribe-Post': 'x',
      'X-A': 'kept',
    }
    const { email } = await sent(service, { template, headers, subscribed: true })
    assert.equal(Object.keys(email.headers), ['X-A', 'List-Unsubscribe', 'List-Unsubscribe-Post'])
    assert.match(email.headers['List-Unsubscribe'], `<${service.url}/unsubscribe/`)
  })

  test('may hold an unsubscribe link of their own in a TRANSACTIONAL mail', async (service) => {
    const headers = { 'List-Unsubscribe': '<https://own.example>' }
    assert.equal((await sent(service, { headers })).email.headers, headers)
  })
})

scenario('Custom headers of a mail that was sent', startService, (test) => {
  test('are there once each, whatever is in them', async (service) => {
    const headers = {
      'X-Long': 'word '.repeat(199).trim(),
      'X-Unbroken': 'x'.repeat(998),
      'X-Quote': 'a "b" <c>',
      'X-Emoji': '🎉 ünïcode',
      'Reply-To': 'header@example.org',
    }
    const answer = await send(service, { headers, reply: 'field@example.org' })
    const { raw, message } = await delivered(service, answer.body.data.emails[0].email)
    assert.ok(
      raw.split('\r\n').every((line) => line.length <= 998),
      'no line is too long',
    )
    for (const name of Object.keys(headers)) {
      assert.is(message.headers.filter(({ key }) => key === name.toLowerCase()).length, 1, name)
    }
    assert.is(message.replyTo?.[0]?.address, 'field@example.org')
  })
})
