import pg from 'pg'
import * as assert from 'uvu/assert'
import { changeContactsJob } from '../../../src/features/contact-jobs/change-contacts.job.ts'
import { newId } from '../../../src/lib/ids.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Body, type Project, type Service, startService, until } from '../../support/service.ts'
import { turnOf } from '../../support/work.ts'
import { getJob, jobIdOf, keptInput, polled, postBulk, postImport, work } from './job-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

const where = (field: string, operator: string, value?: unknown) => ({
  logic: 'AND',
  groups: [{ filters: [{ field, operator, ...(value !== undefined && { value }) }] }],
})

/** Nobody has it, and every contact has to be looked at to know. */
const NOBODY = where('data.note', 'contains', 'nowhere')

/** Many contacts, as if they had been made a while ago. */
async function crowd({ sql, clock }: Service, project: Project, count: number): Promise<void> {
  const from = clock.now().getTime() - 3_600_000
  const ids = Array.from({ length: count }, (_, index) => newId(new Date(from + index)))
  await sql(
    `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
     select $1, id, 'p' || n || '@example.org', true, jsonb_build_object('note', 'n ' || n), $3, $3
     from unnest($2::uuid[]) with ordinality as given (id, n)`,
    [project.id, ids, new Date(from)],
  )
}

/** Has each statement that changes more contacts than that end as one that takes too long. */
async function refuseMore({ sql }: Service, most: number): Promise<void> {
  await sql(`create function refuse_more() returns trigger language plpgsql as $$ begin
    if (select count(*) from changed) > ${most} then raise exception 'slow' using errcode = '57014'; end if;
    return null; end $$`)
  await sql(`create trigger refuse_more after update on contacts referencing new table as changed
    for each statement execute function refuse_more()`)
}

const allowMore = ({ sql }: Service) => sql('drop function refuse_more cascade')

const turn = (service: Service, project: Project) =>
  changeContactsJob.slice(service.ctx(project.id), turnOf(project.id, { hasTime: () => false }))

const stateOf = async (service: Service, project: Project, kind: 'import' | 'bulk', id: string) => {
  const { body } = await getJob(service, kind, id, project)
  return body.state
}

scenario('Turns of imports and bulk changes', start, (test) => {
  test('go to the job that has waited longest: a short import is not behind long ones', async (service) => {
    const project = await service.newProject()
    await crowd(service, project, 12_000)
    const filters = []
    for (let n = 0; n < 3; n += 1) {
      filters.push(jobIdOf(await postBulk(service, 'bulk-unsubscribe', { filter: NOBODY }, project)))
    }
    assert.is(await turn(service, project), 'more')
    assert.is(await turn(service, project), 'more')
    const id = jobIdOf(await postImport(service, 'email\nada@example.org', project))
    await turn(service, project)
    await turn(service, project)
    assert.is(await stateOf(service, project, 'import', id), 'completed')
    const states = await Promise.all(filters.map((one) => stateOf(service, project, 'bulk', one)))
    assert.equal(states, ['active', 'active', 'active'])
    for (let n = 0; n < 3; n += 1) await turn(service, project)
    const rows = await service.sql('select position from contact_jobs where project_id = $1 and id <> $2', [
      project.id,
      id,
    ])
    assert.equal(new Set(rows.map(({ position }: Body) => position)).size <= 2, true, 'they go on together')
    await work(service, project)
    assert.equal(await changeContactsJob.pending(service.ctx()), [])
  })

  test('look at a range of contacts, however few the filter finds', async (service) => {
    const project = await service.newProject()
    await crowd(service, project, 7_000)
    const id = jobIdOf(await postBulk(service, 'bulk-unsubscribe', { filter: NOBODY }, project))
    await turn(service, project)
    const { body } = await getJob(service, 'bulk', id, project)
    assert.equal([body.state, body.progress, body.result.totalRequested], ['active', 71, 0])
    await work(service, project)
    const ended = (await getJob(service, 'bulk', id, project)).body
    assert.equal([ended.state, ended.progress, ended.result.totalRequested], ['completed', 100, 0])
  })
})

scenario('An import or a bulk change that is slow', start, (test) => {
  test('is done in smaller parts', async (service) => {
    const project = await service.newProject()
    await crowd(service, project, 100)
    const id = jobIdOf(
      await postBulk(service, 'bulk-unsubscribe', { filter: where('data.note', 'exists') }, project),
    )
    await refuseMore(service, 10)
    await work(service, project)
    const { state, result } = (await getJob(service, 'bulk', id, project)).body
    assert.equal([state, result.successCount], ['completed', 100])
    await allowMore(service)
  })

  test('ends with a reason when it gets nowhere, and keeps nothing of the request', async (service) => {
    const project = await service.newProject()
    await crowd(service, project, 20)
    const [bulk, csv] = [
      jobIdOf(await postBulk(service, 'bulk-unsubscribe', { filter: where('data.note', 'exists') }, project)),
      jobIdOf(await postImport(service, 'email,a\np1@example.org,2', project)),
    ]
    await refuseMore(service, 0)
    await work(service, project)
    await allowMore(service)
    for (const [kind, id] of [
      ['bulk', bulk],
      ['import', csv],
    ] as const) {
      const { state, failedReason } = (await getJob(service, kind, id, project)).body
      assert.is(state, 'failed')
      assert.match(failedReason, /too long/)
      const { file, request } = await keptInput(service, id)
      assert.equal([file, request], [null, {}])
    }
    assert.equal(await changeContactsJob.pending(service.ctx()), [])
  })
})

/** Holds all contacts for a while: whoever reads them waits. */
async function holdContacts({ databaseUrl }: Service) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('begin; lock table contacts in access exclusive mode')
  return () => client.end()
}

scenario('A filter whose scan takes too long', start, (test) => {
  test('looks at fewer contacts and goes on', async (service) => {
    const project = await service.newProject()
    await crowd(service, project, 700)
    const id = jobIdOf(await postBulk(service, 'bulk-unsubscribe', { filter: NOBODY }, project))
    const release = await holdContacts(service)
    assert.is(await turn(service, project).finally(release), 'more')
    const [slow] = await service.sql('select step_size, slow_tries, state from contact_jobs where id = $1', [
      id,
    ])
    assert.equal(slow, { step_size: 62, slow_tries: 1, state: 'active' })
    await work(service, project)
    assert.is(await stateOf(service, project, 'bulk', id), 'completed')
  })
})

scenario(
  'A project beside one with long filter jobs',
  () => startService(),
  (test) => {
    test('has its import done while they are still at it', async (service) => {
      const busy = await service.newProject()
      await crowd(service, busy, 60_000)
      const ids = []
      for (let n = 0; n < 3; n += 1) {
        ids.push(
          jobIdOf(
            await postBulk(service, 'bulk-unsubscribe', { filter: where('data.note', 'exists') }, busy),
          ),
        )
      }
      await until('the filter jobs are under way', async () => {
        const rows = await service.sql('select from contact_jobs where position > 0')
        return rows.length > 0
      })
      const job = await polled(
        service,
        'import',
        jobIdOf(await postImport(service, 'email\nada@example.org')),
      )
      const states = await Promise.all(ids.map((id) => stateOf(service, busy, 'bulk', id)))
      assert.is(job.state, 'completed')
      assert.ok(states.includes('active') || states.includes('waiting'), 'the others are still at it')
    })
  },
)
