import * as assert from 'uvu/assert'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { whileHeld } from '../../support/while-held.ts'
import { getJob, jobIdOf, postImport, work } from '../contact-jobs/job-support.ts'
import { eventsOf, fieldErrors, withoutTrace } from '../sending/send-support.ts'
import { CONTACT, contactOf, createContact, graphqlValue, newContact } from './contact-support.ts'

const start = () => startService({ ROLES: 'http' })

const update = (service: Service, id: string, body: unknown) => service.as().patch(`/contacts/${id}`, body)

const UPDATE = `mutation ($id: ID!, $input: UpdateContactInput!) {
  updateContact(id: $id, input: $input) { ${CONTACT} }
}`

scenario('PATCH /contacts/:id', start, (test) => {
  test('changes everything that is given, and answers with the contact', async (service) => {
    const before = await newContact(service, { data: { plan: 'pro', seats: 3 } })
    service.clock.advance(1_000)
    const { status, body } = await update(service, before.id, {
      email: ' NEW@Example.org ',
      subscribed: false,
      data: { seats: null, trial: true },
    })
    assert.is(status, 200)
    assert.ok(body.updatedAt > before.updatedAt)
    assert.equal(body, {
      id: before.id,
      email: 'new@example.org',
      subscribed: false,
      data: { plan: 'pro', trial: true },
      createdAt: before.createdAt,
      updatedAt: body.updatedAt,
    })
    assert.equal(await contactOf(service, before.id), body)
  })

  test('leaves what is not given, or null', async (service) => {
    const before = await newContact(service, { subscribed: false, data: { a: 1 } })
    service.clock.advance(1_000)
    for (const body of [{}, { email: null, subscribed: null, data: null }, { data: {} }, { color: 'red' }]) {
      const answer = await update(service, before.id, body)
      assert.equal([answer.status, answer.body], [200, before])
    }
    assert.equal(await eventsOf(service, before.id), [])
  })

  test('keeps updatedAt when it changes nothing', async (service) => {
    const before = await newContact(service, { data: { a: 1 } })
    service.clock.advance(1_000)
    const { email, subscribed, data } = before
    assert.equal((await update(service, before.id, { email, subscribed, data })).body, before)
    assert.ok((await update(service, before.id, { data: { a: 2 } })).body.updatedAt > before.updatedAt)
  })

  test('emits an event when the state flips, and only then', async (service) => {
    const { id } = await newContact(service)
    await update(service, id, { subscribed: true })
    assert.equal(await eventsOf(service, id), [])
    await update(service, id, { subscribed: false, data: { a: 1 } })
    const unsubscribed = { name: 'contact.unsubscribed', data: { source: 'api' } }
    assert.equal(await eventsOf(service, id), [unsubscribed])
    await update(service, id, { subscribed: false, data: { a: 2 } })
    await update(service, id, { data: { a: 3 }, email: 'flips@example.org' })
    assert.equal(await eventsOf(service, id), [unsubscribed])
    service.clock.advance(1_000)
    await update(service, id, { subscribed: true, email: 'flips-again@example.org' })
    const subscribed = { name: 'contact.subscribed', data: { source: 'api' } }
    assert.equal(await eventsOf(service, id), [unsubscribed, subscribed])
  })

  test('says of the contact which event changed its state last', async (service) => {
    const { id } = await newContact(service)
    await update(service, id, { subscribed: false })
    await update(service, id, { data: { a: 1 } })
    const [row] = await service.sql(
      `select e.name from contacts c join events e on e.project_id = c.project_id
         and e.id = c.subscription_event_id and e.contact_id = c.id where c.id = $1`,
      [id],
    )
    assert.equal(row, { name: 'contact.unsubscribed' })
  })

  for (const [what, written] of [
    ['as it is', (email: string) => email],
    ['in upper case', (email: string) => email.toUpperCase()],
    ['with blanks', (email: string) => ` ${email} `],
  ] as const) {
    test(`refuses an address that another contact has, ${what}`, async (service) => {
      const [ada, grace] = [await newContact(service), await newContact(service)]
      const change = { email: written(grace.email), subscribed: false, data: { a: 1 } }
      const answer = await withoutTrace(service, () => update(service, ada.id, change))
      assertRefused(answer, 409, 'CONFLICT')
      assert.equal(await contactOf(service, ada.id), ada)
      assert.equal(await contactOf(service, grace.id), grace)
    })
  }

  test('takes the address of a contact of another project', async (service) => {
    const theirs = await newContact(service, {}, await service.newProject())
    const mine = await newContact(service)
    assert.is((await update(service, mine.id, { email: theirs.email })).status, 200)
  })

  test('frees the old address', async (service) => {
    const { id, email } = await newContact(service)
    await update(service, id, { email: 'moved@example.org' })
    const again = await createContact(service, { email })
    assert.is(again.status, 201)
    assert.is.not(again.body.id, id)
  })

  test('of two who take an address at once refuses one', async (service) => {
    const contacts = await Promise.all(Array.from({ length: 6 }, () => newContact(service)))
    const answers = await Promise.all(
      contacts.map(({ id }) => update(service, id, { email: 'wanted@example.org' })),
    )
    assert.equal(answers.map(({ status }) => status).toSorted(), [200, 409, 409, 409, 409, 409])
  })

  for (const [what, body, errors] of [
    ['an address that is none', { email: 'x' }, [['email', 'invalid_string']]],
    ['an empty address', { email: '' }, [['email', 'invalid_string']]],
    ['a state that is none', { subscribed: 0 }, [['subscribed', 'invalid_type']]],
    ['a list as data', { data: [] }, [['data', 'invalid_type']]],
    [
      'several bad fields',
      { email: 1, subscribed: 'no', data: 'x' },
      [
        ['email', 'invalid_type'],
        ['subscribed', 'invalid_type'],
        ['data', 'invalid_type'],
      ],
    ],
  ] as const) {
    test(`refuses ${what}`, async (service) => {
      const contact = await newContact(service)
      assert.equal(fieldErrors(await update(service, contact.id, body)), errors)
      assert.equal(await contactOf(service, contact.id), contact)
    })
  }

  test('refuses a body that is no object', async (service) => {
    const { id } = await newContact(service)
    for (const body of ['[]', 'null', '{']) {
      assertRefused(await update(service, id, body), 400, 'INVALID_REQUEST_BODY')
    }
  })

  test('does not store what is used once', async (service) => {
    const { id } = await newContact(service)
    const { body } = await update(service, id, { data: { a: { value: 1, persistent: false } } })
    assert.equal(body.data, {})
  })
})

