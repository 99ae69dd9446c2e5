import * as assert from 'uvu/assert'
import { HOUR } from '../../support/clock.ts'
import { assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Answer, type Body, type Service, startService } from '../../support/service.ts'

const start = sharedStart(startService)

/** A project of its own, and ways to track in it and to look at what came of it. */
async function tracking(service: Service) {
  const { as, sql } = service
  const project = await service.newProject()
  const track = (body: object, headers = {}): Promise<Answer> =>
    as(project.public).post('/v1/track', body, { headers })
  return {
    project,
    track,
    /** Tracks an event of Ada's with this data. */
    trackData: (data: unknown, event = 'e') => track({ email: 'ada@example.org', event, data }),
    contacts: () =>
      sql('select *, xmin::text as version from contacts where project_id = $1 order by email', [project.id]),
    ada: async (): Promise<Body> =>
      (
        await sql(
          `select *, xmin::text as version from contacts where project_id = $1 and email = 'ada@example.org'`,
          [project.id],
        )
      )[0],
    events: () =>
      sql('select *, xmin::text as version from events where project_id = $1 order by id', [project.id]),
  }
}

const fieldsOf = (answer: Answer) =>
  assertRefused(answer, 422, 'VALIDATION_ERROR').errors.map(({ field, code, received }: Body) =>
    received === undefined ? [field, code] : [field, code, received],
  )

scenario('POST /v1/track', start, (test) => {
  test('makes the contact, subscribed, and records the event', async (service) => {
    const { track, project, contacts, events } = await tracking(service)
    const answer = await track({
      email: ' Ada@Example.org ',
      event: 'signed_up',
      data: { plan: 'pro', once: { value: 1, persistent: false } },
    })
    assert.is(answer.status, 200)
    assert.equal(Object.keys(answer.body), ['success', 'data'])
    assert.is(answer.body.success, true)
    const [contact, ...others] = await contacts()
    assert.is(others.length, 0)
    assert.is(contact?.id, answer.body.data.contact)
    assert.is(contact?.project_id, project.id)
    assert.is(contact?.email, 'ada@example.org')
    assert.is(contact?.subscribed, true)
    assert.equal(contact?.data, { plan: 'pro' })
    const [event, ...more] = await events()
    assert.is(more.length, 0)
    assert.is(event?.id, answer.body.data.event)
    assert.is(event?.contact_id, contact?.id)
    assert.is(event?.name, 'signed_up')
    assert.is(event?.email_id, null)
    assert.equal(event?.data, { plan: 'pro', once: 1 })
    assert.is(event?.created_at.toISOString(), answer.body.data.timestamp)
  })

  test('does both in one commit', async (service) => {
    const { track, contacts, events } = await tracking(service)
    await track({ email: 'ada@example.org', event: 'e', data: { a: 1 } })
    const [[contact], [event]] = await Promise.all([contacts(), events()])
    assert.is(contact?.version, event?.version)
    await service.sql(`alter table events add constraint broken check (name <> 'broken') not valid`)
    const answer = await track({ email: 'bob@example.org', event: 'broken' })
    assertRefused(answer, 500, 'INTERNAL_SERVER_ERROR')
    const changed = await track({ email: 'ada@example.org', event: 'broken', data: { a: 2 } })
    assertRefused(changed, 500, 'INTERNAL_SERVER_ERROR')
    await service.sql('alter table events drop constraint broken')
    assert.equal(
      (await contacts()).map(({ email, data }) => [email, data]),
      [['ada@example.org', { a: 1 }]],
    )
    assert.is((await events()).length, 1)
  })

  test('records every repeat', async (service) => {
    const { trackData, events, contacts } = await tracking(service)
    const answers = [await trackData({}), await trackData({}), await trackData({})]
    assert.is(new Set(answers.map(({ body }) => body.data.event)).size, 3)
    assert.is(new Set(answers.map(({ body }) => body.data.contact)).size, 1)
    assert.equal([(await events()).length, (await contacts()).length], [3, 1])
  })

  test('keeps projects apart', async (service) => {
    const [one, other] = [await tracking(service), await tracking(service)]
    await one.trackData({ a: 1 })
    await other.trackData({ b: 2 })
    assert.equal([(await one.ada()).data, (await other.ada()).data], [{ a: 1 }, { b: 2 }])
    assert.is.not((await one.ada()).id, (await other.ada()).id)
  })
})

