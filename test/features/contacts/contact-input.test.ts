import { isDeepStrictEqual } from 'node:util'
import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Body, type Service, startService } from '../../support/service.ts'
import { fieldErrors, withoutTrace } from '../sending/send-support.ts'
import { contactOf, createContact, newContact } from './contact-support.ts'

const start = () => startService({ ROLES: 'http' })

/** JSON text, because an object literal cannot name "__proto__". */
const RULES: [what: string, before: string, input: string, after: string][] = [
  ['stores text', '{}', '{"a":"x"}', '{"a":"x"}'],
  ['stores numbers', '{}', '{"a":0,"b":-1.5,"c":1e21}', '{"a":0,"b":-1.5,"c":1e21}'],
  ['stores both booleans', '{}', '{"a":true,"b":false}', '{"a":true,"b":false}'],
  ['replaces a value of another type', '{"a":1}', '{"a":"1"}', '{"a":"1"}'],
  ['stores blanks', '{"a":"x"}', '{"a":" "}', '{"a":" "}'],
  ['deletes with null', '{"a":1,"b":2}', '{"a":null}', '{"b":2}'],
  ['takes null for an unknown key', '{"a":1}', '{"b":null}', '{"a":1}'],
  ['ignores empty text', '{"a":1}', '{"a":"","b":""}', '{"a":1}'],
  [
    'drops reserved keys',
    '{"a":1}',
    '{"id":"x","svc_id":"x","svc_email":"x","email":"x","unsubscribeUrl":"x","subscribeUrl":"x","manageUrl":"x","b":2}',
    '{"a":1,"b":2}',
  ],
  [
    'reserves keys in this case alone',
    '{}',
    '{"ID":1,"Email":2,"manageurl":3}',
    '{"ID":1,"Email":2,"manageurl":3}',
  ],
  ['stores reserved names inside of objects', '{}', '{"a":{"id":1,"email":2}}', '{"a":{"id":1,"email":2}}'],
  [
    'does not store what is used once',
    '{"a":1}',
    '{"a":{"value":2,"persistent":false},"b":{"value":3,"persistent":false}}',
    '{"a":1}',
  ],
  ['does not delete what is null once', '{"a":1}', '{"a":{"value":null,"persistent":false}}', '{"a":1}'],
  ['unwraps what is persistent', '{}', '{"a":{"value":2,"persistent":true}}', '{"a":2}'],
  ['deletes with a persistent null', '{"a":1}', '{"a":{"value":null,"persistent":true}}', '{}'],
  [
    'stores objects that only look like it',
    '{}',
    '{"a":{"value":1},"b":{"value":1,"persistent":"no"},"c":{"value":1,"persistent":false,"x":1}}',
    '{"a":{"value":1},"b":{"value":1,"persistent":"no"},"c":{"value":1,"persistent":false,"x":1}}',
  ],
  [
    'stores objects and lists',
    '{}',
    '{"a":{"b":[1,null,"",{"c":[]}]},"d":[]}',
    '{"a":{"b":[1,null,"",{"c":[]}]},"d":[]}',
  ],
  ['replaces objects as a whole', '{"a":{"b":1,"c":2}}', '{"a":{"b":3}}', '{"a":{"b":3}}'],
  [
    'takes __proto__ for a key like any other',
    '{}',
    '{"__proto__":{"admin":true},"constructor":1,"toString":"x"}',
    '{"__proto__":{"admin":true},"constructor":1,"toString":"x"}',
  ],
  ['deletes __proto__', '{"__proto__":1,"a":1}', '{"__proto__":null}', '{"a":1}'],
  [
    'stores any characters',
    '{}',
    '{"ключ 🎉":"Ünïcödé 👩‍🚀 \\u2028 \\u0001","a.b":1," ":2,"":3}',
    '{"ключ 🎉":"Ünïcödé 👩‍🚀 \\u2028 \\u0001","a.b":1," ":2,"":3}',
  ],
  [
    'does not take a key of digits for a place in a list',
    '{"0":"a","1":"b"}',
    '{"0":null,"-1":"c"}',
    '{"1":"b","-1":"c"}',
  ],
  ['changes nothing without keys', '{"a":1}', '{}', '{"a":1}'],
]

