import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { subscriptionLinks } from '../../../src/features/subscriptions/subscription-links.ts'
import { sendBody } from '../../support/mailing.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Answer, type Service, startService, until } from '../../support/service.ts'
import { filesOf, textOf } from '../../support/sources.ts'
import { bulkChanged, imported } from '../contact-jobs/job-support.ts'
import {
  contact,
  countsOf,
  elsewhere,
  follow,
  isPro,
  memberOf,
  members,
  moves,
  newList,
  newSegment,
  newTracked,
  segmentOf,
  treeOf,
  triggered,
  waiting,
} from '../segments/segment-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

async function done(answer: Promise<Answer>): Promise<void> {
  const { status, text } = await answer
  assert.ok(status < 300, text)
}

const track = ({ as, project }: Service, email: string, event: string, more: object = {}) =>
  done(as(project.public).post('/v1/track', { email, event, ...more }))

const isSubscribed = (value: boolean) => treeOf({ field: 'subscribed', operator: 'equals', value })

/** A change that makes ada@example.org a member, and the condition that says so. Somebody else stays out. */
type Change = [condition: object, change: (service: Service, id: string) => Promise<void>]

const CHANGES: Record<string, Change> = {
  'POST /contacts': [
    treeOf(isPro),
    async (service) => {
      await contact(service, 'ada', { plan: 'pro' })
    },
  ],
  'PATCH /contacts/:id, data': [
    treeOf(isPro),
    ({ as, project }, id) => done(as(project).patch(`/contacts/${id}`, { data: { plan: 'pro' } })),
  ],
  'PATCH /contacts/:id, subscribed': [
    isSubscribed(false),
    ({ as, project }, id) => done(as(project).patch(`/contacts/${id}`, { subscribed: false })),
  ],
  'POST /v1/track, the event': [
    treeOf(triggered('bought')),
    (service) => track(service, 'ada@example.org', 'bought'),
  ],
  'POST /v1/track, its data': [
    treeOf(isPro),
    (service) => track(service, 'ada@example.org', 'seen', { data: { plan: 'pro' } }),
  ],
  'POST /v1/send': [
    treeOf(isPro),
    ({ as, project }) => done(as(project).post('/v1/send', sendBody(project, { data: { plan: 'pro' } }))),
  ],
  'an import': [
    treeOf(isPro),
    async (service) => {
      await imported(service, 'email,plan\nada@example.org,pro\ngrace@example.org,free\n', service.project)
    },
  ],
  'POST /contacts/bulk-unsubscribe': [
    isSubscribed(false),
    async (service, id) => {
      await bulkChanged(service, 'bulk-unsubscribe', { contactIds: [id] }, service.project)
    },
  ],
  'a link to unsubscribe': [
    isSubscribed(false),
    async ({ call, ctx, project, sql }, contactId) => {
      const [contact] = await sql<{ email: string }>('select email from contacts where id = $1', [contactId])
      const emailId = randomUUID()
      const owner = { projectId: project.id, contactId, emailId, email: contact?.email ?? '' }
      return done(call('POST', new URL(subscriptionLinks(ctx().config, owner).unsubscribeUrl).pathname))
    },
  ],
}