scenario('The name of an event', start, (test) => {
  test('must not be one that the service writes itself', async (service) => {
    const { track, events, contacts } = await tracking(service)
    for (const event of [
      'email.sent',
      'email.opened',
      'email.anything.at.all',
      'email.',
      'email.\n',
      'contact.subscribed',
      'contact.unsubscribed',
      'segment.vip.entry',
      'segment.vip.exit',
      'segment.a-b_c.entry',
      'segment.a.b.exit',
      'segment.a\nb.exit',
    ]) {
      const answer = await track({ email: 'ada@example.org', event })
      assert.equal(fieldsOf(answer), [['event', 'reserved_event', 'string']], event)
    }
    assert.equal([await events(), await contacts()], [[], []])
    for (const event of [
      'email',
      'emails.sent',
      'my.email.sent',
      'contact.created',
      'contact.subscribed.twice',
      'segment.entry',
      'segment.vip.entered',
      'segments.vip.entry',
      'Email.sent',
      ' ',
      '鍵 🔑',
      'a.b/c?d=e&f',
    ]) {
      assert.is((await track({ email: 'ada@example.org', event })).status, 200, event)
    }
  })

  test('has 1 to 255 characters', async (service) => {
    const { track, events } = await tracking(service)
    const withName = (event: unknown) => track({ email: 'ada@example.org', event })
    assert.is((await withName('e'.repeat(255))).status, 200)
    assert.equal(fieldsOf(await withName('e'.repeat(256))), [['event', 'too_big', 'string']])
    assert.equal(fieldsOf(await withName('')), [['event', 'too_small', 'string']])
    assert.equal(fieldsOf(await withName(1)), [['event', 'invalid_type', 'number']])
    assert.equal(fieldsOf(await withName(null)), [['event', 'invalid_type', 'null']])
    assert.equal(fieldsOf(await withName(undefined)), [['event', 'required', 'undefined']])
    assert.is((await events()).length, 1)
  })
})

scenario('The address of a contact', start, (test) => {
  test('is one, however it is written', async (service) => {
    const { track, contacts } = await tracking(service)
    for (const email of ['Ada@Example.ORG', ' ada@example.org\n', 'ADA@EXAMPLE.ORG']) {
      assert.is((await track({ email, event: 'e' })).status, 200)
    }
    assert.equal(
      (await contacts()).map(({ email }) => email),
      ['ada@example.org'],
    )
  })

  test('must be one address', async (service) => {
    const { track, contacts } = await tracking(service)
    for (const email of [
      '',
      ' ',
      'ada',
      'ada@',
      '@example.org',
      'ada@example',
      'a b@example.org',
      'ada@exa mple.org',
      'ada@example.org, bob@example.org',
      'Ada <ada@example.org>',
      'ada@@example.org',
      'ada@example..org',
      'ada@-example.org',
      `${'a'.repeat(65)}@example.org`,
      `ada@${'a'.repeat(250)}.org`,
      'ada@127.0.0.1',
      'ada@example.org\r\nBcc: x@example.org',
    ]) {
      assert.equal(
        fieldsOf(await track({ email, event: 'e' })),
        [['email', 'invalid_string', 'string']],
        email,
      )
    }
    for (const [email, type] of [
      [1, 'number'],
      [['ada@example.org'], 'array'],
      [{ email: 'ada@example.org' }, 'object'],
    ]) {
      assert.equal(fieldsOf(await track({ email, event: 'e' })), [['email', 'invalid_type', type]])
    }
    assert.equal(await contacts(), [])
  })

  test('and the other fields are checked at once', async (service) => {
    const { track } = await tracking(service)
    const answer = await track({ email: 'nobody', subscribed: 'yes', data: [] })
    assert.equal(fieldsOf(answer), [
      ['email', 'invalid_string', 'string'],
      ['event', 'required', 'undefined'],
      ['subscribed', 'invalid_type', 'string'],
      ['data', 'invalid_type', 'array'],
    ])
  })
})

