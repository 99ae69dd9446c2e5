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
  'Received',
  'Return-Path',
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
