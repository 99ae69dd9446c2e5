import * as assert from 'uvu/assert'
import { followSegmentsJob } from '../../../src/features/memberships/follow-segments.job.ts'
import { removeProject } from '../../../src/features/wipes/wipes.sql.ts'
import type { SliceResult, Turn } from '../../../src/queue/define-work.ts'
import { MINUTE } from '../../support/clock.ts'
import { hold } from '../../support/held-lock.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { turnOf } from '../../support/work.ts'
import {
  computeDue,
  computed,
  contact,
  elsewhere,
  follow,
  manyContacts,
  members,
  moves,
  newTracked,
  PRO,
  segmentOf,
  treeOf,
  triggered,
  waiting,
} from '../segments/segment-support.ts'

const start = () => startService({ ROLES: 'http' })

/** Has something about contacts changed, `times` times each. */
const change = ({ sql, project }: Service, ids: string[], times = 1) =>
  sql(
    `insert into changes (project_id, consumer, id, contact_id)
     select $1, 'SEGMENT', gen_random_uuid(), id from unnest($2::uuid[]) as changed (id), generate_series(1, $3)`,
    [project.id, ids, times],
  )

/** Counts from now on how often changes are followed, however many at a time. */
async function countEvaluations({ sql }: Service): Promise<() => Promise<number>> {
  await sql(
    `create table evaluations (at timestamptz);
     create function count_evaluation() returns trigger language plpgsql as
       $$ begin insert into evaluations values (clock_timestamp()); return null; end $$;
     create trigger evaluated after delete on changes
       for each statement execute function count_evaluation()`,
  )
  return async () => (await sql('select from evaluations')).length
}

/** A condition that nobody can evaluate any more, past all checks. */
const breakSegment = ({ sql }: Service, id: string) =>
  sql('update segments set condition = $2 where id = $1', [id, JSON.stringify({ logic: 'XOR' })])

/** One turn of the project. */
const slice = (service: Service, turn: Partial<Turn> = {}): Promise<SliceResult> =>
  followSegmentsJob.slice(service.ctx(service.project.id), turnOf(service.project.id, turn))

/** The segments that are warned of from now on. */
function warnings({ app }: Service): string[] {
  const segments: string[] = []
  const { log } = app.services
  app.services.log = Object.assign(Object.create(log), {
    warn: ({ segmentId }: { segmentId: string }) => void segments.push(segmentId),
  })
  return segments
}

scenario('A storm of changes', start, (test) => {
  test('leads to few evaluations', async (service) => {
    const { id } = await newTracked(service)
    const ids = await manyContacts(service, 100)
    const evaluations = await countEvaluations(service)
    await change(service, ids, 100)
    assert.is(await waiting(service), 10_000)
    await follow(service)
    assert.is(await waiting(service), 0)
    assert.is((await members(service, id)).length, 100)
    const first = await evaluations()
    assert.ok(first > 0 && first <= 10, `${first} evaluations`)
    await change(service, ids.slice(0, 1), 10_000)
    await follow(service)
    assert.ok((await evaluations()) - first <= 10)
    assert.is((await moves(service, id)).length, 100)
  })

  test('is followed in turns: a slice ends with its time', async (service) => {
    const own = await elsewhere(service)
    await newTracked(own)
    await change(own, await manyContacts(own, 5_000))
    assert.is(await slice(own, { hasTime: () => false }), 'more')
    assert.is(await waiting(own), 3_000)
    assert.is(await slice(own), 'done')
    assert.is(await waiting(own), 0)
  })
})

scenario('Several followers', start, (test) => {
  test('of one project give way to each other, and record each entry once', async (service) => {
    const { id } = await newTracked(service)
    await change(service, await manyContacts(service, 4_000))
    const held = await hold(service.databaseUrl, 'select from segments where id = $1 for update', [id])
    const first = slice(service)
    await held.waiters(1)
    assert.equal(await slice(service), { afterMs: 100 })
    await held.release()
    assert.is(await first, 'done')
    assert.is((await moves(service, id)).length, 4_000)
    assert.is((await segmentOf(service, id)).memberCount, 4_000)
    assert.is(await waiting(service), 0)
  })

  test('do not hold a segment while they evaluate', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newTracked(own)
    await change(own, await manyContacts(own, 10))
    // The follower is stopped where it loads contacts; the condition changes under it.
    const held = await hold(own.databaseUrl, 'lock table contacts in access exclusive mode')
    const following = slice(own)
    await held.waiters(1)
    const free = treeOf({ field: 'data.plan', operator: 'equals', value: 'free' })
    const answer = await own.as().patch(`/segments/${id}`, { condition: free })
    assert.is(answer.status, 200)
    await held.release()
    await following
    assert.equal(await moves(own, id), [], 'what was found for the old condition is not written')
  })

  test('and a computation at the same time do not disagree', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newTracked(own)
    await change(own, await manyContacts(own, 3_000))
    await Promise.all([follow(own), computed(own, id), follow(own), computed(own, id)])
    assert.is((await moves(own, id)).length, 3_000)
    assert.is((await segmentOf(own, id)).memberCount, 3_000)
  })
})

