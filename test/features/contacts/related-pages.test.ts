import * as assert from 'uvu/assert'
import { countStatements } from '../../support/count-statements.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Service, startService } from '../../support/service.ts'

const start = () => startService({ ROLES: 'http' })

/** Contacts c0, c1, … of a new project, with as many events and as many messages each. */
async function populated(service: Service, contacts: number, each: number) {
  const project = await service.newProject()
  for (let n = 0; n < contacts; n += 1) {
    for (let k = 0; k < each; k += 1) {
      const email = `c${n}@example.org`
      const tracked = { email, event: `e${k}` }
      const sent = { to: email, from: `a@${project.domain}`, subject: `s${k}`, body: 'b' }
      await service.as(project.public).post('/v1/track', tracked)
      await service.as(project).post('/v1/send', sent)
    }
  }
  const ask = async (query: string): Promise<Body> => {
    const answer = await service.as(project).graphql(query)
    assert.is(answer.body.errors, undefined, answer.text)
    return answer.body.data
  }
  return { project, ask }
}

const PAGES = `contacts(sort: "email", dir: "asc") { data { email
  emails(limit: 2) { total hasMore cursor data { subject contactId } }
  events(limit: 2) { total hasMore cursor data { name contactId } } } }`

scenario('Emails and events of contacts in GraphQL', start, (test) => {
  test('are pages of each contact, the newest first', async (service) => {
    const { ask } = await populated(service, 2, 3)
    const { contacts } = await ask(`{ ${PAGES} }`)
    assert.is(contacts.data.length, 2)
    for (const { emails, events } of contacts.data) {
      assert.equal([emails.total, emails.hasMore], [3, true])
      assert.equal(
        emails.data.map(({ subject }: Body) => subject),
        ['s2', 's1'],
      )
      assert.equal([events.total, events.hasMore], [3, true])
      assert.equal(
        events.data.map(({ name }: Body) => name),
        ['e2', 'e1'],
      )
    }
  })

  test('go on with the cursor, whose page has no total', async (service) => {
    const { ask } = await populated(service, 1, 3)
    const { contacts } = await ask(`{ ${PAGES} }`)
    const [{ emails, events }] = contacts.data
    const { contact } = await ask(`{ contact(email: "c0@example.org") {
      emails(limit: 2, cursor: "${emails.cursor}") { total hasMore cursor data { subject } }
      events(limit: 2, cursor: "${events.cursor}") { total hasMore cursor data { name } } } }`)
    assert.equal(contact.emails, { total: 0, hasMore: false, cursor: null, data: [{ subject: 's0' }] })
    assert.equal(contact.events, { total: 0, hasMore: false, cursor: null, data: [{ name: 'e0' }] })
  })

  test('take the same number of statements for one contact and for many', async (service) => {
    const one = await populated(service, 1, 1)
    const many = await populated(service, 8, 1)
    const few = await countStatements(service, () => one.ask(`{ ${PAGES} }`))
    assert.ok(few > 0)
    assert.is(await countStatements(service, () => many.ask(`{ ${PAGES} }`)), few)
  })

  test('are asked for several times in one request', async (service) => {
    const { ask } = await populated(service, 1, 2)
    const { contact } = await ask(`{ contact(email: "c0@example.org") {
      first: events(limit: 1) { data { name } } all: events { data { name } } } }`)
    assert.equal(contact.first.data, [{ name: 'e1' }])
    assert.equal(contact.all.data, [{ name: 'e1' }, { name: 'e0' }])
  })

  test('refuse bad pages', async (service) => {
    const { project } = await populated(service, 1, 1)
    for (const args of ['limit: 0', 'cursor: "x"']) {
      const query = `{ contact(email: "c0@example.org") { events(${args}) { hasMore } } }`
      const { body } = await service.as(project).graphql(query)
      assert.is(body.errors[0].extensions.code, 'BAD_REQUEST', args)
    }
  })

  test('are not in the answers of REST', async (service) => {
    const { project } = await populated(service, 1, 1)
    const { body } = await service.as(project).get('/contacts')
    assert.equal(Object.keys(body.data[0]), ['id', 'email', 'subscribed', 'data', 'createdAt', 'updatedAt'])
  })
})