scenario('The data of an event', start, (test) => {
  test('is stored on the contact and with the event, of every type', async (service) => {
    const { trackData, ada, events } = await tracking(service)
    const data = {
      text: 'x',
      number: 1.5,
      zero: 0,
      yes: true,
      no: false,
      list: [1, 'a', null],
      object: { a: { b: 1 } },
      'key with spaces.and.dots': 1,
      '': 2,
      鍵: '🔑',
    }
    await trackData(data)
    assert.equal((await ada()).data, data)
    assert.equal((await events())[0]?.data, data)
  })

  test('changes what it names, and keeps the rest', async (service) => {
    const { trackData, ada, events } = await tracking(service)
    await trackData({ a: 1, b: 2, c: 3, d: { x: 1, y: 2 } })
    await trackData({ a: '', b: null, d: { z: 3 }, e: 5, f: null })
    assert.equal((await ada()).data, { a: 1, c: 3, d: { z: 3 }, e: 5 })
    assert.equal((await events())[1]?.data, { b: null, d: { z: 3 }, e: 5, f: null })
    for (const data of [undefined, null, {}]) assert.is((await trackData(data)).status, 200)
    assert.equal((await ada()).data, { a: 1, c: 3, d: { z: 3 }, e: 5 })
  })

  test('with persistent: false is the event’s alone', async (service) => {
    const { trackData, ada, events } = await tracking(service)
    await trackData({ kept: 'before' })
    await trackData({
      once: { value: 'x', persistent: false },
      object: { value: { a: [1] }, persistent: false },
      nothing: { value: null, persistent: false },
      empty: { value: '', persistent: false },
      kept: { value: 'now', persistent: false },
      stored: { value: 'y', persistent: true },
      plain: { value: 'z' },
      more: { value: 'z', persistent: false, unit: 'kg' },
      odd: { value: 'z', persistent: 'no' },
    })
    const plain = {
      plain: { value: 'z' },
      more: { value: 'z', persistent: false, unit: 'kg' },
      odd: { value: 'z', persistent: 'no' },
    }
    assert.equal((await ada()).data, { kept: 'before', stored: 'y', ...plain })
    assert.equal((await events())[1]?.data, {
      once: 'x',
      object: { a: [1] },
      nothing: null,
      kept: 'now',
      stored: 'y',
      ...plain,
    })
  })

  test('loses reserved keys without a word', async (service) => {
    const { trackData, ada, events } = await tracking(service)
    const reserved = ['id', 'svc_id', 'svc_email', 'email', 'unsubscribeUrl', 'subscribeUrl', 'manageUrl']
    const answer = await trackData({
      ...Object.fromEntries(reserved.map((key) => [key, 'x'])),
      Id: 1,
      nested: { id: 1 },
    })
    assert.is(answer.status, 200)
    await trackData(Object.fromEntries(reserved.map((key) => [key, { value: 1, persistent: false }])))
    await trackData(Object.fromEntries(reserved.map((key) => [key, null])))
    assert.equal((await ada()).data, { Id: 1, nested: { id: 1 } })
    assert.equal(
      (await events()).map(({ data }) => data),
      [{ Id: 1, nested: { id: 1 } }, {}, {}],
    )
  })

  test('takes at most 64 KB, in the event and on the contact', async (service) => {
    const { trackData, ada, events } = await tracking(service)
    const text = (bytes: number) => 'x'.repeat(bytes)
    const once = (bytes: number) => ({ a: { value: text(bytes), persistent: false } })
    const overhead = JSON.stringify({ a: '' }).length
    assert.is((await trackData(once(65_536 - overhead))).status, 200)
    assert.equal(fieldsOf(await trackData(once(65_536 - overhead + 1))), [['data', 'too_big']])
    assert.equal(fieldsOf(await trackData({ a: 'é'.repeat(40_000) })), [['data', 'too_big']])
    assert.is((await trackData({ a: text(40_000) })).status, 200)
    assert.equal(fieldsOf(await trackData({ b: text(40_000) })), [['data', 'too_big']])
    assert.equal(Object.keys((await ada()).data), ['a'])
    assert.is(
      (await trackData({ a: text(100), b: text(40_000) })).status,
      200,
      'room is made by the same change',
    )
    assert.is((await events()).length, 3)
  })
})

