import * as assert from 'uvu/assert'
import { deleteEventsJob } from '../../../src/features/events/delete-events.job.ts'
import { MINUTE } from '../../support/clock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Project, type Service, startService, until } from '../../support/service.ts'
import { whileHeld } from '../../support/while-held.ts'
import { workThrough } from '../../support/work.ts'
import { countsAgree, whileOpen } from '../event-statistics/event-counts-support.ts'
import { DAY, got, newContacts, record, recount, usedInSegment } from './event-support.ts'

const MUTATION = 'mutation ($eventName: String!) { deleteEvents(eventName: $eventName) { deletedCount } }'

async function remove(service: Service, name: string, project: Project): Promise<Body> {
  const path = `/${encodeURIComponent(name)}`
  const { status, text, body } = await service.as(project).delete(`/events${path}`)
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

scenario('DELETE /events?name=', start, (test) => {
  test('takes the names that are parts of paths, and needs one', async (service) => {
    const project = await service.newProject()
    const names = ['stats', 'names', 'track', 'contact', 'usage']
    for (const name of names) await happened(service, name, 2, project)
    const ask = (path: string) => service.as(project).delete(`/events${path}`)
    for (const path of ['', '?name=', '?eventname=stats'])
      assert.is((await ask(path)).status, path === '?name=' ? 200 : 400)
    for (const name of names) {
      const usage = await got(service, `/${name}/usage`, project)
      assert.is(usage.totalCount, 2, name)
      const answer = await ask(`?name=${name}`)
      assert.equal([answer.status, answer.body], [200, { deletedCount: 2 }], name)
      assert.is(answer.headers.get('x-mailwright-warning'), null)
    }
    assert.equal((await got(service, '', project)).data, [])
  })
})

scenario('DELETE /events/:eventName', start, (test) => {
  test('deletes every event of the name, counted or not, and nothing else', async (service) => {
    const [project, other] = [await service.newProject(), await service.newProject()]
    for (const one of [project, other]) {
      await happened(service, 'e', 4, one, 2 * MINUTE)
      await happened(service, 'E', 2, one)
      await recount(service, one)
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
    const { body } = await service.as(project).graphql(MUTATION, { eventName: 'a/b c' })
    assert.equal(body.data, { deleteEvents: { deletedCount: 2 } })
    await happened(service, 'a/b c', 1, project)
    assert.equal(await remove(service, 'a/b c', project), { deletedCount: 1 })
  })

  test('is refused while something refers to the name', async (service) => {
    const project = await service.newProject()
    await happened(service, 'e', 1, project)
    const { id } = await usedInSegment(service, 'e', project)
    assertRefused(await service.as(project).delete('/events/e'), 409, 'CONFLICT')
    const answer = await service.as(project).graphql(MUTATION, { eventName: 'e' })
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
        await service.as(project).delete(`/events/${name}`),
        422,
        'VALIDATION_ERROR',
      )
      assert.equal([error.errors[0].field, error.errors[0].code], ['eventName', 'reserved_event'])
      const answer = await service.as(project).graphql(MUTATION, { eventName: name })
      assertGraphQLRefused(answer, 422, 'VALIDATION_ERROR')
      assert.equal(await shown(service, name, project), often(1))
    }
  })

  test('needs the secret key', async (service) => {
    const answer = await service.as(service.project.public).delete('/events/e')
    assertRefused(answer, 401, 'INVALID_API_KEY')
  })

  test('leaves no count behind when days are settled at the same time', async (service) => {
    const project = await service.newProject()
    await happened(service, 'e', 3, project, 5 * DAY)
    await recount(service, project)
    await happened(service, 'e', 3, project)
    service.clock.advance(4 * DAY)
    const held = 'select from event_recounts where project_id = $1 for update'
    await whileHeld(service, held, [project.id], () =>
      Promise.all([recount(service, project), remove(service, 'e', project)]),
    )
    assert.equal(await shown(service, 'e', project), nothing)
    assert.ok(await countsAgree(service, project))
  })
})

