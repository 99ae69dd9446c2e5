import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../src/lib/json.ts'
import { applyData, dataInput } from '../../support/data-model.ts'
import { sendBody } from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { runs } from '../../support/seeded.ts'
import { type Answer, type Body, type Service, startService } from '../../support/service.ts'
import { contactOf, createContact, newContact } from './contact-support.ts'

const start = () => startService({ ROLES: 'http' })

type Change = { subscribed?: boolean | null | undefined; data?: JsonObject | undefined }

/** Every way to write to a contact by its address. */
const DOORS = {
  api: (service: Service, email: string, change: Change) => createContact(service, { email, ...change }),
  track: ({ as, project }: Service, email: string, change: Change) =>
    as(project.public).post('/v1/track', { email, event: 'called', ...change }),
  send: ({ as, project }: Service, email: string, change: Change) =>
    as(project).post('/v1/send', sendBody(project, { to: email, ...change })),
} as const

type Door = keyof typeof DOORS | 'patch'
type Step = Change & { door: Door }

const DOOR_NAMES = ['api', 'track', 'send'] as const

const step: fc.Arbitrary<Step> = fc
  .record({
    door: fc.constantFrom<Door[]>(...DOOR_NAMES, 'patch', 'patch'),
    subscribed: fc.constantFrom(undefined, undefined, null, true, false),
    data: fc.option(dataInput, { nil: undefined }),
  })
  // What is sent is what JSON can say.
  .map((given) => JSON.parse(JSON.stringify(given)))

type Known = {
  id: string
  subscribed: boolean
  data: JsonObject
  updatedAt: string
  events: [string, string][]
}

/** What a step makes of a contact, as the contract says it. */
function applyStep(known: Known | null, { door, subscribed, data }: Step): Omit<Known, 'id' | 'updatedAt'> {
  const merged = applyData(known?.data ?? {}, data ?? {}).contact
  if (!known) return { subscribed: subscribed ?? door !== 'send', data: merged, events: [] }
  const next = subscribed ?? known.subscribed
  const name = next ? 'contact.subscribed' : 'contact.unsubscribed'
  const source = door === 'patch' ? 'api' : door
  const events =
    next === known.subscribed ? known.events : [...known.events, [name, source] as [string, string]]
  return { subscribed: next, data: merged, events }
}

const subscriptionEvents = async ({ sql }: Service, id: string): Promise<[string, string][]> => {
  const rows = await sql<{ name: string; source: string }>(
    `select name, data ->> 'source' as source from events
     where contact_id = $1 and name in ('contact.subscribed', 'contact.unsubscribed') order by id`,
    [id],
  )
  return rows.map(({ name, source }) => [name, source])
}

const take = (service: Service, { door, ...change }: Step, email: string, known: Known | null) =>
  door === 'patch'
    ? service.as().patch(`/contacts/${known?.id}`, change)
    : DOORS[door](service, email, change)

function idOf({ door }: Step, { body }: Answer): string {
  if (door === 'track') return body.data.contact
  return door === 'send' ? body.data.emails[0].contact.id : body.id
}

const same = (actual: unknown, expected: unknown, of: unknown) =>
  // uvu's equal is confused by keys such as "constructor".
  assert.ok(isDeepStrictEqual(actual, expected), JSON.stringify({ of, actual, expected }))

/** Takes one step and compares what there is afterwards with what there should be. */
async function checked(service: Service, email: string, known: Known | null, given: Step): Promise<Known> {
  const expected = applyStep(known, given)
  service.clock.advance(1_000)
  const answer = await take(service, given, email, known)
  assert.ok(answer.status < 300, answer.text)
  const id = idOf(given, answer)
  if (known) assert.is(id, known.id)
  const contact: Body = await contactOf(service, id)
  const { subscribed, data, updatedAt } = contact
  same({ subscribed, data, events: await subscriptionEvents(service, id) }, expected, given)
  if (known) {
    const changed = subscribed !== known.subscribed || !isDeepStrictEqual(data, known.data)
    same(updatedAt > known.updatedAt, changed, { what: 'updatedAt', given })
  }
  if (given.door === 'patch') same(answer.body, contact, given)
  if (given.door === 'api') {
    same(answer.body, { ...contact, _meta: { isNew: !known, isUpdate: Boolean(known) } }, given)
    assert.is(answer.status, known ? 200 : 201)
  }
  return { id, updatedAt, ...expected }
}

scenario('Every door to a contact', start, (test) => {
  test('merges as the contract says, one after the other', async (service) => {
    let people = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        people += 1
        const email = `person-${people}@example.org`
        let known: Known | null = null
        for (const given of steps) {
          if (given.door === 'patch' && !known) continue
          known = await checked(service, email, known, given)
        }
      }),
      { numRuns: runs(100) },
    )
  })
})

