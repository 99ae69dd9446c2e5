import * as assert from 'uvu/assert'
import { timeOfId } from '../../../src/lib/ids.ts'
import { MINUTE, SECOND } from '../../support/clock.ts'
import { hold } from '../../support/held-lock.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { filesOf, textOf } from '../../support/sources.ts'
import {
  computeDue,
  computed,
  contact,
  elsewhere,
  follow,
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

const start = () => startService({ ROLES: 'http' })

const RECENT = treeOf({ field: 'createdAt', operator: 'within', value: 10, unit: 'minutes' })

/** Has a statement end as if it took too long: what `when` says, by a trigger. Returns what makes it fast again. */
async function slow({ sql }: Service, when: string): Promise<() => Promise<unknown>> {
  await sql(
    `create function too_slow() returns trigger language plpgsql as
       $$ begin raise 'too slow' using errcode = '57014'; end $$;
     create trigger too_slow ${when} execute function too_slow()`,
  )
  return () => sql('drop function too_slow cascade')
}

/** Entries of a segment that say that they are of those who were there before. */
const initials = async ({ sql }: Service, id: string): Promise<string[]> => {
  const rows = await sql<{ name: string }>(
    `select split_part(c.email, '@', 1) as name from events e
     join contacts c on c.project_id = e.project_id and c.id = e.contact_id
     where e.data ->> 'segmentId' = $1 and e.data ? 'initial' order by 1`,
    [id],
  )
  return rows.map(({ name }) => name)
}

scenario('What takes too long', start, (test) => {
  test('for one contact is left to a pass, and the other changes go on', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newTracked(own)
    const { id: contactId } = await contact(own, 'ada', { plan: 'pro' })
    const fast = await slow(
      own,
      `before insert on segment_members for each row when (new.contact_id = '${contactId}')`,
    )
    await contact(own, 'grace', { plan: 'pro' })
    await follow(own)
    assert.equal(await moves(own, id), ['grace entry'])
    assert.is(await waiting(own), 0)
    await fast()
    own.clock.advance(SECOND)
    await computeDue(own)
    assert.equal(await members(own, id), ['ada', 'grace'])
  })

  test('in a pass is tried again, and the segment follows meanwhile', async (service) => {
    const own = await elsewhere(service)
    const { id: contactId } = await contact(own, 'ada', { plan: 'pro' })
    const { id } = await newSegment(own, { trackMembership: true })
    const fast = await slow(
      own,
      `before insert on segment_members for each row when (new.contact_id = '${contactId}')`,
    )
    own.clock.advance(SECOND)
    await computeDue(own)
    await contact(own, 'grace', { plan: 'pro' })
    await follow(own)
    assert.equal(await moves(own, id), ['grace entry'])
    await fast()
    own.clock.advance(30 * SECOND)
    await computeDue(own)
    assert.equal(await members(own, id), ['ada', 'grace'])
    assert.is((await segmentOf(own, id)).memberCount, 2)
  })

  test('of counting members does not keep the other segments', async (service) => {
    const own = await elsewhere(service)
    const [list, plain] = [await newList(own), await newSegment(own)]
    const fast = await slow(
      own,
      `before update of member_count on segments for each row when (old.id = '${list.id}')`,
    )
    await contact(own, 'ada', { plan: 'pro' })
    await own.sql(
      'insert into segment_members select project_id, $2, id, now() from contacts where project_id = $1',
      [own.project.id, list.id],
    )
    own.clock.advance(6 * MINUTE)
    await computeDue(own)
    assert.is((await segmentOf(own, plain.id)).memberCount, 1)
    await fast()
    own.clock.advance(6 * MINUTE)
    await computeDue(own)
    assert.is((await segmentOf(own, list.id)).memberCount, 1)
  })

  test('of windows that pass is left to passes', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newTracked(own, { condition: RECENT })
    await contact(own, 'ada')
    await follow(own)
    const fast = await slow(own, 'before insert on changes for each row')
    own.clock.advance(11 * MINUTE)
    await computeDue(own)
    assert.equal(await moves(own, id), ['ada entry', 'ada exit'])
    await fast()
  })
})