/** uvu's equal is confused by keys such as "constructor". */
function assertData(answer: Answer, expected: string): void {
  assert.ok(answer.status < 300, answer.text)
  assert.ok(isDeepStrictEqual(answer.body.data, JSON.parse(expected)), `${answer.text} is not ${expected}`)
}

/** Ways to give data to a contact that is known. */
const WAYS: [name: string, give: (service: Service, contact: Body, data: string) => Promise<Answer>][] = [
  [
    'POST /contacts',
    (service, { email }, data) => createContact(service, `{"email":"${email}","data":${data}}`),
  ],
  [
    'PATCH /contacts/:id',
    (service, { id }, data) => service.as().patch(`/contacts/${id}`, `{"data":${data}}`),
  ],
]

for (const [name, give] of WAYS) {
  scenario(`Data of ${name}`, start, (test) => {
    for (const [what, before, input, after] of RULES) {
      test(what, async (service) => {
        const { id, email } = await newContact(service)
        assertData(await createContact(service, `{"email":"${email}","data":${before}}`), before)
        assertData(await give(service, { id, email }, input), after)
        assertData(await service.as().get(`/contacts/${id}`), after)
      })
    }

    test('may be null or missing', async (service) => {
      const contact = await newContact(service, { data: { a: 1 } })
      assertData(await give(service, contact, 'null'), '{"a":1}')
    })

    test('takes 64 KB, and refuses more', async (service) => {
      const contact = await newContact(service)
      // As the database writes it: {"a": "…"}
      const fits = 'x'.repeat(65_536 - 9)
      assertData(await give(service, contact, `{"a":"${fits}"}`), `{"a":"${fits}"}`)
      const other = await newContact(service)
      const answer = await withoutTrace(service, () => give(service, other, `{"a":"${fits}x"}`))
      assert.equal(fieldErrors(answer), [['data', 'too_big']])
      assert.equal(await contactOf(service, other.id), other)
    })

    test('counts bytes, not characters', async (service) => {
      const contact = await newContact(service)
      const answer = await give(service, contact, `{"a":"${'ü'.repeat(33_000)}"}`)
      assert.equal(fieldErrors(answer), [['data', 'too_big']])
    })

    test('is refused when it is too much together with what the contact has', async (service) => {
      const contact = await newContact(service, { data: { a: 'x'.repeat(40_000) } })
      const more = `{"b":"${'y'.repeat(40_000)}"}`
      assert.equal(fieldErrors(await give(service, contact, more)), [['data', 'too_big']])
      assert.equal(await contactOf(service, contact.id), contact)
      const instead = `{"a":null,"b":"${'y'.repeat(40_000)}"}`
      assert.is((await give(service, contact, instead)).status, 200)
    })

    test('may be nested 64 levels, but no deeper', async (service) => {
      const contact = await newContact(service)
      const nested = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`
      // The body and its data are two levels.
      assert.is((await give(service, contact, nested(60))).status, 200)
      const [[, code] = []] = fieldErrors(await give(service, contact, nested(70)))
      assert.is(code, 'too_big')
    })

    test('may have 5,000 keys, but no more', async (service) => {
      const contact = await newContact(service)
      const keys = (count: number) =>
        JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, null])))
      assert.is((await give(service, contact, keys(5_000))).status, 200)
      assert.equal(fieldErrors(await give(service, contact, keys(5_001))), [['data', 'too_big']])
    })

    test('is refused with a number that is too large', async (service) => {
      const contact = await newContact(service)
      assert.equal(fieldErrors(await give(service, contact, '{"a":1e400}')), [['data.a', 'too_big']])
    })
  })
}

scenario('Data of a new contact', start, (test) => {
  for (const [what, , input] of RULES) {
    test(`is what is left of the input: ${what}`, async (service) => {
      const known = await newContact(service)
      const updated = await createContact(service, `{"email":"${known.email}","data":${input}}`)
      const email = `new-${known.email}`
      const made = await createContact(service, `{"email":"${email}","data":${input}}`)
      assert.is(made.status, 201)
      assert.ok(isDeepStrictEqual(made.body.data, updated.body.data), made.text)
    })
  }

  test('of more than 64 KB is refused, and the contact is not made', async (service) => {
    const body = { email: 'large@example.org', data: { a: 'x'.repeat(65_536) } }
    const answer = await withoutTrace(service, () => createContact(service, body))
    assert.equal(fieldErrors(answer), [['data', 'too_big']])
  })
})