const times = <Result>(count: number, make: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

const numbered = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, index]))

const assertAllDone = (answers: Answer[]) =>
  assert.equal(
    answers.filter(({ status }) => status >= 300).map(({ text }) => text),
    [],
  )

scenario('At the same time', start, (test) => {
  test('a hundred callers of all doors make one contact that has everything', async (service) => {
    const email = 'hundred@example.org'
    const answers = await times(100, (index) => {
      const door = DOORS[DOOR_NAMES[index % DOOR_NAMES.length] ?? 'api']
      // Every other one writes the address in another way.
      const written = index % 2 === 0 ? email : ` ${email.toUpperCase()} `
      return door(service, written, { data: { [`key${index}`]: index } })
    })
    assertAllDone(answers)
    assert.ok(answers.filter(({ status }) => status === 201).length <= 1)
    const contacts = await service.sql('select id, data from contacts where lower(btrim(email)) = $1', [
      email,
    ])
    assert.is(contacts.length, 1)
    assert.equal(contacts[0]?.data, numbered(100))
    const events = await service.sql(
      'select name, count(*)::int from events where project_id = $1 group by name',
      [service.project.id],
    )
    assert.equal(events, [{ name: 'called', count: 33 }])
  })

  test('only one caller of POST /contacts is told that the contact is new', async (service) => {
    const answers = await times(40, () =>
      createContact(service, { email: 'once@example.org', data: { a: 1 } }),
    )
    assertAllDone(answers)
    assert.is(answers.filter(({ status }) => status === 201).length, 1)
    const answered = answers.map(({ body: { _meta, ...contact } }) => contact)
    for (const contact of answered) assert.equal(contact, answered[0])
  })

  test('changes of different keys lose nothing', async (service) => {
    const { id } = await newContact(service, { data: { kept: true } })
    const change = (index: number) =>
      service.as().patch(`/contacts/${id}`, { data: { [`key${index}`]: index } })
    const answers = await times(50, change)
    assertAllDone(answers)
    assert.equal((await contactOf(service, id)).data, { kept: true, ...numbered(50) })
    answers.forEach(({ body }, index) => {
      assert.is(body.data[`key${index}`], index, 'an answer shows what its request has changed')
    })
  })

  test('setting and deleting different keys does not lose either', async (service) => {
    const { id, email } = await newContact(service, { data: numbered(40) })
    const answers = await times(40, (index) => {
      const data = { [`key${index}`]: null, [`new${index}`]: index }
      return index % 2 === 0
        ? service.as().patch(`/contacts/${id}`, { data })
        : createContact(service, { email, data })
    })
    assertAllDone(answers)
    const expected = Array.from({ length: 40 }, (_, index) => [`new${index}`, index])
    assert.equal((await contactOf(service, id)).data, Object.fromEntries(expected))
  })

  test('flips of the subscription alternate, and none is recorded twice', async (service) => {
    const { id, email } = await newContact(service)
    const answers = await times(40, (index) => {
      // Two of each in a row, so that some find the state that they want.
      const subscribed = index % 4 < 2
      return index % 3 === 0
        ? createContact(service, { email, subscribed })
        : service.as().patch(`/contacts/${id}`, { subscribed })
    })
    assertAllDone(answers)
    answers.forEach(({ body }, index) => {
      assert.is(body.subscribed, index % 4 < 2, 'an answer shows what its request has asked for')
    })
    // Times and ids are those of the requests. The place of a row tells when it was written, within one page.
    const events = await service.sql<{ id: string; name: string; page: string }>(
      `select id, name, split_part(ctid::text, ',', 1) as page from events where contact_id = $1 order by ctid`,
      [id],
    )
    assert.is(new Set(events.map(({ page }) => page)).size, 1, 'all events are on one page')
    assert.ok(events.length > 0)
    const expected = events.map((_, index) => `contact.${index % 2 === 0 ? 'unsubscribed' : 'subscribed'}`)
    assert.equal(
      events.map(({ name }) => name),
      expected,
    )
    const [row] = await service.sql('select subscribed, subscription_event_id from contacts where id = $1', [
      id,
    ])
    assert.is(row?.subscribed, events.length % 2 === 0)
    assert.is(row?.subscription_event_id, events.at(-1)?.id)
  })

  test('one change of many that are the same emits one event', async (service) => {
    const { id } = await newContact(service)
    assertAllDone(await times(30, () => service.as().patch(`/contacts/${id}`, { subscribed: false })))
    assert.equal(await subscriptionEvents(service, id), [['contact.unsubscribed', 'api']])
  })
})
