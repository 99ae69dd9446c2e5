import * as assert from 'uvu/assert'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Body, startService } from '../../support/service.ts'
import { fieldErrors, send, sent, stored, withoutTrace } from './send-support.ts'

const LONGEST_LOCAL = 'l'.repeat(64)
const LONGEST = `${LONGEST_LOCAL}@${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(58)}.co`

const ONE: [what: string, to: unknown, email: string, name: string | null][] = [
  ['an address', 'ada@example.org', 'ada@example.org', null],
  ['an address with blanks and capitals', ' Ada@EXAMPLE.org\t', 'ada@example.org', null],
  ['name and address', 'Ada Lovelace <ada@example.org>', 'ada@example.org', 'Ada Lovelace'],
  ['name and address without a blank', 'Ada<ada@example.org>', 'ada@example.org', 'Ada'],
  ['an address in angle brackets', '<ada@example.org>', 'ada@example.org', null],
  ['a quoted name with a comma', '"Lovelace, Ada" <ada@example.org>', 'ada@example.org', 'Lovelace, Ada'],
  ['a quoted name with quotes', '"Ada \\"L\\"" <ada@example.org>', 'ada@example.org', 'Ada "L"'],
  [
    'a name with a comma that is not quoted',
    'Lovelace, Ada <ada@example.org>',
    'ada@example.org',
    'Lovelace, Ada',
  ],
  ['a name with an emoji', 'Ada 🎉 <ada@example.org>', 'ada@example.org', 'Ada 🎉'],
  ['a name from right to left', 'عادة <ada@example.org>', 'ada@example.org', 'عادة'],
  ['an object', { email: 'ada@example.org', name: 'Ada' }, 'ada@example.org', 'Ada'],
  ['an object with capitals', { email: ' ADA@example.org ', name: ' Ada ' }, 'ada@example.org', 'Ada'],
  ['an object without a name', { email: 'ada@example.org' }, 'ada@example.org', null],
  ['an object whose name is null', { email: 'ada@example.org', name: null }, 'ada@example.org', null],
  ['an object whose name is empty', { email: 'ada@example.org', name: ' ' }, 'ada@example.org', null],
  [
    'an object whose name has commas, quotes and brackets',
    { email: 'ada@example.org', name: 'Lovelace, "A" <x@y.z>' },
    'ada@example.org',
    'Lovelace, "A" <x@y.z>',
  ],
  ['an object with more in it', { email: 'ada@example.org', id: 7 }, 'ada@example.org', null],
  ['a list of one', [{ email: 'ada@example.org', name: 'Ada' }], 'ada@example.org', 'Ada'],
  [
    'a name of 255 characters',
    { email: 'ada@example.org', name: 'n'.repeat(255) },
    'ada@example.org',
    'n'.repeat(255),
  ],
  ['plus addressing', 'ada+news@example.org', 'ada+news@example.org', null],
  ['the longest address', LONGEST, LONGEST, null],
  ['an international domain', 'ada@BÜCHER.example', 'ada@bücher.example', null],
  ['an international domain in its ASCII form', 'ada@xn--bcher-kva.example', 'ada@bücher.example', null],
  ['an international domain from right to left', 'ada@مثال.إختبار', 'ada@مثال.إختبار', null],
  ['a domain in full-width letters', 'ada@ｅｘａｍｐｌｅ.org', 'ada@example.org', null],
]