scenario('The feed', start, (test) => {
  test('is followed for contacts with many events, by the last one of each name', async (service) => {
    const own = await elsewhere(service)
    const { id: contactId } = await contact(own, 'ada')
    await own.sql(
      `insert into events (project_id, id, contact_id, name, data, created_at)
       select $1, gen_random_uuid(), $2, name, data::jsonb, now() - interval '1 hour'
       from generate_series(1, 150), (values ('seen', '{"bot": true}'), ('read', '{}')) as of (name, data)`,
      [own.project.id, contactId],
    )
    const bought = triggered('bought')
    const { id } = await newTracked(own, { condition: treeOf(bought, triggered('read')) })
    const { id: never } = await newTracked(own, { condition: treeOf(bought, triggered('sold')) })
    await own.as(own.project.public).post('/v1/track', { email: 'ada@example.org', event: 'bought' })
    await follow(own)
    assert.equal(await members(own, id), ['ada'])
    assert.equal(await members(own, never), [])
  })

  test('looks back to when a segment is tracked, not further', async (service) => {
    const own = await elsewhere(service)
    await contact(own, 'ada')
    const { id } = await newSegment(own, { condition: RECENT })
    own.clock.advance(30 * MINUTE)
    await computeDue(own)
    await own.as().patch(`/segments/${id}`, { trackMembership: true })
    own.clock.advance(MINUTE)
    await computeDue(own)
    assert.is(await waiting(own), 0)
  })

  test('has changes of lists at their time', async (service) => {
    const own = await elsewhere(service)
    const list = await newList(own)
    await newTracked(own, { condition: treeOf(memberOf(list.id)) })
    await contact(own, 'ada')
    await follow(own)
    await own.as().post(`/segments/${list.id}/members`, { emails: ['ada@example.org'] })
    const [change] = await own.sql<{ id: string }>('select id from changes where project_id = $1', [
      own.project.id,
    ])
    assert.ok(change)
    assert.ok(Math.abs(timeOfId(change.id).getTime() - own.clock.now().getTime()) < MINUTE)
  })
})

scenario('Entries say that they are initial', start, (test) => {
  const track = (own: Service, email: string) =>
    own.as(own.project.public).post('/v1/track', { email, event: 'bought' })

  for (const [what, isFollowed] of [
    ['before the pass', true],
    ['after the pass', false],
  ] as const) {
    test(`not for what is heard since the segment was made, ${what}`, async (service) => {
      const own = await elsewhere(service)
      for (const name of ['ada', 'grace']) await contact(own, name)
      await track(own, 'ada@example.org')
      const { id } = await newSegment(own, { trackMembership: true, condition: treeOf(triggered('bought')) })
      await track(own, 'grace@example.org')
      if (isFollowed) await follow(own)
      await computed(own, id)
      await follow(own)
      assert.equal(await members(own, id), ['ada', 'grace'])
      assert.equal(await initials(own, id), ['ada'])
    })
  }
})

const BY_ADDRESS = 'asked by addresses, which a contact that is being erased has none of'
const BY_CONDITION = 'a compiled condition leaves them out'
const PLACES = 'places in the order of contacts: nobody is looked at'