const MANY = 12_000
/** More than one commit takes, all in the last minutes. */
const MANY_YOUNG = 24_000

scenario('The deletion of many events', start, (test) => {
  test('does not take all at once that happened in the last minutes', async (service) => {
    const project = await service.newProject()
    await happened(service, 'e', MANY_YOUNG, project, 2 * MINUTE)
    await whileOpen(service, async (other) => {
      await other.query(
        `select from events where project_id = $1 and name = 'e' order by created_at limit 1 for update`,
        [project.id],
      )
      assert.equal(await remove(service, 'e', project), { deletedCount: MANY_YOUNG })
      assert.equal(await shown(service, 'e', project), nothing)
      const [contactId] = await newContacts(service, 1, project)
      await record(service, [{ name: 'e', contactId, at: service.clock.now() }], project)
      await other.commit()
    })
    await workThrough(service, deleteEventsJob)
    assert.equal(await shown(service, 'e', project), often(1))
  })

  test('goes on in the background with what there was, and counts none of it any more', async (service) => {
    const project = await service.newProject()
    await happened(service, 'e', MANY, project, 5 * DAY)
    await recount(service, project)
    const condition = { logic: 'AND', groups: [{ filters: [{ field: 'event.e', operator: 'triggered' }] }] }
    const nameIt = () => service.as(project).post('/segments', { name: 'Did it', type: 'DYNAMIC', condition })
    await whileOpen(service, async (other) => {
      await other.query(
        `select from events where project_id = $1 and name = 'e' order by created_at limit 1 for update`,
        [project.id],
      )
      assert.equal(await remove(service, 'e', project), { deletedCount: MANY })
      assert.equal(await shown(service, 'e', project), nothing)
      const ahead = (milliseconds: number) => new Date(service.clock.now().getTime() + milliseconds)
      const [contactId] = await newContacts(service, 1, project)
      const later = [-MINUTE, 0, MINUTE].map((skew) => ({ name: 'e', contactId, at: ahead(skew) }))
      await record(service, later, project)
      assert.equal((await got(service, '/e/usage', project)).totalCount, 3)
      assertRefused(await nameIt(), 409, 'CONFLICT')
      await other.commit()
    })
    await workThrough(service, deleteEventsJob)
    assert.equal(await shown(service, 'e', project), often(3))
    assert.is((await nameIt()).status, 201)
    service.clock.advance(6 * DAY)
    await recount(service, project)
    assert.equal(await shown(service, 'e', project), often(3))
    assert.ok(await countsAgree(service, project))
  })

  test('is right with events of processes whose clocks are off', async (service) => {
    const project = await service.newProject()
    const [contactId] = await newContacts(service, 1, project)
    const now = service.clock.now().getTime()
    const happened = (skew: number) => ({ name: 'e', contactId, at: new Date(now + skew) })
    await record(service, [-2 * MINUTE, -MINUTE, 0, MINUTE, 2 * MINUTE, DAY].map(happened), project)
    assert.equal(await remove(service, 'e', project), { deletedCount: 6 })
    assert.equal(await shown(service, 'e', project), nothing)
  })
})

scenario(
  'The work that deletes events',
  () => startService({ ROLES: 'http,worker' }),
  (test) => {
    test('does what a request has left', async (service) => {
      const project = await service.newProject()
      const ada = await happened(service, 'e', 3, project, DAY)
      await service.sql(`insert into event_deletions values ($1, 'e', now())`, [project.id])
      await until('they are deleted', async () => {
        const left = await service.sql('select from events where project_id = $1', [project.id])
        const deletions = await service.sql('select from event_deletions where project_id = $1', [project.id])
        return left.length + deletions.length === 0
      })
      // A contact whose events are gone takes nothing out of the counts any more.
      const answer = await service.as(project).delete(`/contacts/${ada}`)
      assert.is(answer.status, 204)
      assert.equal(await shown(service, 'e', project), nothing)
    })
  },
)
