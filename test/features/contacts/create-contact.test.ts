import * as assert from 'uvu/assert'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { eventsOf, fieldErrors, withoutTrace } from '../sending/send-support.ts'
import { CONTACT, contactOf, createContact, graphqlValue, newContact, shortError } from './contact-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/

scenario('POST /contacts', start, (test) => {
  test('makes a contact that is subscribed, answers 201 and emits no event', async (service) => {
    const { status, body } = await createContact(service, { email: 'ada@example.org', data: { plan: 'pro' } })
    assert.is(status, 201)
    const { id, createdAt, updatedAt, ...rest } = body
    assert.match(id, UUID_V7)
    assert.match(createdAt, ISO)
    assert.is(updatedAt, createdAt)
    assert.equal(rest, {
      email: 'ada@example.org',
      subscribed: true,
      data: { plan: 'pro' },
      _meta: { isNew: true, isUpdate: false },
    })
    const { _meta, ...contact } = body
    assert.equal(await contactOf(service, id), contact)
    assert.equal(await eventsOf(service, id), [])
  })

  test('takes a contact that does not subscribe, also without an event', async (service) => {
    const { status, body } = await createContact(service, { email: 'no@example.org', subscribed: false })
    assert.is(status, 201)
    assert.is(body.subscribed, false)
    assert.equal(body.data, {})
    assert.equal(await eventsOf(service, body.id), [])
  })

  test('merges into the contact that has the address, and answers 200', async (service) => {
    const before = await newContact(service, { data: { plan: 'pro', seats: 3 } })
    service.clock.advance(1_000)
    const { status, body } = await createContact(service, {
      email: before.email,
      data: { seats: null, trial: true },
    })
    assert.is(status, 200)
    assert.ok(body.updatedAt > before.updatedAt)
    assert.equal(body, {
      ...before,
      data: { plan: 'pro', trial: true },
      updatedAt: body.updatedAt,
      _meta: { isNew: false, isUpdate: true },
    })
    assert.equal((await service.sql('select id from contacts where email = $1', [before.email])).length, 1)
  })

  test('answers 200 as well when nothing changes, and leaves updatedAt as it is', async (service) => {
    const before = await newContact(service, { data: { plan: 'pro' } })
    service.clock.advance(1_000)
    const { status, body } = await createContact(service, { email: before.email, data: { plan: 'pro' } })
    assert.is(status, 200)
    assert.equal(body, { ...before, _meta: { isNew: false, isUpdate: true } })
  })

  test('keeps the state of a known contact unless it is given', async (service) => {
    for (const subscribed of [true, false]) {
      const { email } = await newContact(service, { subscribed })
      assert.is((await createContact(service, { email, data: { a: 1 } })).body.subscribed, subscribed)
      assert.is((await createContact(service, { email, subscribed: null })).body.subscribed, subscribed)
    }
  })

  test('emits an event when the state flips, and only then', async (service) => {
    const { id, email } = await newContact(service)
    const off = await createContact(service, { email, subscribed: false, data: { a: 1 } })
    assert.is(off.body.subscribed, false)
    assert.equal(await eventsOf(service, id), [{ name: 'contact.unsubscribed', data: { source: 'api' } }])
    await createContact(service, { email, subscribed: false, data: { a: 2 } })
    assert.is((await eventsOf(service, id)).length, 1)
    service.clock.advance(1_000)
    await createContact(service, { email, subscribed: true })
    assert.equal(await eventsOf(service, id), [
      { name: 'contact.unsubscribed', data: { source: 'api' } },
      { name: 'contact.subscribed', data: { source: 'api' } },
    ])
  })

  test('does not reach the same address in another project', async (service) => {
    const other = await service.newProject()
    const mine = await newContact(service, { email: 'shared@example.org', data: { mine: true } })
    const theirs = await createContact(service, { email: 'shared@example.org', data: { theirs: 1 } }, other)
    assert.is(theirs.status, 201)
    assert.equal(theirs.body.data, { theirs: 1 })
    assert.equal(await contactOf(service, mine.id), mine)
  })

  for (const [what, written] of [
    ['upper case', 'GRACE@Example.ORG'],
    ['blanks', '  grace@example.org\t\n'],
    ['both', ' Grace@EXAMPLE.org '],
  ] as const) {
    test(`takes an address with ${what} for the same contact`, async (service) => {
      const first = await createContact(service, { email: 'grace@example.org' })
      const again = await createContact(service, { email: written })
      assert.is(again.status, 200)
      assert.is(again.body.id, first.body.id)
      assert.is(again.body.email, 'grace@example.org')
    })
  }

  test('shows an international domain in one form', async (service) => {
    const { body } = await createContact(service, { email: 'ada@BÜCHER.example' })
    assert.is(body.email, 'ada@bücher.example')
    const again = await createContact(service, { email: 'ada@xn--bcher-kva.example' })
    assert.equal([again.status, again.body.id], [200, body.id])
  })

  for (const email of ['ADA@raw.example', ' ada@raw.example', 'ada@raw.example ']) {
    test(`the database itself refuses "${email}"`, async ({ sql, project }) => {
      const refused = sql(
        `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
         values ($1, gen_random_uuid(), $2, true, now(), now())`,
        [project.id, email],
      )
      assert.match(await refused.then(String, String), 'contacts_email_normal')
    })
  }

  test('the database itself refuses a second contact with an address', async (service) => {
    const { email } = await newContact(service)
    const refused = service.sql(
      `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
       values ($1, gen_random_uuid(), $2, true, now(), now())`,
      [service.project.id, email],
    )
    assert.match(await refused.then(String, String), 'contacts_project_id_email_key')
  })

  for (const body of ['', {}, { data: { a: 1 } }, { subscribed: 'yes', data: [] }]) {
    test(`answers in the short form without an address: ${JSON.stringify(body)}`, async (service) => {
      const answer = await withoutTrace(service, () => createContact(service, body))
      assert.is(shortError(answer), 'email is required')
    })
  }

  const BAD: [what: string, fields: object, errors: [string, string][]][] = [
    ['an address that is none', { email: 'ada' }, [['email', 'invalid_string']]],
    ['an empty address', { email: '' }, [['email', 'invalid_string']]],
    ['an address with a name', { email: 'Ada <ada@example.org>' }, [['email', 'invalid_string']]],
    ['two addresses', { email: 'a@example.org, b@example.org' }, [['email', 'invalid_string']]],
    [
      'an address with a line break',
      { email: 'a@example.org\nb@example.org' },
      [['email', 'invalid_string']],
    ],
    ['an address of a wrong type', { email: 5 }, [['email', 'invalid_type']]],
    ['null as the address', { email: null }, [['email', 'invalid_type']]],
    ['a list of addresses', { email: ['ada@example.org'] }, [['email', 'invalid_type']]],
    ['a state that is none', { subscribed: 'true' }, [['subscribed', 'invalid_type']]],
    ['a list as data', { data: [1] }, [['data', 'invalid_type']]],
    ['text as data', { data: '{}' }, [['data', 'invalid_type']]],
    ['a NUL in a value', { data: { a: { b: ['x\0'] } } }, [['data.a.b.0', 'invalid_string']]],
    ['a NUL in a key', { data: { 'a\0': 1 } }, [['data', 'invalid_string']]],
    ['half a character', { data: { a: '\ud83c' } }, [['data.a', 'invalid_string']]],
    [
      'everything at once',
      { email: 'x', subscribed: 1, data: 'x' },
      [
        ['email', 'invalid_string'],
        ['subscribed', 'invalid_type'],
        ['data', 'invalid_type'],
      ],
    ],
  ]
  for (const [what, fields, errors] of BAD) {
    test(`refuses ${what}`, async (service) => {
      const body = { email: 'bad@example.org', ...fields }
      const answer = await withoutTrace(service, () => createContact(service, body))
      assert.equal(fieldErrors(answer), errors)
    })
  }

  test('never shows what was sent in an error', async (service) => {
    const answer = await createContact(service, { email: 'secret-value', subscribed: 'secret-value' })
    assert.is(answer.status, 422)
    assert.not.match(answer.text, 'secret-value')
  })

  test('refuses a body that is no object', async (service) => {
    for (const body of ['[]', '"x"', 'null', '{']) {
      assertRefused(await createContact(service, body), 400, 'INVALID_REQUEST_BODY')
    }
  })

  test('ignores fields that it does not know', async (service) => {
    const { id } = await newContact(service, { id: 'x', color: 'red', _meta: { isNew: false } })
    assert.match(id, UUID_V7)
  })
})