/** Statements that may see contacts that are being erased, and why that does no harm. */
const SEES_HIDDEN: Record<string, string> = {
  'src/features/activity/feed.sql.ts feedRows': 'entries about them are left out before',
  'src/features/activity/upcoming.sql.ts upcoming': 'executions of theirs are left out before',
  'src/features/tracking/hits.sql.ts lockMail': 'their mail is theirs until it is deleted',
  'src/features/notifications/notifications.sql.ts firstReports': 'their mail is theirs until it is deleted',
  'src/features/notifications/notifications.sql.ts lockReported': 'their mail is theirs until it is deleted',
  'src/features/notifications/apply-reports.sql.ts unsubscribeReported': 'they are not subscribed',
  'src/features/campaign-ledger/ledger.sql.ts freezeRange': BY_CONDITION,
  'src/messages/deliveries.sql.ts requeueCtes': 'their mail that waited is gone',
  'src/features/campaigns/campaigns.sql.ts anybodyReceives': BY_CONDITION,
  'src/features/emails/emails.sql.ts campaignMail': 'their mail is theirs until it is deleted',
  'src/features/contact-jobs/bulk.sql.ts pageOfIds': 'the statement that changes them leaves them out',
  'src/features/contact-jobs/bulk.sql.ts matchingIds': BY_CONDITION,
  'src/features/contacts/contact-list.sql.ts contactPage': 'a part that is added leaves them out',
  'src/features/contacts/contact-list.sql.ts contactsAt': 'places that a page has found',
  'src/features/contacts/contact-list.sql.ts contactCount': 'a part that is added leaves them out',
  'src/features/contacts/contacts.sql.ts holdAddress': 'the statement that follows leaves them out',
  'src/features/contacts/contact-list.sql.ts contactShare': 'an estimate of a number',
  'src/features/sending/send.sql.ts CONTACTS': BY_ADDRESS,
  'src/features/subscriptions/subscription.sql.ts setSubscription': BY_ADDRESS,
  'src/features/contact-fields/custom-fields.sql.ts SAMPLED': 'they have no data',
  'src/features/contact-fields/custom-fields.sql.ts ALL': 'they have no data',
  'src/features/contact-fields/custom-fields.sql.ts removeField': 'they have no data',
  'src/features/contacts/erase-contacts.sql.ts deleteContacts': 'deletes',
  'src/features/contacts/erase-contacts.sql.ts deleteHidden': 'deletes them',
  'src/features/contacts/erase-contacts.sql.ts eraseAnswers': 'an answer is kept until they are gone',
  'src/features/contact-fields/field-deletions.sql.ts askForDeletion': PLACES,
  'src/features/contacts/upsert-contact.sql.ts upsertContactCtes': BY_ADDRESS,
  'src/features/delivery/delivery.sql.ts readDueMail': 'their mail that waited is gone',
  'src/features/sending/send.sql.ts sendContextText': BY_ADDRESS,
  'src/features/event-statistics/unique-contacts.sql.ts contactsUpTo':
    'a number of contacts, which decides how to count',
  'src/features/operations/unused-names.sql.ts fieldsOfContacts': 'they have no data',
  'src/features/segments/audience-preview.sql.ts audienceCount': BY_CONDITION,
  'src/features/segments/segments.sql.ts contactsByEmail': BY_ADDRESS,
  'src/features/contacts/contacts.sql.ts newestContact': PLACES,
  'src/audience/scan.sql.ts rangeEnd': PLACES,
  'src/features/memberships/membership.sql.ts differences': BY_CONDITION,
  'src/features/memberships/membership.sql.ts countBetween': BY_CONDITION,
  'src/features/memberships/windows.sql.ts contactsPassed': BY_CONDITION,
  'src/features/workflows/engine/run-schedule.sql.ts membersBetween': BY_CONDITION,
}

scenario('Contacts that are being erased', start, (test) => {
  test('enter no segment', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newTracked(own, { condition: treeOf(triggered('bought')) })
    const { id: contactId } = await contact(own, 'ada')
    await follow(own)
    await own.sql(
      `insert into events (project_id, id, contact_id, name, created_at)
       select $1, gen_random_uuid(), $2, 'bought', now() from generate_series(1, 1500)`,
      [own.project.id, contactId],
    )
    await own.as(own.project.public).post('/v1/track', { email: 'ada@example.org', event: 'bought' })
    await own.as().delete(`/contacts/${contactId}`)
    await follow(own)
    assert.equal(await members(own, id), [])
    assert.equal(await moves(own, id), [])
    assert.equal(await computed(own, id), { added: 0, removed: 0, total: 0 })
  })

  test('enter no segment that is being filled while they are hidden', async (service) => {
    const own = await elsewhere(service)
    const { id: contactId } = await contact(own, 'ada', { plan: 'pro' })
    const { id } = await newSegment(own, { trackMembership: true })
    const hidden = await hold(
      own.databaseUrl,
      `update contacts set email = 'erased:' || id where project_id = $1 and id = $2`,
      [own.project.id, contactId],
    )
    const computing = computed(own, id)
    await hidden.waiters(1)
    await hidden.release('commit')
    assert.equal(await computing, { added: 0, removed: 0, total: 0 })
    assert.equal(await moves(own, id), [])
  })

  test('are known to every statement that reads contacts', () => {
    const unaware = filesOf('src/**/*.ts').flatMap((file) =>
      textOf(file)
        .split(/\n(?=export |const |async function |function |\/\*\*)/)
        .filter((part) => /\b(from|join) contacts\b/.test(part.replaceAll(/\/\*[\s\S]*?\*\//g, '')))
        .filter((part) => !/isKept\(|ERASED/.test(part))
        .map((part) => `${file} ${/(?:const|function) (\w+)/.exec(part)?.[1]}`),
    )
    assert.equal(
      unaware.filter((name) => !(name in SEES_HIDDEN)),
      [],
    )
  })
})
