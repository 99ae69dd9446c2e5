import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { setProjectDisabled } from '../../../src/features/projects/projects.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Answer, type Body, type Service, startService } from '../../support/service.ts'
import { withoutTrace } from '../sending/send-support.ts'
import { CONTACT, contactOf, createContact, graphqlValue, newContact } from './contact-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

const CALLS: [method: string, body: Body][] = [
  ['GET', undefined],
  ['PATCH', { data: { a: 1 } }],
  ['DELETE', undefined],
]

for (const [method, body] of CALLS) {
  scenario(`${method} /contacts/:id`, start, (test) => {
    const call = (service: Service, id: string) => service.as().call(method, `/contacts/${id}`, body)

    test('does not find a contact that there is not', async (service) => {
      assertRefused(await call(service, randomUUID()), 404, 'CONTACT_NOT_FOUND')
    })

    test("does not find another project's contact, and does not touch it", async (service) => {
      const other = await service.newProject()
      const theirs = await newContact(service, { data: { theirs: true } }, other)
      const answer = await withoutTrace(service, () => call(service, theirs.id))
      assertRefused(answer, 404, 'CONTACT_NOT_FOUND')
      assert.equal(await contactOf(service, theirs.id, other), theirs)
    })

    for (const id of ['ada@example.org', '1', '\0', `${randomUUID()}0`, "'; drop table contacts --"]) {
      test(`does not find what cannot be an id: ${JSON.stringify(id)}`, async (service) => {
        assertRefused(await call(service, encodeURIComponent(id)), 404, 'RESOURCE_NOT_FOUND')
      })
    }

    test('takes an id in upper case', async (service) => {
      const { id } = await newContact(service)
      const answer = await call(service, id.toUpperCase())
      assert.ok(answer.status < 300, answer.text)
    })
  })
}

scenario('GET /contacts/:id', start, (test) => {
  test('answers with the contact, without _meta', async (service) => {
    const made = await createContact(service, { email: 'ada@example.org', data: { plan: 'pro' } })
    const { _meta, ...contact } = made.body
    const { status, body } = await service.as().get(`/contacts/${made.body.id}`)
    assert.is(status, 200)
    assert.equal(body, contact)
  })

  test('does not take an address beside the id', async (service) => {
    const [ada, grace] = [await newContact(service), await newContact(service)]
    const answer = await service.as().get(`/contacts/${ada.id}?email=${grace.email}`)
    assert.equal([answer.status, answer.body], [200, ada])
  })
})

scenario('DELETE /contacts/:id', start, (test) => {
  test('answers 204 without a body; the contact is gone, and its address may be used again', async (service) => {
    const { id, email } = await newContact(service)
    const { status, text } = await service.as().delete(`/contacts/${id}`)
    assert.equal([status, text], [204, ''])
    assertRefused(await service.as().get(`/contacts/${id}`), 404, 'CONTACT_NOT_FOUND')
    assertRefused(await service.as().delete(`/contacts/${id}`), 404, 'CONTACT_NOT_FOUND')
    const again = await createContact(service, { email })
    assert.is(again.status, 201)
    assert.is.not(again.body.id, id)
  })

  test('at the same time succeeds once', async (service) => {
    const { id } = await newContact(service)
    const answers = await Promise.all(Array.from({ length: 8 }, () => service.as().delete(`/contacts/${id}`)))
    const statuses = answers.map(({ status }) => status).toSorted()
    assert.equal(statuses, [204, ...Array.from({ length: 7 }, () => 404)])
  })
})

const BY_ID = `query ($id: ID, $email: String) { contact(id: $id, email: $email) { ${CONTACT} } }`
const DELETE = 'mutation ($id: ID!) { deleteContact(id: $id) }'

