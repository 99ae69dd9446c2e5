import * as assert from 'uvu/assert'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { fieldErrors, send, sent, withoutTrace } from './send-support.ts'

const start = () => startService({ ROLES: 'http' })

const BEFORE = { plan: 'pro', seats: 5, tags: ['a'], address: { city: 'Berlin' } }

/** What a request does to a contact that has BEFORE. */
const CHANGES: [rule: string, data: object, after: object][] = [
  [
    'text, numbers and booleans are stored',
    { plan: 'max', seats: 0, vip: false },
    { ...BEFORE, plan: 'max', seats: 0, vip: false },
  ],
  ['what is not named stays', {}, BEFORE],
  [
    'objects and lists are stored, and replace the old ones whole',
    { address: { zip: '1' }, tags: [] },
    { ...BEFORE, address: { zip: '1' }, tags: [] },
  ],
  ['null deletes', { plan: null, tags: null, missing: null }, { seats: 5, address: { city: 'Berlin' } }],
  ['an empty text is ignored', { plan: '', fresh: '' }, BEFORE],
  ['a blank is no empty text', { plan: ' ' }, { ...BEFORE, plan: ' ' }],
  [
    'what is not persistent is not stored',
    { plan: { value: 'x', persistent: false }, code: { value: 1, persistent: false } },
    BEFORE,
  ],
  ['null that is not persistent does not delete', { plan: { value: null, persistent: false } }, BEFORE],
  [
    'what is persistent is stored without its wrapping',
    { plan: { value: 'max', persistent: true } },
    { ...BEFORE, plan: 'max' },
  ],
  [
    'an object that only resembles a wrapped value is stored whole',
    { plan: { value: 1, persistent: false, unit: 'EUR' } },
    { ...BEFORE, plan: { value: 1, persistent: false, unit: 'EUR' } },
  ],
  [
    'reserved keys are dropped silently',
    {
      id: 1,
      svc_id: 1,
      svc_email: 1,
      email: 'x@y.z',
      unsubscribeUrl: 1,
      subscribeUrl: 1,
      manageUrl: 1,
      plan: 'max',
    },
    { ...BEFORE, plan: 'max' },
  ],
  [
    'reserved keys deeper down are kept',
    { address: { id: 1, email: 'x' } },
    { ...BEFORE, address: { id: 1, email: 'x' } },
  ],
]

const KILOBYTES_64 = 64 * 1024

/** Of this many bytes as JSON text. */
const dataOf = (bytes: number) => ({ x: 'x'.repeat(bytes - '{"x": ""}'.length) })

const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })

const REFUSED: [what: string, data: unknown, field: string, code: string][] = [
  ['more than 64 KB', dataOf(KILOBYTES_64 + 1), 'data', 'too_big'],
  ['more than 64 KB in bytes, though not in characters', { x: '😀'.repeat(20_000) }, 'data', 'too_big'],
  [
    'numbers that take more than 64 KB when they are written out',
    { x: Array.from({ length: 250 }, () => 1e300) },
    'data',
    'too_big',
  ],
  [
    'more than 5,000 keys',
    Object.fromEntries(Array.from({ length: 5_001 }, (_, i) => [`k${i}`, null])),
    'data',
    'too_big',
  ],
  ['too deep nesting', nested(100), `data${'.a'.repeat(63)}`, 'too_big'],
  ['a NUL in a value', { a: { b: ['x\0'] } }, 'data.a.b.0', 'invalid_string'],
  ['a NUL in a key', { 'a\0': 1 }, 'data', 'invalid_string'],
  ['half a surrogate pair', { a: '\udc00' }, 'data.a', 'invalid_string'],
]

async function contactWith(service: Service, to: string, data: object) {
  const { contact } = await sent(service, { to, data })
  assert.equal(contact.data, data)
}

