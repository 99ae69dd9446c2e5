import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Body, type Project, type Service, startService } from '../../support/service.ts'
import { contactOf, newContact } from '../contacts/contact-support.ts'
import { got } from './event-support.ts'

const MUTATION = `mutation ($input: TrackContactEventInput!) {
  trackContactEvent(input: $input) { contact event timestamp }
}`

const track = (service: Service, body: unknown, project: Project = service.project): Promise<Answer> =>
  service.as(project).post('/events/track', body)

async function tracked(service: Service, body: object): Promise<Body> {
  const answer = await track(service, body)
  assert.is(answer.status, 200, answer.text)
  const { success, data, ...rest } = answer.body
  assert.equal([success, rest], [true, {}])
  assert.equal(Object.keys(data), ['contact', 'event', 'timestamp'])
  return data
}

/** Refused by both doors alike; the fields and codes of what is wrong. */
async function errorsOf(service: Service, body: object): Promise<string[]> {
  const { errors } = assertRefused(await track(service, body), 422, 'VALIDATION_ERROR')
  const answer = await service.as().graphql(MUTATION, { input: body })
  const both = assertGraphQLRefused(answer, 422, 'VALIDATION_ERROR').errors
  const brief = (all: Body[]) => all.map(({ field, code }) => `${field} ${code}`)
  assert.equal(
    brief(both).map((text) => text.replace('input.', '')),
    brief(errors),
    'GraphQL agrees',
  )
  return brief(errors)
}

const eventsOf = async (service: Service, contactId: string): Promise<Body[]> =>
  (await got(service, `?contactId=${contactId}`)).data

scenario(
  'POST /events/track',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('takes the body of /v1/track', async (service) => {
      const data = { plan: 'pro', once: { value: 1, persistent: false } }
      const result = await tracked(service, { email: 'Ada@Example.org', event: 'signed_up', data })
      const contact = await contactOf(service, result.contact)
      assert.equal([contact.email, contact.subscribed], ['ada@example.org', true])
      assert.equal(contact.data, { plan: 'pro' })
      const [event, ...others] = await eventsOf(service, result.contact)
      assert.equal(others, [])
      assert.equal(event, {
        ...{ id: result.event, name: 'signed_up', contactId: result.contact, emailId: null },
        ...{ data: { plan: 'pro', once: 1 }, createdAt: result.timestamp },
      })
      await tracked(service, { email: 'ada@example.org', event: 'left', subscribed: false })
      assert.is((await contactOf(service, result.contact)).subscribed, false)
    })

    test('takes the id of a contact and a name, and merges the data', async (service) => {
      const { id } = await newContact(service, {
        subscribed: false,
        data: { plan: 'free', city: 'Rome', x: 1 },
      })
      const data = { plan: 'pro', x: null, y: '', once: { value: 1, persistent: false } }
      const result = await tracked(service, { name: 'bought', contactId: id, data })
      assert.is(result.contact, id)
      const contact = await contactOf(service, id)
      assert.equal([contact.data, contact.subscribed], [{ plan: 'pro', city: 'Rome' }, false])
      const [event] = await eventsOf(service, id)
      assert.equal([event.name, event.data], ['bought', { plan: 'pro', x: null, once: 1 }])
    })

    test('takes the one with the other', async (service) => {
      const { id, email } = await newContact(service)
      assert.is((await tracked(service, { event: 'e', contactId: id.toUpperCase() })).contact, id)
      assert.is((await tracked(service, { name: 'e', email })).contact, id)
      assert.is((await tracked(service, { name: 'e', email: null, contactId: id, event: null })).contact, id)
      assert.is((await eventsOf(service, id)).length, 3)
    })

    test('answers over GraphQL alike', async (service) => {
      const { id } = await newContact(service)
      const { body, text } = await service
        .as()
        .graphql(MUTATION, { input: { contactId: id, name: 'e', data: { a: 1 } } })
      assert.not.ok(body.errors, text)
      const { contact, event, timestamp } = body.data.trackContactEvent
      const [shown] = await eventsOf(service, id)
      assert.equal([shown.contactId, shown.id, shown.createdAt], [contact, event, timestamp])
    })

    test('refuses names that are reserved, too long or not there', async (service) => {
      const { id } = await newContact(service)
      assert.equal(await errorsOf(service, { contactId: id, name: 'email.sent' }), ['name reserved_event'])
      assert.equal(await errorsOf(service, { contactId: id, event: 'segment.a.exit' }), [
        'event reserved_event',
      ])
      assert.equal(await errorsOf(service, { contactId: id, name: 'e'.repeat(256) }), ['name too_big'])
      assert.equal(await errorsOf(service, { contactId: id, name: '' }), ['name too_small'])
      assert.equal(await errorsOf(service, { contactId: id }), ['event required'])
      assert.equal(await errorsOf(service, { name: 'e' }), ['email required'])
      assert.equal(await errorsOf(service, {}), ['email required', 'event required'])
      assert.equal(await errorsOf(service, { email: 'nobody', name: 'e' }), ['email invalid_string'])
      assert.equal(await eventsOf(service, id), [])
    })

    test('does not find contacts that there are not, and makes none', async (service) => {
      const foreign = await newContact(service, {}, await service.newProject())
      const count = async () => (await service.sql('select count(*) from contacts'))[0]?.count
      const before = await count()
      for (const contactId of [randomUUID(), foreign.id, 'ada', '']) {
        const body = { contactId, name: 'e' }
        assertRefused(await track(service, body), 404, 'CONTACT_NOT_FOUND')
        const answer = await service.as().graphql(MUTATION, { input: body })
        assertGraphQLRefused(answer, 404, 'CONTACT_NOT_FOUND')
      }
      assert.is(await count(), before)
    })

    test('needs the secret key, and a project that is not disabled', async (service) => {
      const body = { email: 'ada@example.org', event: 'e' }
      const answer = await service.as(service.project.public).post('/events/track', body)
      assertRefused(answer, 401, 'INVALID_API_KEY')
      const disabled = await service.newProject()
      await service.sql('update projects set disabled = true where id = $1', [disabled.id])
      assertRefused(await track(service, body, disabled), 403, 'PROJECT_DISABLED')
      const { total } = await got(service, '', disabled)
      assert.is(total, 0, 'it can be read')
    })
  },
)