scenario('Trouble', start, (test) => {
  test('in the middle loses no change, and does not keep other projects', async (service) => {
    const [own, other] = [await elsewhere(service), await elsewhere(service)]
    const [{ id }, theirs] = [await newTracked(own), await newTracked(other)]
    await contact(own, 'ada', { plan: 'pro' })
    await contact(other, 'ada', { plan: 'pro' })
    await own.sql(
      `create function fail() returns trigger language plpgsql as
         $$ begin raise 'away' using errcode = '57P01'; end $$;
       create trigger fail before insert on segment_members for each row
         when (new.segment_id = '${id}') execute function fail()`,
    )
    await slice(own).then(
      () => assert.unreachable('it must be said'),
      (error: Error) => assert.match(error.message, 'away'),
    )
    assert.is(await slice(other), 'done')
    assert.is(await waiting(own), 1)
    assert.equal(await members(own, id), [])
    assert.equal(await members(other, theirs.id), ['ada'])
    await own.sql('drop function fail cascade')
    await follow(own)
    assert.equal(await moves(own, id), ['ada entry'])
  })

  test('with one segment does not keep others, and is said once', async (service) => {
    const own = await elsewhere(service)
    const [first, broken, last] = [await newTracked(own), await newTracked(own), await newTracked(own)]
    await breakSegment(own, broken.id)
    const warned = warnings(own)
    for (const name of ['ada', 'grace']) {
      await contact(own, name, { plan: 'pro' })
      await follow(own)
    }
    for (const { id } of [first, last]) assert.equal(await moves(own, id), ['ada entry', 'grace entry'])
    assert.is(await waiting(own), 0)
    assert.equal(await members(own, broken.id), [])
    own.clock.advance(2 * MINUTE)
    await computeDue(own)
    assert.equal(warned, [broken.id])
    // Once it can be evaluated again it is, for all contacts.
    await own.sql('update segments set condition = $2 where id = $1', [broken.id, JSON.stringify(PRO)])
    own.clock.advance(2 * MINUTE)
    await computeDue(own)
    assert.equal(await moves(own, broken.id), ['ada entry', 'grace entry'])
  })

  test('with too much for one commit: fewer are taken at a time', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newTracked(own)
    await change(own, await manyContacts(own, 1_000))
    await own.sql(
      `create function limit_entries() returns trigger language plpgsql as $$ begin
         if (select count(*) from entered) > 300 then raise 'too slow' using errcode = '57014'; end if;
         return null; end $$;
       create trigger limited after insert on segment_members referencing new table as entered
         for each statement execute function limit_entries()`,
    )
    await follow(own)
    assert.is((await moves(own, id)).length, 1_000)
    await own.sql('drop function limit_entries cascade')
  })
})

scenario('Changes of what is gone', start, (test) => {
  test('contacts, segments and projects do no harm', async (service) => {
    const [own, gone] = [await elsewhere(service), await elsewhere(service)]
    const { id } = await newTracked(own)
    const { id: contactId } = await contact(own, 'ada', { plan: 'pro' })
    await contact(own, 'grace', { plan: 'pro' })
    await own.as().delete(`/contacts/${contactId}`)
    await newTracked(gone)
    await contact(gone, 'ada', { plan: 'pro' })
    await service.ctx().sql(removeProject, { projectId: gone.project.id })
    await follow(service)
    assert.equal(await moves(own, id), ['grace entry'])
    await contact(own, 'grace', { plan: 'free' })
    assert.is((await own.as().delete(`/segments/${id}`)).status, 204)
    await follow(service)
    for (const { project } of [own, gone]) assert.is(await waiting(service, project.id), 0)
  })

  test('contacts that are deleted at that moment do no harm', async (service) => {
    const own = await elsewhere(service)
    const { id } = await newTracked(own)
    const ids = await manyContacts(own, 20)
    await change(own, ids)
    const held = await hold(own.databaseUrl, 'delete from contacts where id = any($1)', [ids.slice(0, 5)])
    const following = follow(own)
    await held.waiters(1)
    await held.release('commit')
    await following
    assert.is((await moves(own, id)).length, 15)
  })

  test('events of its own do not go round in circles', async (service) => {
    const own = await elsewhere(service)
    const never = { field: 'event.segment.once.entry', operator: 'notTriggered' }
    const { id } = await newTracked(own, { name: 'Once', condition: treeOf(never) })
    const echo = treeOf(triggered('segment.once.exit'))
    const { id: other } = await newTracked(own, { name: 'Echo', condition: echo })
    await contact(own, 'ada')
    await follow(own)
    assert.equal(await moves(own, id), ['ada entry', 'ada exit'])
    assert.equal(await moves(own, other), ['ada entry'])
  })
})