scenario('A tracked segment follows', start, (test) => {
  for (const [what, [condition, change]] of Object.entries(CHANGES)) {
    test(what, async (service) => {
      const own = await elsewhere(service)
      const { id: contactId } = await contact(own, 'ada')
      await contact(own, 'grace')
      const { id } = await newTracked(own, { condition })
      assert.equal(await members(own, id), [])
      await change(own, contactId)
      assert.ok(await waiting(own))
      await follow(own)
      assert.equal(await members(own, id), ['ada'])
      assert.equal(await moves(own, id), ['ada entry'])
      assert.is((await segmentOf(own, id)).memberCount, 1)
      assert.is(await waiting(own), 0)
    })
  }

  test('a contact that leaves, and comes back', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newTracked(own)
    for (const plan of ['pro', 'free', 'pro']) {
      await contact(own, 'ada', { plan })
      await follow(own)
    }
    assert.equal(await moves(own, id), ['ada entry', 'ada exit', 'ada entry'])
  })

  test('the list of another one', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada')
    const list = await newList(own)
    const inner = await newSegment(own, { condition: treeOf(memberOf(list.id)) })
    const { id } = await newTracked(own, { condition: treeOf(memberOf(inner.id)) })
    const body = { emails: ['ada@example.org'] }
    await done(own.as().post(`/segments/${list.id}/members`, body))
    await follow(own)
    assert.equal(await members(own, id), ['ada'])
    await done(own.as().delete(`/segments/${list.id}/members`, body))
    await follow(own)
    assert.equal(await moves(own, id), ['ada entry', 'ada exit'])
  })

  test('the entry event of another one, whichever was made first', async (service) => {
    const own = await elsewhere(service)
    const entered = treeOf(triggered('segment.pro-customers.entry'))
    const before = await newTracked(own, { name: 'Before', condition: entered })
    const { id } = await newTracked(own, { name: 'Pro customers' })
    const after = await newTracked(own, { name: 'After', condition: entered })
    await contact(own, 'ada', { plan: 'pro' })
    await follow(own)
    for (const segment of [before, after]) assert.equal(await moves(own, segment.id), ['ada entry'])
    await own.as().patch(`/segments/${id}`, { name: 'Other' })
    await contact(own, 'ada', { plan: 'free' })
    await follow(own)
    assert.equal(await members(own, before.id), ['ada'])
  })

  test('the entry event of another one that an untracked one asks for', async (service) => {
    const own = await elsewhere(service)
    const asking = await newSegment(own, {
      name: 'Asking',
      condition: treeOf(triggered('segment.pro-customers.entry')),
    })
    const { id } = await newTracked(own, { name: 'First', condition: treeOf(memberOf(asking.id)) })
    await newTracked(own, { name: 'Pro customers' })
    await contact(own, 'ada', { plan: 'pro' })
    await follow(own)
    assert.equal(await moves(own, id), ['ada entry'])
  })

  test('an event of a list that is kept by hand', async (service) => {
    const own = await elsewhere(service)
    const list = await newList(own, { name: 'VIP', trackMembership: true })
    const { id } = await newTracked(own, { condition: treeOf(triggered('segment.vip.exit')) })
    const body = { emails: ['ada@example.org'], createMissing: true }
    await done(own.as().post(`/segments/${list.id}/members`, body))
    await follow(own)
    assert.equal(await members(own, id), [])
    await done(own.as().delete(`/segments/${list.id}/members`, { emails: body.emails }))
    await follow(own)
    assert.equal(await members(own, id), ['ada'])
  })

  test('contacts that are made for a list', async (service) => {
    const own = await elsewhere(service)
    const list = await newList(own)
    const { id } = await newTracked(own, { condition: isSubscribed(true) })
    const body = { emails: ['ada@example.org'], createMissing: true }
    await done(own.as().post(`/segments/${list.id}/members`, body))
    await follow(own)
    assert.equal(await moves(own, id), ['ada entry'])
  })
})

