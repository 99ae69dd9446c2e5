import * as assert from 'uvu/assert'
import { systemOf } from '../../src/admission/access.ts'
import { createCtx } from '../../src/ctx.ts'
import { hold } from '../support/held-lock.ts'
import { assertGraphQLRefused } from '../support/refusals.ts'
import { scenario } from '../support/scenario.ts'
import { type Answer, type Project, type Service, startService } from '../support/service.ts'

const PREVIEW = 'query ($input: PreviewAudienceInput!) { previewAudience(input: $input) { matching } }'
/** More than all connections of the process. */
const AT_ONCE = 30

const preview = ({ as }: Service, { secret }: Project): Promise<Answer> =>
  as(secret).graphql(PREVIEW, { input: { all: true } })

const previews = (service: Service, project: Project) =>
  Promise.all(Array.from({ length: AT_ONCE }, () => preview(service, project)))

scenario(
  'Long reads of one project',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('take one connection, and wait for no longer than a few seconds', async (service) => {
      const { project, newProject, as, call, databaseUrl } = service
      const other = await newProject()
      // Previews look suppressions up: they take as long as this is held.
      const held = await hold(databaseUrl, 'lock table suppressions in access exclusive mode')
      const heavy = previews(service, project)
      await held.waiters(1)
      const { secret: key } = other
      const body = { email: 'ada@example.org', event: 'seen', data: { plan: 'pro' } }
      const answers = await Promise.all([
        as(other.public).post('/v1/track', body),
        as(project.public).post('/v1/track', body),
        as(key).get('/contacts?search=ada'),
        as(key).get('/contacts/fields'),
        as(key).get('/events/names'),
        as(key).get('/templates'),
        call('GET', '/health/ready'),
      ])
      assert.equal(
        answers.map(({ status }) => status),
        answers.map(() => 200),
      )
      const refused = await heavy
      await held.release()
      for (const answer of refused) {
        assertGraphQLRefused(answer, 503, 'SERVICE_UNAVAILABLE')
        assert.ok(Number(answer.headers.get('retry-after')) > 0)
        assert.match(answer.text, /Another large read of this project|The database took too long/)
      }
      assert.is((await preview(service, project)).body.data.previewAudience.matching, 1)
    })

    test('of two projects leave a place for a third in turn', async (service) => {
      const { project, newProject, databaseUrl } = service
      const [second, third] = [await newProject(), await newProject()]
      const held = await hold(databaseUrl, 'lock table suppressions in access exclusive mode')
      const heavy = [previews(service, project), previews(service, second)]
      await held.waiters(2)
      const waiting = preview(service, third)
      await held.release()
      assert.is((await waiting).body.data.previewAudience.matching, 0)
      for (const answer of (await Promise.all(heavy)).flat()) assert.is(answer.body.errors, undefined)
    })
  },
)

scenario(
  'A process without background work',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('has no connections for it, and closes those that it made for a check', async (service) => {
      const { worker, health } = service.app.services.database
      assert.is((await service.call('GET', '/health/ready')).status, 200)
      assert.equal([worker.pool.totalCount, health.totalCount], [0, 1])
    })
  },
)

scenario('Requests that hold all their connections', startService, (test) => {
  test('leave background work and the readiness check theirs', async (service) => {
    const { project, as, call, databaseUrl, app } = service
    const held = await hold(databaseUrl, 'lock table templates in access exclusive mode')
    const requests = Array.from({ length: AT_ONCE }, () => as(project).get('/templates'))
    await held.waiters(app.config.databasePoolSize)
    assert.is((await call('GET', '/health/ready')).status, 200)
    const work = createCtx(app.services, systemOf(project.id), 'test', { connections: 'worker' })
    const names = await work.atomically(async (tx) => tx.db.project.findMany({ select: { name: true } }))
    assert.is(names.length, 1)
    assert.is(await work.db.contact.count(), 0)
    await held.release()
    for (const { status } of await Promise.all(requests)) assert.is(status, 200)
  })
})
