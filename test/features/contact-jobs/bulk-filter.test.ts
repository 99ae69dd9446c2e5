import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { newId } from '../../../src/lib/ids.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Project, type Service, startService } from '../../support/service.ts'
import { newContact } from '../contacts/contact-support.ts'
import { addEvents } from '../contacts/erase-support.ts'
import {
  bulkChanged,
  contactsOf,
  eventsOf,
  getJob,
  jobIdOf,
  keptInput,
  postBulk,
  work,
} from './job-support.ts'

const start = () => startService({ ROLES: 'http' })

const where = (field: string, operator: string, value?: unknown) => ({
  logic: 'AND',
  groups: [{ filters: [{ field, operator, ...(value !== undefined && { value }) }] }],
})

const SUBSCRIBED = where('subscribed', 'equals', true)

/** Many contacts, as if they had been made a while ago, one after the other. */
async function crowd({ sql, clock }: Service, project: Project, count: number): Promise<string[]> {
  const from = clock.now().getTime() - 3_600_000
  const ids = Array.from({ length: count }, (_, index) => newId(new Date(from + index)))
  await sql(
    `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
     select $1, id, 'p' || n || '@example.org', true, jsonb_build_object('n', n), $3, $3
     from unnest($2::uuid[]) with ordinality as given (id, n)`,
    [project.id, ids, new Date(from)],
  )
  return ids
}

const subscribers = async (service: Service, project: Project): Promise<string[]> =>
  Object.entries<Body>(await contactsOf(service, project))
    .filter(([, { subscribed }]) => subscribed)
    .map(([email]) => email)

