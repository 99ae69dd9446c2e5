import * as assert from 'uvu/assert'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { withoutTrace } from '../sending/send-support.ts'
import { graphqlValue, newContact, shortError } from './contact-support.ts'
import { addEvents } from './erase-support.ts'

const start = () => startService({ ROLES: 'http' })

const lookUp = (service: Service, emails: unknown) => service.as().post('/contacts/lookup', { emails })

const LOOKUP = `query ($input: LookupContactsInput!) { lookupContacts(input: $input) { found notFound } }`

const addresses = (count: number) => Array.from({ length: count }, (_, index) => `p${index}@example.org`)

scenario('POST /contacts/lookup', start, (test) => {
  test('tells which addresses belong to contacts, in the order given', async (service) => {
    await newContact(service, { email: 'ada@example.org' })
    await newContact(service, { email: 'grace@example.org', subscribed: false })
    const emails = ['x@example.org', 'grace@example.org', 'a@example.org', 'ada@example.org']
    const { status, body } = await withoutTrace(service, () => lookUp(service, emails))
    assert.is(status, 200)
    assert.equal(body, {
      found: ['grace@example.org', 'ada@example.org'],
      notFound: ['x@example.org', 'a@example.org'],
    })
    assert.equal(await graphqlValue(service, LOOKUP, { input: { emails } }), body)
  })

  test('does not find a contact that is being erased', async (service) => {
    const { id } = await newContact(service)
    await addEvents(service, service.project, id, 1_500)
    assert.is((await service.as().delete(`/contacts/${id}`)).status, 204)
    const asked = `erased:${id}`
    assert.equal(await service.sql('select email from contacts where id = $1', [id]), [{ email: asked }])
    assert.equal((await lookUp(service, [asked])).body, { found: [], notFound: [asked] })
  })

  test('compares without case and blanks, and names each address once', async (service) => {
    await newContact(service, { email: 'linus@example.org' })
    const emails = ['LINUS@example.org', ' linus@Example.org ', 'No@example.org', 'no@EXAMPLE.org']
    assert.equal((await lookUp(service, emails)).body, {
      found: ['linus@example.org'],
      notFound: ['no@example.org'],
    })
  })

  test('finds nothing where there can be no contact', async (service) => {
    const emails = ['', 'not an address', '%', "' or 1=1"]
    assert.equal((await lookUp(service, emails)).body, { found: [], notFound: emails })
  })

  test("does not know other projects' contacts", async (service) => {
    const { email } = await newContact(service, {}, await service.newProject())
    assert.equal((await lookUp(service, [email])).body, { found: [], notFound: [email] })
  })

  test('takes 500 addresses', async (service) => {
    await newContact(service, { email: 'p499@example.org' })
    const { body } = await lookUp(service, addresses(500))
    assert.equal(body.found, ['p499@example.org'])
    assert.is(body.notFound.length, 499)
  })

  for (const [what, emails, message] of [
    ['501 addresses', addresses(501), /^emails: /],
    ['501 times the same', Array.from({ length: 501 }, () => 'ada@example.org'), /^emails: /],
    ['100,000 addresses', Array.from({ length: 100_000 }, () => 'a'), /^emails: /],
    ['no addresses', [], /^emails: /],
    ['a missing list', undefined, /^emails is required$/],
    ['null', null, /^emails: /],
    ['text', 'ada@example.org', /^emails: /],
    ['a number among them', ['ada@example.org', 5], /^emails\.1: /],
    ['null among them', [null], /^emails\.0: /],
    ['one of 321 characters', ['x'.repeat(321)], /^emails\.0: /],
    ['a NUL', ['ada\0@example.org'], /^emails\.0: /],
  ] as const) {
    test(`refuses ${what} in the short form`, async (service) => {
      assert.match(shortError(await lookUp(service, emails)), message)
    })
  }

  test('refuses the same in GraphQL, with the usual codes', async ({ as, project }) => {
    for (const emails of [[], addresses(501)]) {
      const answer = await as(project).graphql(LOOKUP, { input: { emails } })
      const { errors } = assertGraphQLRefused(answer, 422, 'VALIDATION_ERROR')
      assert.equal(
        errors.map(({ field }: { field: string }) => field),
        ['emails'],
      )
    }
  })

  test('refuses a body that is no object in the standard form', async (service) => {
    for (const body of ['[]', '{']) {
      assertRefused(await service.as().post('/contacts/lookup', body), 400, 'INVALID_REQUEST_BODY')
    }
  })
})
