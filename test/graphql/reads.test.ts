import * as assert from 'uvu/assert'
import { assertGraphQLRefused } from '../support/refusals.ts'
import { scenario, sharedStart } from '../support/scenario.ts'
import { type Body, type Service, startService } from '../support/service.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))
const MB = 1_000_000

/** A project with a contact, which gets messages of so many bytes. */
async function withMessages(service: Service, sizes: number[]) {
  const project = await service.newProject()
  const ids: string[] = []
  for (const [index, size] of sizes.entries()) {
    const answer = await service.as(project).post('/v1/send', {
      to: 'ada@example.org',
      from: `a@${project.domain}`,
      subject: `Message ${index}`,
      body: String(index).repeat(size),
    })
    ids.push(answer.body.data.emails[0].email)
  }
  const ask = (query: string) => service.as(project).graphql(query)
  return { project, ids, ask }
}

const BODIES = '{ contact(email: "ada@example.org") { emails { data { subject body } } } }'

/** The most statements that were under way at a time, of those that the work runs on the pool. */
async function atOnce(service: Service, work: () => Promise<unknown>): Promise<number> {
  const { database } = service.app.services
  const { sql } = database
  let [running, most] = [0, 0]
  database.sql = async (query, params) => {
    running += 1
    most = Math.max(most, running)
    try {
      return await sql(query, params)
    } finally {
      running -= 1
    }
  }
  try {
    await work()
  } finally {
    database.sql = sql
  }
  return most
}

scenario('Bodies of mail in GraphQL', start, (test) => {
  test('are there for a list of messages, up to 16 MB together', async (service) => {
    const { ask } = await withMessages(service, [5, 7 * MB, 7 * MB])
    const { body } = await ask(BODIES)
    assert.equal(
      body.data.contact.emails.data.map((email: Body) => [email.subject, email.body.length]),
      [
        ['Message 2', 7 * MB],
        ['Message 1', 7 * MB],
        ['Message 0', 5],
      ],
    )
  })

  test('are refused above, but everything else is told', async (service) => {
    const { ask } = await withMessages(service, [7 * MB, 7 * MB, 7 * MB])
    const answer = await ask(BODIES)
    assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
    assert.match(answer.body.errors[0].message, /more than 16 MB together/)
    assert.equal(
      answer.body.data.contact.emails.data.map(({ subject, body }: Body) => [subject, body]),
      [
        ['Message 2', null],
        ['Message 1', null],
        ['Message 0', null],
      ],
    )
  })

  test('count each time that they are asked for', async (service) => {
    const { ask, ids } = await withMessages(service, [4 * MB])
    const names = (count: number) => Array.from({ length: count }, (_, index) => `b${index}: body`).join(' ')
    const twice = await ask(`{ email(id: "${ids[0]}") { ${names(2)} } }`)
    assert.is(twice.body.data.email.b1.length, 4 * MB)
    const often = await ask(`{ email(id: "${ids[0]}") { ${names(15)} } }`)
    assert.is(often.status, 503)
    assertGraphQLRefused(often, 503, 'SERVICE_UNAVAILABLE')
    assert.ok(often.headers.get('retry-after'))
  })

  test('may be as large as a message one by one, but not several in one request', async (service) => {
    const { ask, ids } = await withMessages(service, [20 * MB, 20 * MB])
    const alone = await ask(`{ email(id: "${ids[0]}") { body } }`)
    assert.is(alone.body.data.email.body.length, 20 * MB)
    const both = await ask(`{ a: email(id: "${ids[0]}") { id body } b: email(id: "${ids[1]}") { id body } }`)
    assertGraphQLRefused(both, 503, 'SERVICE_UNAVAILABLE')
    const { a, b } = both.body.data
    assert.equal([a.id, b.id], ids)
    assert.equal([a.body?.length ?? null, b.body], [20 * MB, null])
    assert.is((await ask(`{ email(id: "${ids[1]}") { body } }`)).body.data.email.body.length, 20 * MB)
  })
})

/** Contacts with events, all of 60 KB, written past the service. */
async function withLargeEvents(service: Service, contacts: number, each: number) {
  const project = await service.newProject()
  await service.sql(
    `with contact as (
       insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
       select $1, gen_random_uuid(), 'c' || n || '@example.org', true, '{}', now(), now() from generate_series(1, $2::int) n
       returning project_id, id
     )
     insert into events (project_id, id, contact_id, name, data, created_at)
     select project_id, gen_random_uuid(), id, 'large', jsonb_build_object('text', repeat('x', 60000)), now()
     from contact, generate_series(1, $3::int)`,
    [project.id, contacts, each],
  )
  return (query: string) => service.as(project).graphql(query)
}

const WITH_EVENTS = 'contacts(limit: 100) { data { id events(limit: 100) { data { id data } } } }'

scenario('Lists in GraphQL', start, (test) => {
  test('take room by what they hold, and are refused when there is none', async (service) => {
    const few = await withLargeEvents(service, 10, 10)
    const answer = await few(`{ ${WITH_EVENTS} }`)
    assert.is(answer.body.errors, undefined)
    assert.ok(answer.text.length > 6 * MB)
    const many = await withLargeEvents(service, 30, 30)
    const refused = await many(`{ ${WITH_EVENTS} }`)
    assertGraphQLRefused(refused, 503, 'SERVICE_UNAVAILABLE')
    assert.match(refused.body.errors[0].extensions.suggestion, /less at once/)
    assert.ok(refused.text.length < 25 * MB)
    const again = await few(`{ ${WITH_EVENTS} }`)
    assert.is(again.body.errors, undefined, 'what was taken has been given back')
  })

  test('are refused under fifteen names, though each of them may be had', async (service) => {
    const ask = await withLargeEvents(service, 10, 5)
    const names = Array.from({ length: 15 }, (_, index) => `a${index}: ${WITH_EVENTS}`).join(' ')
    const answer = await ask(`{ ${names} }`)
    assertGraphQLRefused(answer, 503, 'SERVICE_UNAVAILABLE')
    assert.ok(answer.text.length < 25 * MB)
  })

  test('of one request are read one after the other', async (service) => {
    const { project } = service
    const contacts = Array.from({ length: 10 }, (_, index) => `a${index}: contacts { data { id } }`)
    const query = `{ ${contacts.join(' ')} }`
    const most = await atOnce(service, async () => {
      const { body } = await service.as(project).graphql(query)
      assert.is(Object.keys(body.data).length, 10)
    })
    assert.is(most, 1)
  })

  test('go on after one that fails', async (service) => {
    const missing = '01890000-0000-7000-8000-000000000001'
    const { body } = await service
      .as()
      .graphql(
        `{ config { environment } a: contacts { data { id } } b: contacts(limit: 0) { data { id } } c: events { data { id } } d: contactEvents(contactId: "${missing}") { hasMore } }`,
      )
    assert.is(body.data, null)
    assert.equal(
      body.errors.map(({ path }: Body) => path[0]),
      ['b'],
    )
  })
})