scenario('The data of a send', start, (test) => {
  for (const [index, [rule, data, after]] of CHANGES.entries()) {
    test(`changes the contact: ${rule}`, async (service) => {
      const to = `change${index}@example.org`
      await contactWith(service, to, BEFORE)
      assert.equal((await sent(service, { to, data })).contact.data, after)
    })
  }

  test('is the same for a contact that it makes', async (service) => {
    const data = { plan: 'pro', gone: null, empty: '', id: 1, once: { value: 1, persistent: false } }
    assert.equal((await sent(service, { to: 'made@example.org', data })).contact.data, { plan: 'pro' })
  })

  test('is used in the mail also where it is not stored', async (service) => {
    const to = 'once@example.org'
    await contactWith(service, to, { plan: 'pro', code: 'old' })
    const data = { code: { value: 'new', persistent: false }, plan: { value: null, persistent: false } }
    const { email, contact } = await sent(service, { to, data, body: '{{code}} {{data.code}} [{{plan}}]' })
    assert.is(email.html, 'new new []')
    assert.equal(contact.data, { plan: 'pro', code: 'old' })
  })

  test('that is null is empty in the mail, and "" leaves what was there', async (service) => {
    const to = 'nothing@example.org'
    await contactWith(service, to, { a: 1, b: 2 })
    const { email } = await sent(service, { to, data: { a: null, b: '' }, body: '[{{a}}][{{b}}]' })
    assert.is(email.html, '[][2]')
  })

  test('that changes nothing does not write the contact', async (service) => {
    const to = 'unchanged@example.org'
    const before = await sent(service, { to, data: BEFORE })
    service.clock.advance(60_000)
    const after = await sent(service, { to, data: { plan: 'pro', other: null, empty: '' } })
    assert.equal(after.contact, before.contact)
  })

  test('that changes something moves updatedAt', async (service) => {
    const to = 'moved@example.org'
    const before = await sent(service, { to, data: BEFORE })
    service.clock.advance(60_000)
    const after = await sent(service, { to, data: { plan: 'max' } })
    assert.ok(after.contact.updated_at > before.contact.updated_at)
    assert.equal(after.contact.created_at, before.contact.created_at)
  })

  test('may take 64 KB', async (service) => {
    const data = dataOf(KILOBYTES_64)
    assert.equal((await sent(service, { to: 'full@example.org', data })).contact.data, data)
  })

  for (const [what, data, field, code] of REFUSED) {
    test(`may not be ${what}`, async (service) => {
      const answer = await withoutTrace(service, () => send(service, { to: 'refused@example.org', data }))
      assert.equal(fieldErrors(answer), [[field, code]])
    })
  }

  test('may not hold a number that is infinite', async (service) => {
    const { project } = service
    const body = `{"to":"a@b.co","from":"a@${project.domain}","subject":"s","body":"b","data":{"x":[1e400]}}`
    const answer = await withoutTrace(service, () => service.as(project).post('/v1/send', body))
    assert.equal(fieldErrors(answer), [['data.x.0', 'too_big']])
  })

  test('may not come to more than 64 KB together with what the contact has', async (service) => {
    const to = 'merged@example.org'
    await contactWith(service, to, { old: 'x'.repeat(40_000) })
    // Puts the name on record, where it would stay for a while.
    await sent(service, { to: 'other@example.org', data: { fresh: 1 } })
    const answer = await withoutTrace(service, () =>
      send(service, { to, data: { fresh: 'x'.repeat(40_000) } }),
    )
    assertRefused(answer, 422, 'VALIDATION_ERROR')
    assert.equal(fieldErrors(answer), [['data', 'too_big']])
    const replaced = await sent(service, { to, data: { old: null, fresh: 'x'.repeat(40_000) } })
    assert.equal(Object.keys(replaced.contact.data), ['fresh'])
  })

  test('may be larger where it is not stored', async (service) => {
    const data = { report: { value: 'x'.repeat(100_000), persistent: false } }
    const { email, contact } = await sent(service, { to: 'report@example.org', data, body: '{{report}}' })
    assert.equal([email.html.length, contact.data], [100_000, {}])
  })
})