scenario('contact in GraphQL', start, (test) => {
  test('is found by its id and by its address, as REST shows it', async (service) => {
    const { id, email } = await newContact(service, { data: { plan: 'pro' } })
    const byRest = await contactOf(service, id)
    assert.equal(await graphqlValue(service, BY_ID, { id }), byRest)
    assert.equal(await graphqlValue(service, BY_ID, { email }), byRest)
    assert.equal(await graphqlValue(service, BY_ID, { email: ` ${email.toUpperCase()} ` }), byRest)
    assert.equal(await graphqlValue(service, BY_ID, { id, email: null }), byRest)
  })

  for (const [what, variables] of [
    ['both', { id: randomUUID(), email: 'ada@example.org' }],
    ['none', {}],
    ['two nulls', { id: null, email: null }],
    ['nothing in them', { id: '', email: '' }],
  ] as const) {
    test(`is refused with ${what}`, async ({ as, project }) => {
      assertGraphQLRefused(await as(project).graphql(BY_ID, variables), 400, 'BAD_REQUEST')
    })
  }

  for (const [variables, code] of [
    [{ id: randomUUID() }, 'CONTACT_NOT_FOUND'],
    [{ email: 'nobody@example.org' }, 'CONTACT_NOT_FOUND'],
    [{ email: 'not an address' }, 'CONTACT_NOT_FOUND'],
    [{ id: 'x' }, 'RESOURCE_NOT_FOUND'],
  ] as const) {
    test(`is not found: ${JSON.stringify(variables)}`, async ({ as, project }) => {
      assertGraphQLRefused(await as(project).graphql(BY_ID, variables), 404, code)
    })
  }

  test("is not another project's", async (service) => {
    const other = await service.newProject()
    const { id, email } = await newContact(service, {}, other)
    for (const variables of [{ id }, { email }]) {
      const answer = await service.as().graphql(BY_ID, variables)
      assertGraphQLRefused(answer, 404, 'CONTACT_NOT_FOUND')
    }
  })

  test('is deleted', async (service) => {
    const { as, project } = service
    const { id } = await newContact(service)
    assert.is(await graphqlValue(service, DELETE, { id }), true)
    const again = await as(project).graphql(DELETE, { id })
    assertGraphQLRefused(again, 404, 'CONTACT_NOT_FOUND')
    assertRefused(await service.as().get(`/contacts/${id}`), 404, 'CONTACT_NOT_FOUND')
  })
})

type Call = (service: Service, id: string, key: string | undefined) => Promise<Answer>

const rest =
  (method: string, path: string, body?: unknown): Call =>
  ({ call }, id, key) =>
    call(method, path.replace(':id', id), { ...(key && { key }), ...(body !== undefined && { body }) })

const EVERYTHING: [name: string, writes: boolean, call: Call][] = [
  ['GET /contacts', false, rest('GET', '/contacts')],
  ['GET /contacts/:id', false, rest('GET', '/contacts/:id')],
  ['POST /contacts/lookup', false, rest('POST', '/contacts/lookup', { emails: ['ada@example.org'] })],
  ['POST /contacts', true, rest('POST', '/contacts', { email: 'new@example.org' })],
  ['PATCH /contacts/:id', true, rest('PATCH', '/contacts/:id', { subscribed: false })],
  ['DELETE /contacts/:id', true, rest('DELETE', '/contacts/:id')],
]

for (const [name, writes, call] of EVERYTHING) {
  scenario(`${name} is guarded`, start, (test) => {
    test('by a secret key', async (service) => {
      const { project } = service
      const contact = await newContact(service)
      await withoutTrace(service, async () => {
        assertRefused(await call(service, contact.id, undefined), 401, 'MISSING_AUTH')
        assertRefused(await call(service, contact.id, project.public), 401, 'INVALID_API_KEY')
        assertRefused(await call(service, contact.id, `sk_${'0'.repeat(64)}`), 401, 'INVALID_API_KEY')
      })
      assert.equal(await contactOf(service, contact.id), contact)
    })

    test(`and ${writes ? 'refuses' : 'answers'} in a disabled project`, async (service) => {
      const disabled = await service.newProject()
      const contact = await newContact(service, {}, disabled)
      await setProjectDisabled(service.ctx(), disabled.id, 'spam')
      const answer = await call(service, contact.id, disabled.secret)
      if (writes) assertRefused(answer, 403, 'PROJECT_DISABLED')
      else assert.is(answer.status, 200, answer.text)
      assert.equal(await contactOf(service, contact.id, disabled), contact)
    })
  })
}

scenario('Contacts', start, (test) => {
  test('have no other methods', async (service) => {
    for (const [method, path, allowed] of [
      ['PUT', '', 'GET, POST'],
      ['DELETE', '', 'GET, POST'],
      ['PUT', `/${randomUUID()}`, 'GET, PATCH, DELETE'],
    ] as const) {
      const answer = await service.as().call(method, `/contacts${path}`)
      assertRefused(answer, 405, 'METHOD_NOT_ALLOWED')
      const allow = (answer.headers.get('allow') ?? '').split(', ')
      for (const one of allowed.split(', ')) assert.ok(allow.includes(one), `${allow} has ${one}`)
    }
  })
})