scenario('updateContact in GraphQL', start, (test) => {
  test('answers as REST does', async (service) => {
    const { id } = await newContact(service)
    const input = { email: 'GRAPH@example.org', subscribed: false, data: { a: { b: [1] } } }
    const contact = await graphqlValue(service, UPDATE, { id, input })
    assert.equal(contact, await contactOf(service, id))
    assert.equal([contact.email, contact.subscribed], ['graph@example.org', false])
    assert.equal(await eventsOf(service, id), [{ name: 'contact.unsubscribed', data: { source: 'api' } }])
  })

  test('refuses what REST refuses, with the same codes', async (service) => {
    const key = service.project.secret
    const [ada, grace] = [await newContact(service), await newContact(service)]
    const taken = { id: ada.id, input: { email: grace.email } }
    assertGraphQLRefused(await service.as(key).graphql(UPDATE, taken), 409, 'CONFLICT')
    const bad = await service.as(key).graphql(UPDATE, { id: ada.id, input: { email: 'x' } })
    const { errors } = assertGraphQLRefused(bad, 422, 'VALIDATION_ERROR')
    const byRest = await update(service, ada.id, { email: 'x' })
    assert.equal(errors, byRest.body.error.errors)
  })
})

scenario('A change that waits for another one', start, (test) => {
  const unsubscribe = `update contacts set subscribed = false, data = '{"a": 1, "b": 2}' where id = $1`

  for (const [name, change] of [
    ['PATCH', (service: Service, { id }: { id: string }, body: object) => update(service, id, body)],
    [
      'POST',
      (service: Service, { email }: { email: string }, body: object) =>
        createContact(service, { email, ...body }),
    ],
  ] as const) {
    test(`is answered with what both have made: ${name}`, async (service) => {
      const contact = await newContact(service)
      const answer = await whileHeld(service, unsubscribe, [contact.id], () =>
        change(service, contact, { data: { c: 3 } }),
      )
      assert.equal([answer.body.subscribed, answer.body.data], [false, { a: 1, b: 2, c: 3 }], answer.text)
    })

    test(`is answered with the state as it is when nothing is left to change: ${name}`, async (service) => {
      const contact = await newContact(service)
      const answer = await whileHeld(service, unsubscribe, [contact.id], () =>
        change(service, contact, { subscribed: false, data: { a: 1 } }),
      )
      assert.is(answer.status, 200, answer.text)
      assert.equal([answer.body.subscribed, answer.body.data], [false, { a: 1, b: 2 }], answer.text)
      assert.equal(await eventsOf(service, contact.id), [])
    })
  }

  test('does not find a contact that was deleted meanwhile', async (service) => {
    const contact = await newContact(service)
    const answer = await whileHeld(service, 'delete from contacts where id = $1', [contact.id], () =>
      update(service, contact.id, { data: { a: 1 } }),
    )
    assertRefused(answer, 404, 'CONTACT_NOT_FOUND')
  })

  test('makes the contact anew when it was deleted meanwhile', async (service) => {
    const contact = await newContact(service)
    const answer = await whileHeld(service, 'delete from contacts where id = $1', [contact.id], () =>
      createContact(service, { email: contact.email, data: { a: 1 } }),
    )
    assert.is(answer.status, 201, answer.text)
    assert.is.not(answer.body.id, contact.id)
  })
})

scenario('A change of address', start, (test) => {
  test('takes the old one out of the reports of imports', async (service) => {
    const { id, email } = await newContact(service, { email: 'old@example.org' })
    const csv = `email,subscribed\n${email.toUpperCase()},perhaps\nother@example.org,perhaps\n`
    const job = jobIdOf(await postImport(service, csv))
    await work(service)
    const listed = async () => {
      const { body } = await getJob(service, 'import', job)
      return body.result.errors.map((error: { email: string | null }) => error.email)
    }
    await update(service, id, { data: { a: 1 } })
    await update(service, id, { email })
    assert.equal(await listed(), [email, 'other@example.org'])
    assert.is((await update(service, id, { email: 'new@example.org' })).status, 200)
    assert.equal(await listed(), [null, 'other@example.org'])
  })
})