const CREATE = `mutation ($input: CreateContactInput!) {
  createContact(input: $input) { ${CONTACT} _meta { isNew isUpdate } }
}`

scenario('createContact in GraphQL', start, (test) => {
  test('answers as REST does, whether it makes or updates', async (service) => {
    const email = 'graph@example.org'
    const made = await graphqlValue(service, CREATE, { input: { email, data: { a: 1 } } })
    assert.equal(made._meta, { isNew: true, isUpdate: false })
    const { _meta, ...contact } = made
    assert.equal(await contactOf(service, made.id), contact)
    const byRest = (await createContact(service, { email, data: { a: 1 } })).body
    const byGraphQL = await graphqlValue(service, CREATE, { input: { email, data: { a: 1 } } })
    assert.equal(byGraphQL, byRest)
  })

  test('refuses what REST refuses, with the same codes', async (service) => {
    const { project, as } = service
    const input = { email: 'x', subscribed: true }
    const extensions = assertGraphQLRefused(
      await as(project).graphql(CREATE, { input }),
      422,
      'VALIDATION_ERROR',
    )
    const rest = await service.as().post('/contacts', input)
    assert.equal(extensions.errors, rest.body.error.errors)
  })

  test('emits the same event', async (service) => {
    const { id, email } = await newContact(service)
    await graphqlValue(service, CREATE, { input: { email, subscribed: false } })
    assert.equal(await eventsOf(service, id), [{ name: 'contact.unsubscribed', data: { source: 'api' } }])
  })
})

scenario('createContact without the right to', start, (test) => {
  const cases: [what: string, key: (service: Service) => string | undefined, code: string][] = [
    ['a public key', ({ project }) => project.public, 'INVALID_API_KEY'],
    ['an unknown key', () => `sk_${'0'.repeat(64)}`, 'INVALID_API_KEY'],
    ['no key', () => undefined, 'MISSING_AUTH'],
  ]
  for (const [what, keyOf, code] of cases) {
    test(`is refused with ${what}, before the body is looked at`, async (service) => {
      const key = keyOf(service)
      const answer = await withoutTrace(service, () =>
        service.call('POST', '/contacts', { body: '{', ...(key && { key }) }),
      )
      assertRefused(answer, 401, code)
    })
  }
})
