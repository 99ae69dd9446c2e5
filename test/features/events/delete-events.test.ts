import * as assert from 'uvu/assert'
import { MINUTE } from '../../support/clock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Project, type Service, startService, until } from '../../support/service.ts'
import { whileHeld } from '../../support/while-held.ts'
import { callEvents, fold, got, newContacts, record, usedInSegment } from './event-support.ts'

const MUTATION = 'mutation ($eventName: String!) { deleteEvents(eventName: $eventName) { deletedCount } }'

async function remove(service: Service, name: string, project: Project): Promise<Body> {
  const path = `/${encodeURIComponent(name)}`
  const { status, text, body } = await callEvents(service, 'DELETE', path, undefined, project)
  assert.is(status, 200, text)
  return body
}

/** What the API says of a name: how often it is listed and counted, and whether it is named. */
async function shown(service: Service, name: string, project: Project) {
  const [list, statistics, names, usage] = await Promise.all([
    got(service, `?eventName=${name}`, project),
    got(service, '/stats', project),
    got(service, '/names', project),
    got(service, `/${name}/usage`, project),
  ])
  const one = statistics.find((statistic: Body) => statistic.name === name)
  return [list.total, one?.count ?? 0, names.eventNames.includes(name), usage.totalCount]
}

const nothing = [0, 0, false, 0]
const often = (times: number) => [times, times, true, times]

/** Events of one contact, the oldest ones that many milliseconds before now, the others in the time since. */
async function happened(service: Service, name: string, count: number, project: Project, ago = 0) {
  const [contactId] = await newContacts(service, 1, project)
  const now = service.clock.now().getTime()
  const at = (index: number) => new Date(now - Math.round((ago * (count - index)) / count))
  const events = Array.from({ length: count }, (_, index) => ({ name, contactId, at: at(index) }))
  await record(service, events, project)
  return contactId
}

const start = () => startService({ ROLES: 'http' })

scenario('DELETE /events/:eventName', start, (test) => {
  test('deletes every event of the name, counted or not, and nothing else', async (service) => {
    const [project, other] = [await service.newProject(), await service.newProject()]
    for (const one of [project, other]) {
      await happened(service, 'e', 4, one, 2 * MINUTE)
      await happened(service, 'E', 2, one)
      await fold(service, one)
      await happened(service, 'e', 3, one)
    }
    assert.equal(await shown(service, 'e', project), often(7))
    assert.equal(await remove(service, 'e', project), { deletedCount: 7 })
    assert.equal(await shown(service, 'e', project), nothing)
    assert.equal(await shown(service, 'E', project), often(2))
    assert.equal(await shown(service, 'e', other), often(7))
    assert.equal(await remove(service, 'e', project), { deletedCount: 0 })
    const [left] = await service.sql(
      `select (select count(*) from event_names where project_id = $1 and name = 'e')
         + (select count(*) from event_counts where project_id = $1 and name = 'e') as rows`,
      [project.id],
    )
    assert.equal(left, { rows: '0' })
  })

  test('answers over GraphQL alike', async (service) => {
    const project = await service.newProject()
    await happened(service, 'a/b c', 2, project)
    const { body } = await service.graphql(MUTATION, { eventName: 'a/b c' }, { key: project.secret })
    assert.equal(body.data, { deleteEvents: { deletedCount: 2 } })
    await happened(service, 'a/b c', 1, project)
    assert.equal(await remove(service, 'a/b c', project), { deletedCount: 1 })
  })

  test('is refused while something refers to the name', async (service) => {
    const project = await service.newProject()
    await happened(service, 'e', 1, project)
    const { id } = await usedInSegment(service, 'e', project)
    assertRefused(await callEvents(service, 'DELETE', '/e', undefined, project), 409, 'CONFLICT')
    const answer = await service.graphql(MUTATION, { eventName: 'e' }, { key: project.secret })
    assertGraphQLRefused(answer, 409, 'CONFLICT')
    assert.equal(await shown(service, 'e', project), often(1))
    await service.sql('delete from segments where id = $1', [id])
    assert.equal(await remove(service, 'e', project), { deletedCount: 1 })
  })

  test('is refused for the service’s own events', async (service) => {
    const project = await service.newProject()
    for (const name of ['email.sent', 'contact.unsubscribed', 'segment.vip.exit']) {
      await happened(service, name, 1, project)
      const error = assertRefused(
        await callEvents(service, 'DELETE', `/${name}`, undefined, project),
        422,
        'VALIDATION_ERROR',
      )
      assert.equal([error.errors[0].field, error.errors[0].code], ['eventName', 'reserved_event'])
      const answer = await service.graphql(MUTATION, { eventName: name }, { key: project.secret })
      assertGraphQLRefused(answer, 422, 'VALIDATION_ERROR')
      assert.equal(await shown(service, name, project), often(1))
    }
  })

  test('needs the secret key', async (service) => {
    const answer = await service.call('DELETE', '/events/e', { key: service.project.public })
    assertRefused(answer, 401, 'INVALID_API_KEY')
  })

  test('leaves no count behind when the events are being counted at the same time', async (service) => {
    const project = await service.newProject()
    await happened(service, 'e', 3, project, 2 * MINUTE)
    await fold(service, project)
    await happened(service, 'e', 3, project)
    service.clock.advance(MINUTE)
    // The counting holds the fold first; the deletion waits for it.
    await whileHeld(
      service,
      'update event_folds set first_open = first_open where project_id = $1',
      [project.id],
      () => Promise.all([fold(service, project), remove(service, 'e', project)]),
    )
    assert.equal(await shown(service, 'e', project), nothing)
  })
})

const MANY = 12_000

scenario('The deletion of many events', start, (test) => {
  test('goes on in a job, and everything agrees while it does', async (service) => {
    const project = await service.newProject()
    await happened(service, 'e', MANY, project, 2 * MINUTE)
    await fold(service, project)
    assert.equal(await remove(service, 'e', project), { deletedCount: MANY })
    assert.equal(await shown(service, 'e', project), often(MANY - 5_000))
    const jobs = await service.sql(
      `select data from pgboss.job where name = 'events.delete' and data ->> 'projectId' = $1`,
      [project.id],
    )
    assert.equal(
      jobs.map(({ data }) => data.name),
      ['e'],
    )
  })
})

scenario(
  'The job that deletes events',
  () => startService({ ROLES: 'http,worker' }),
  (test) => {
    test('deletes all that had happened, in batches, and not what happens later', async (service) => {
      const project = await service.newProject()
      const ada = await happened(service, 'e', MANY, project, 10 * MINUTE)
      await fold(service, project)
      assert.equal(await remove(service, 'e', project), { deletedCount: MANY })
      const track = () =>
        service.call('POST', '/v1/track', {
          key: project.public,
          body: { email: 'later@example.org', event: 'e' },
        })
      assert.is((await track()).status, 200)
      await until('the job has deleted them', async () => (await shown(service, 'e', project))[0] === 1)
      assert.equal(await shown(service, 'e', project), often(1))
      service.clock.advance(MINUTE)
      await fold(service, project)
      assert.equal(await shown(service, 'e', project), often(1))
      // A contact whose events are gone takes nothing out of the counts any more.
      const answer = await service.call('DELETE', `/contacts/${ada}`, { key: project.secret })
      assert.is(answer.status, 204)
      assert.equal(await shown(service, 'e', project), often(1))
    })
  },
)