scenario('subscribed', start, (test) => {
  const subscriptionEvents = async (events: () => Promise<Body[]>) =>
    (await events()).filter(({ name }) => name.startsWith('contact.')).map(({ name, data }) => [name, data])

  test('is true for a new contact, unless it is false', async (service) => {
    const { track, contacts, events } = await tracking(service)
    await track({ email: 'a@example.org', event: 'e' })
    await track({ email: 'b@example.org', event: 'e', subscribed: true })
    await track({ email: 'c@example.org', event: 'e', subscribed: false })
    await track({ email: 'd@example.org', event: 'e', subscribed: null })
    assert.equal(
      (await contacts()).map(({ subscribed }) => subscribed),
      [true, true, false, true],
    )
    assert.equal(await subscriptionEvents(events), [], 'a new contact has not changed')
  })

  test('is kept unless it is given, and a change is an event', async (service) => {
    const { track, ada, events } = await tracking(service)
    const states: boolean[] = []
    for (const subscribed of [undefined, false, false, undefined, null, true, true, undefined, false]) {
      await track({ email: 'ada@example.org', event: 'e', subscribed })
      states.push((await ada()).subscribed)
    }
    assert.equal(states, [true, false, false, false, false, true, true, true, false])
    assert.equal(await subscriptionEvents(events), [
      ['contact.unsubscribed', { source: 'track' }],
      ['contact.subscribed', { source: 'track' }],
      ['contact.unsubscribed', { source: 'track' }],
    ])
    const all = await events()
    assert.is(all.filter(({ name }) => name === 'e').length, 9)
    const last = all.findLast(({ name }) => name === 'contact.unsubscribed')
    assert.is((await ada()).subscription_event_id, last?.id)
    assert.is(last?.contact_id, (await ada()).id)
  })
})

scenario('A contact that does not change', start, (test) => {
  test('is not written', async (service) => {
    const { track, trackData, ada } = await tracking(service)
    await trackData({ a: 1, b: { c: [1, 2] }, d: '' })
    const before = await ada()
    service.clock.advance(HOUR)
    const same = [
      () => trackData(undefined),
      () => trackData({ a: 1, b: { c: [1, 2] } }),
      () => trackData({ a: 1.0 }),
      () => trackData({ nothing: null, empty: '', once: { value: 1, persistent: false }, id: 'x' }),
      () => track({ email: 'ADA@example.org', event: 'e', subscribed: true }),
      () => trackData({ a: 1 }, 'another'),
    ]
    for (const request of same) {
      assert.is((await request()).status, 200)
      assert.equal(await ada(), before)
    }
  })

  test('is written when anything changes', async (service) => {
    const { track, trackData, ada } = await tracking(service)
    await trackData({ a: 1, b: 2 })
    const changes = [
      () => trackData({ a: 2 }),
      () => trackData({ a: '2' }),
      () => trackData({ a: null }),
      () => trackData({ c: false }),
      () => track({ email: 'ada@example.org', event: 'e', subscribed: false }),
    ]
    for (const change of changes) {
      const before = await ada()
      service.clock.advance(HOUR)
      const { body } = await change()
      const after = await ada()
      assert.is.not(after.version, before.version)
      assert.is(after.updated_at.toISOString(), body.data.timestamp)
      assert.equal(after.created_at, before.created_at)
    }
  })
})

scenario('Requests at once', start, (test) => {
  test('for one new address make one contact with the keys of all', async (service) => {
    const { track, contacts, events } = await tracking(service)
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        track(
          {
            email: index % 2 ? 'ada@example.org' : 'ADA@example.org',
            event: 'e',
            data: { [`k${index}`]: index },
          },
          index % 3 ? {} : { 'idempotency-key': `key-${index}` },
        ),
      ),
    )
    for (const answer of answers) assert.is(answer.status, 200, answer.text)
    const [contact, ...others] = await contacts()
    assert.is(others.length, 0)
    assert.equal(
      contact?.data,
      Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`k${index}`, index])),
    )
    const recorded = await events()
    assert.is(recorded.length, 100)
    assert.is(new Set(answers.map(({ body }) => body.data.event)).size, 100)
    assert.equal([...new Set(answers.map(({ body }) => body.data.contact))], [contact?.id])
    for (const { contact_id } of recorded) assert.is(contact_id, contact?.id)
  })

  test('for one new address with nothing to store do too', async (service) => {
    const { track, contacts, events } = await tracking(service)
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => track({ email: 'ada@example.org', event: 'e' })),
    )
    for (const answer of answers) assert.is(answer.status, 200, answer.text)
    assert.equal([(await contacts()).length, (await events()).length], [1, 100])
  })

  test('that subscribe and unsubscribe leave an event for each change', async (service) => {
    const { track, ada, events } = await tracking(service)
    await track({ email: 'ada@example.org', event: 'e' })
    await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        track({ email: 'ada@example.org', event: 'e', subscribed: index % 2 === 0 }),
      ),
    )
    const names = (await events()).map(({ name }) => name)
    const unsubscribed = names.filter((name) => name === 'contact.unsubscribed').length
    const subscribed = names.filter((name) => name === 'contact.subscribed').length
    assert.is(unsubscribed - subscribed, (await ada()).subscribed ? 0 : 1)
    assert.ok(unsubscribed > 0)
    assert.is(names.filter((name) => name === 'e').length, 61)
  })
})