const BAD: [what: string, to: unknown, errors: [string, string][]][] = [
  ['an empty list', [], [['to', 'too_small']]],
  ['a number', 5, [['to', 'invalid_type']]],
  ['a boolean', true, [['to', 'invalid_type']]],
  ['a list in a list', [['ada@example.org']], [['to.0', 'invalid_type']]],
  ['null in a list', [null], [['to.0', 'invalid_type']]],
  ['an empty text', '', [['to', 'invalid_string']]],
  ['no address', 'ada', [['to', 'invalid_string']]],
  ['two addresses in a text', 'a@example.org, b@example.org', [['to', 'invalid_string']]],
  ['two named addresses in a text', 'A <a@example.org>, B <b@example.org>', [['to', 'invalid_string']]],
  ['two addresses in brackets', 'A <a@example.org> <b@example.org>', [['to', 'invalid_string']]],
  ['an address with something behind it', 'A <a@example.org> b', [['to', 'invalid_string']]],
  ['a bracket that is not closed', 'A <a@example.org', [['to', 'invalid_string']]],
  ['a quote that is not closed', '"A <a@example.org>', [['to', 'invalid_string']]],
  ['a group', 'friends: <a@example.org>;', [['to', 'invalid_string']]],
  ['no @', { email: 'ada.example.org' }, [['to.email', 'invalid_string']]],
  ['two @', 'a@b@example.org', [['to', 'invalid_string']]],
  ['a quoted local part', '"a b"@example.org', [['to', 'invalid_string']]],
  ['a domain without a dot', 'ada@localhost', [['to', 'invalid_string']]],
  ['an address literal', 'ada@[127.0.0.1]', [['to', 'invalid_string']]],
  ['a local part outside ASCII', 'ädä@example.org', [['to', 'invalid_string']]],
  ['a local part of 65 characters', `${'l'.repeat(65)}@example.org`, [['to', 'invalid_string']]],
  ['an address of 255 characters', LONGEST.replace('@', '@d'), [['to', 'invalid_string']]],
  ['a megabyte', `${'<a'.repeat(500_000)}@example.org`, [['to', 'invalid_string']]],
  ['a line break in an address', 'ada@example.org\r\nBcc: b@example.org', [['to', 'invalid_string']]],
  ['a NUL in an address', 'ada\0@example.org', [['to', 'invalid_string']]],
  [
    'a line break in a name',
    { email: 'ada@example.org', name: 'A\r\nBcc: b' },
    [['to.name', 'invalid_string']],
  ],
  [
    'half a surrogate pair in a name',
    { email: 'ada@example.org', name: '\ud83d' },
    [['to.0.name', 'invalid_string']],
  ],
  ['a name of 256 characters', { email: 'ada@example.org', name: 'n'.repeat(256) }, [['to.name', 'too_big']]],
  ['a name that is no text', { email: 'ada@example.org', name: 5 }, [['to.name', 'invalid_type']]],
  ['an object without an address', { name: 'Ada' }, [['to.email', 'required']]],
  ['an object whose address is no text', { email: 5 }, [['to.email', 'invalid_type']]],
  [
    'several of them',
    ['x', 'ada@example.org', { email: 'y' }],
    [
      ['to.0', 'invalid_string'],
      ['to.2.email', 'invalid_string'],
    ],
  ],
]

const start = sharedStart(() => startService({ ROLES: 'http' }))

scenario('A recipient', start, (test) => {
  for (const [what, to, address, name] of ONE) {
    test(`may be ${what}`, async (service) => {
      const { contact, email } = await sent(service, { to })
      assert.equal([contact.email, email.to_email, email.to_name], [address, address, name])
    })
  }

  for (const [what, to, errors] of BAD) {
    test(`may not be ${what}`, async (service) => {
      const answer = await withoutTrace(service, () => send(service, { to }))
      assert.equal(fieldErrors(answer), errors)
    })
  }

  test('has one contact, whatever the case and form of its address', async (service) => {
    const forms = ['case@bücher.example', 'CASE@Bücher.example', 'case@xn--bcher-kva.example']
    const ids = []
    for (const to of forms) ids.push((await sent(service, { to })).contact.id)
    assert.is(new Set(ids).size, 1)
  })
})

scenario('Several recipients', start, (test) => {
  test('each get a mail and a contact of their own', async (service) => {
    const to = ['m1@example.org', 'Two <m2@example.org>', { email: 'm3@example.org', name: 'Three' }]
    const { body } = await send(service, { to, subject: 'For {{email}}' })
    const mails = []
    for (const { email } of body.data.emails) mails.push((await stored(service, email)).email)
    assert.equal(
      mails.map((mail: Body) => [mail.to_email, mail.to_name, mail.subject]),
      [
        ['m1@example.org', null, 'For m1@example.org'],
        ['m2@example.org', 'Two', 'For m2@example.org'],
        ['m3@example.org', 'Three', 'For m3@example.org'],
      ],
    )
    assert.is(new Set(mails.map((mail: Body) => mail.contact_id)).size, 3)
  })

  test('are one when they are the same, in the form that came first', async (service) => {
    const to = ['First <same@example.org>', 'SAME@example.org', { email: 'same@example.org', name: 'Last' }]
    const { body } = await send(service, { to })
    assert.is(body.data.emails.length, 1)
    assert.is((await stored(service, body.data.emails[0].email)).email.to_name, 'First')
  })

  test('may be a thousand', async (service) => {
    const to = Array.from({ length: 1_000 }, (_, index) => `n${index}@thousand.example`)
    const { body } = await send(service, { to })
    assert.equal(
      body.data.emails.map((email: Body) => email.contact.email),
      to,
    )
    const [row] = await service.sql(
      `select count(*)::int from emails e join contacts c on c.id = e.contact_id and c.email = e.to_email
       where e.to_email like '%@thousand.example'`,
    )
    assert.is(row?.count, 1_000)
  })

  test('may not be more than a thousand', async (service) => {
    const to = Array.from({ length: 1_001 }, (_, index) => `n${index}@example.org`)
    const answer = await withoutTrace(service, () => send(service, { to }))
    assert.equal(fieldErrors(answer), [['to', 'too_big']])
  })
})