scenario('A bulk change by a filter', start, (test) => {
  test('changes all once, although the change makes the filter wrong', async (service) => {
    const project = await service.newProject()
    await crowd(service, project, 1_300)
    const job = await bulkChanged(service, 'bulk-unsubscribe', { filter: SUBSCRIBED }, project)
    const all = { totalRequested: 1_300, unchangedCount: 0, failureCount: 0, errors: [] }
    assert.equal(job.result, { ...all, successCount: 1_300 })
    assert.equal(await subscribers(service, project), [])
    assert.is((await eventsOf(service, project)).length, 1_300)
    assert.equal((await keptInput(service, job.id)).request, {})
    const none = await bulkChanged(service, 'bulk-unsubscribe', { filter: SUBSCRIBED }, project)
    assert.is(none.result.totalRequested, 0)
  })

  test('leaves out whom it is told to, in any spelling', async (service) => {
    const project = await service.newProject()
    const ids = await crowd(service, project, 700)
    const excludeIds = [ids[0], ids[650]?.toUpperCase(), randomUUID(), 'x', ...ids.slice(100, 150)]
    const body = { filter: where('data.n', 'lessThanOrEqual', 660), excludeIds }
    const { result } = await bulkChanged(service, 'bulk-delete', body, project)
    assert.equal([result.totalRequested, result.successCount], [608, 608])
    const left = Object.keys(await contactsOf(service, project))
    assert.is(left.length, 92)
    for (const n of [1, 651, 101, 150, 661]) assert.ok(left.includes(`p${n}@example.org`), String(n))
  })

  test('leaves whole chunks out', async (service) => {
    const project = await service.newProject()
    const ids = await crowd(service, project, 1_001)
    const body = { filter: SUBSCRIBED, excludeIds: ids.slice(0, 1_000) }
    const { result } = await bulkChanged(service, 'bulk-unsubscribe', body, project)
    assert.equal([result.totalRequested, result.successCount], [1, 1])
    assert.is((await subscribers(service, project)).length, 1_000)
  })

  test('is for contacts of that time, whatever the clocks said that made them', async (service) => {
    const project = await service.newProject()
    const add = (name: string, offset: number) =>
      service.sql(
        `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
         values ($1, $2, $3, true, '{}', now(), now())`,
        [project.id, newId(new Date(service.clock.now().getTime() + offset)), `${name}@example.org`],
      )
    await add('behind', -60_000)
    await add('same', 0)
    await add('ahead', 60_000)
    const jobId = jobIdOf(await postBulk(service, 'bulk-unsubscribe', { filter: SUBSCRIBED }, project))
    await add('after', 60_001)
    await work(service, project)
    assert.equal(await subscribers(service, project), ['after@example.org'])
    const { result } = (await getJob(service, 'bulk', jobId, project)).body
    assert.equal([result.totalRequested, result.successCount], [3, 3])
  })

  test('does nothing where there was nobody', async (service) => {
    const project = await service.newProject()
    const jobId = jobIdOf(await postBulk(service, 'bulk-unsubscribe', { filter: SUBSCRIBED }, project))
    await newContact(service, { email: 'later@example.org' }, project)
    await work(service, project)
    const { state, result } = (await getJob(service, 'bulk', jobId, project)).body
    assert.equal([state, result.totalRequested], ['completed', 0])
    assert.equal(await subscribers(service, project), ['later@example.org'])
  })

  test('leaves contacts that are being erased alone', async (service) => {
    const project = await service.newProject()
    const { id } = await newContact(service, {}, project)
    await addEvents(service, project, id, 1_500)
    await service.as(project).delete(`/contacts/${id}`)
    const filter = where('subscribed', 'equals', false)
    const { result } = await bulkChanged(service, 'bulk-subscribe', { filter }, project)
    assert.equal([result.totalRequested, result.failureCount], [0, 0])
  })

  test('sees contacts as they are when it runs', async (service) => {
    const project = await service.newProject()
    const { id } = await newContact(service, { data: { plan: 'free' } }, project)
    const body = { filter: where('data.plan', 'equals', 'pro') }
    jobIdOf(await postBulk(service, 'bulk-delete', body, project))
    await service.sql(`update contacts set data = '{"plan": "pro"}' where id = $1`, [id])
    await work(service, project)
    assert.equal(await contactsOf(service, project), {})
  })

  test('stays in its project', async (service) => {
    const [project, other] = [await service.newProject(), await service.newProject()]
    await newContact(service, { email: 'theirs@example.org' }, other)
    await newContact(service, { email: 'ours@example.org' }, project)
    const { result } = await bulkChanged(service, 'bulk-delete', { filter: SUBSCRIBED }, project)
    assert.is(result.successCount, 1)
    assert.equal(Object.keys(await contactsOf(service, other)), ['theirs@example.org'])
  })

  test('goes on where a failure has stopped it', async (service) => {
    const { sql } = service
    const project = await service.newProject()
    await crowd(service, project, 1_300)
    const jobId = jobIdOf(await postBulk(service, 'bulk-unsubscribe', { filter: SUBSCRIBED }, project))
    await sql(`create function away() returns trigger language plpgsql as $$ begin
      raise exception 'away' using errcode = '57P01'; end $$`)
    await sql(`create trigger away before update on contact_jobs for each row
      when (new.position = 1000 and old.position = 500) execute function away()`)
    const failure = await work(service, project).catch((error: unknown) => error)
    assert.instance(failure, Error)
    const { body } = await getJob(service, 'bulk', jobId, project)
    assert.equal([body.state, body.progress, body.result.successCount], ['active', 38, 500])
    assert.is((await subscribers(service, project)).length, 800)
    await sql('drop trigger away on contact_jobs')
    await sql('drop function away')
    await work(service, project)
    const { state, result } = (await getJob(service, 'bulk', jobId, project)).body
    assert.equal([state, result.totalRequested, result.successCount], ['completed', 1_300, 1_300])
    assert.is((await eventsOf(service, project)).length, 1_300)
  })

  test('by several workers is done once', async (service) => {
    const project = await service.newProject()
    await crowd(service, project, 1_300)
    const jobId = jobIdOf(await postBulk(service, 'bulk-unsubscribe', { filter: SUBSCRIBED }, project))
    await Promise.all([1, 2, 3].map(() => work(service, project)))
    const { state, result } = (await getJob(service, 'bulk', jobId, project)).body
    assert.equal([state, result.totalRequested, result.successCount], ['completed', 1_300, 1_300])
    assert.is((await eventsOf(service, project)).length, 1_300)
  })

  test('says why it cannot be done any more', async (service) => {
    const project = await service.newProject()
    const segment = randomUUID()
    await service.sql(
      `insert into segments (project_id, id, name, slug, type, condition, created_at, updated_at)
       values ($1, $2, 'VIP', 'vip', 'DYNAMIC', $3, now(), now())`,
      [project.id, segment, JSON.stringify(SUBSCRIBED)],
    )
    const body = { filter: where(`segment.${segment}`, 'memberOfSegment') }
    const jobId = jobIdOf(await postBulk(service, 'bulk-delete', body, project))
    await service.sql('delete from segments where id = $1', [segment])
    await work(service, project)
    const { state, failedReason } = (await getJob(service, 'bulk', jobId, project)).body
    assert.is(state, 'failed')
    assert.match(failedReason, /^filter\.groups\.0\.filters\.0\.field: .*segment/)
  })

  test('says nothing about the inside when something unexpected happens', async (service) => {
    const project = await service.newProject()
    await newContact(service, {}, project)
    const jobId = jobIdOf(await postBulk(service, 'bulk-unsubscribe', { filter: SUBSCRIBED }, project))
    await service.sql(`create function broken() returns trigger language plpgsql as $$ begin
      raise exception 'secret detail'; end $$`)
    await service.sql(`create trigger broken before update on contact_jobs for each row
      when (new.position = 1) execute function broken()`)
    await work(service, project)
    await service.sql('drop trigger broken on contact_jobs')
    const { state, failedReason } = (await getJob(service, 'bulk', jobId, project)).body
    assert.is(state, 'failed')
    assert.not.match(failedReason, /secret/)
    assert.is((await subscribers(service, project)).length, 1, 'nothing was done')
  })
})