scenario('The feed of changes', start, (test) => {
  test('is empty for a project without tracked segments', async (service) => {
    const own = await elsewhere(service)
    await newSegment(own)
    await newList(own, { trackMembership: true })
    await newTracked(service)
    for (const [condition, change] of Object.values(CHANGES)) {
      const { id } = await contact(own, 'ada')
      await change(own, id)
      assert.ok(condition)
    }
    assert.is(await waiting(own), 0)
  })

  test('does not have what changes nothing', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada', { plan: 'pro' })
    await newTracked(own)
    await contact(own, 'ada', { plan: 'pro' })
    await imported(own, 'email,plan\nada@example.org,pro\n', own.project)
    assert.is(await waiting(own), 0)
    assert.is(await waiting(own), 0)
  })

  test('does not have what no tracked segment asks for', async (service) => {
    const own = await elsewhere(service)
    await newSegment(own, { condition: treeOf(triggered('seen')) })
    await newTracked(own)
    await contact(own, 'ada')
    await follow(own)
    await track(own, 'ada@example.org', 'seen')
    await contact(own, 'ada', { city: 'Rome' })
    await done(own.as().post('/contacts', { email: 'ada@example.org', subscribed: false }))
    assert.is(await waiting(own), 0)
    await contact(own, 'ada', { plan: 'free' })
    await contact(own, 'grace')
    assert.is(await waiting(own), 2)
  })

  test('has every change when a segment asks when contacts were changed', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada')
    const recent = { field: 'updatedAt', operator: 'within', value: 1, unit: 'days' }
    await newTracked(own, { condition: treeOf(recent) })
    await contact(own, 'ada', { city: 'Rome' })
    assert.is(await waiting(own), 1)
  })

  test('is written by one file, in every statement that changes contacts', () => {
    const writers = filesOf('src/**/*.ts').filter((file) =>
      /insert into (events|changes)\b/.test(textOf(file)),
    )
    assert.equal(writers, ['src/changes/changes.sql.ts'])
    const changing = filesOf('src/features/**/*.sql.ts').filter((file) =>
      /update contacts|upsertContactCtes\(/.test(textOf(file).replace('const upsertContactCtes', '')),
    )
    assert.ok(changing.length > 5)
    assert.equal(
      changing.filter((file) => !/(contactCtes|subscriptionCtes|dataChangeCte)\(/.test(textOf(file))),
      // Contacts that are being erased have no memberships left that anybody could follow.
      ['src/features/contacts/erase-contacts.sql.ts'],
    )
  })

  test('has nothing of what was not committed', async (service) => {
    const own = await elsewhere(service)
    await newTracked(own)
    const from = 'hello@not-verified.example'
    const body = { to: 'ada@example.org', from, subject: 'x', body: 'x', data: { plan: 'pro' } }
    assert.is((await own.as().post('/v1/send', body)).status, 403)
    assert.is(await waiting(own), 0)
  })
})

scenario(
  'A worker',
  () => startService({ ROLES: 'http,worker' }),
  (test) => {
    test('fills a new segment by itself, at once', async (service) => {
      const own = await elsewhere(service)
      for (const name of ['ada', 'grace']) await contact(own, name, { plan: 'pro' })
      const { id } = await newSegment(own, { trackMembership: true })
      await until('both are members', async () => (await segmentOf(own, id)).memberCount === 2)
      await done(own.as().patch(`/segments/${id}`, { condition: isSubscribed(false) }))
      await until('nobody is', async () => (await segmentOf(own, id)).memberCount === 0)
      const counts = await countsOf(own, id, await own.as().post(`/segments/${id}/compute`))
      assert.equal(counts, { added: 0, removed: 0, total: 0 })
    })

    test('follows by itself: changes, and mail that is delivered', async (service) => {
      const pro = await newTracked(service)
      const sent = { field: 'email.sent', operator: 'triggered' }
      const { id } = await newTracked(service, { condition: treeOf(sent) })
      for (const name of ['ada', 'grace']) await contact(service, name, { plan: 'pro' })
      await until('both have entered', async () => (await moves(service, pro.id)).length === 2)
      assert.is(await waiting(service), 0)
      // Nothing about the contact changes but that mail is delivered.
      await done(service.as().post('/v1/send', sendBody(service.project)))
      await until('ada has entered', async () => (await moves(service, id)).length === 1)
      assert.equal(await members(service, pro.id), ['ada', 'grace'])
      assert.equal(await members(service, id), ['ada'])
    })
  },
)
