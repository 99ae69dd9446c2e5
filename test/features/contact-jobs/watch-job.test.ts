import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import { countStatements } from '../../support/count-statements.ts'
import { followStream } from '../../support/event-stream.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Service, startService, until, withProject } from '../../support/service.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

const PROGRESS = `subscription ($id: ID!) {
  bulkProgress(jobId: $id) { id state progress failedReason result { totalRequested successCount } }
}`

const follow = (
  service: Service,
  key: string | null,
  id: string,
  { query = PROGRESS, accept }: { query?: string; accept?: string } = {},
) => followStream(service, key, id, { query, accept })

/** As many subscriptions as a project may have, and some. */
const MORE_THAN_MAY_BE_OPEN = 25

/** A bulk job of one unknown contact, which no worker takes. */
async function newJob(service: Service): Promise<string> {
  const { body } = await service
    .as()
    .post('/contacts/bulk-delete', { contactIds: ['0197a3c2-5e00-7000-8000-4d61696c7772'] })
  return body.jobId
}

const advance = (service: Service, id: string, state: string, progress: number) =>
  service.sql('update contact_jobs set state = $2::job_state, progress = $3 where id = $1', [
    id,
    state,
    progress,
  ])

scenario('Following a job over server-sent events', start, (test) => {
  test('tells the state now, every change, and the end', async (service) => {
    const id = await newJob(service)
    const stream = await follow(service, service.project.secret, id)
    assert.match(stream.type ?? '', /^text\/event-stream/)
    assert.equal((await stream.next()).data.bulkProgress, {
      id,
      state: 'waiting',
      progress: 0,
      failedReason: null,
      result: { totalRequested: 0, successCount: 0 },
    })
    await advance(service, id, 'active', 40)
    assert.is((await stream.next()).data.bulkProgress.progress, 40)
    await advance(service, id, 'completed', 100)
    assert.is((await stream.next()).data.bulkProgress.state, 'completed')
    assert.is(await stream.next(), null)
  })

  test('tells of a job that has ended and ends', async (service) => {
    const id = await newJob(service)
    await service.as().graphql('mutation ($id: ID!) { cancelContactJob(jobId: $id) { state } }', { id })
    const stream = await follow(service, service.project.secret, id)
    const { state, failedReason } = (await stream.next()).data.bulkProgress
    assert.equal({ state, failedReason }, { state: 'failed', failedReason: 'Cancelled.' })
    assert.is(await stream.next(), null)
  })

  test('refuses other projects, other kinds of jobs and public keys, with the status of the reason', async (service) => {
    const id = await newJob(service)
    const other = await service.newProject()
    const asImport = 'subscription ($id: ID!) { importProgress(jobId: $id) { id } }'
    for (const [key, query, status, code] of [
      [other.secret, PROGRESS, 404, 'RESOURCE_NOT_FOUND'],
      [service.project.public, PROGRESS, 401, 'INVALID_API_KEY'],
      [null, PROGRESS, 401, 'MISSING_AUTH'],
      [service.project.secret, asImport, 404, 'RESOURCE_NOT_FOUND'],
      [service.project.secret, 'subscription { nothing }', 400, 'BAD_REQUEST'],
      [`sk_${'0'.repeat(64)}`, PROGRESS, 401, 'INVALID_API_KEY'],
    ] as const) {
      for (const accept of ['text/event-stream', '*/*']) {
        if (accept === '*/*' && code === 'BAD_REQUEST') continue
        const { response } = await follow(service, key, id, { query, accept })
        const requestId = response.headers.get('x-request-id')
        const text = await response.text()
        assert.is(response.status, status, text)
        const { errors } = JSON.parse(/^(?:data: )?({.*})$/m.exec(text)?.[1] ?? '')
        assert.is(errors[0].extensions.code, code)
        assert.is(errors[0].extensions.statusCode, status)
        assert.ok(requestId)
        assert.is(errors[0].extensions.requestId, requestId)
      }
    }
  })

  test('is not for clients that take no events, and counts none of them', async (service) => {
    const id = await newJob(service)
    for (let count = 0; count < 25; count += 1) {
      const { response } = await follow(service, service.project.secret, id, { accept: 'image/png' })
      assert.is(response.status, 400)
      assert.match(await response.text(), /server-sent events/)
    }
  })

  test('ends with an error when the key is rotated', async (service) => {
    const { secret, id: projectId } = await service.newProject()
    const own = withProject(service, { ...service.project, secret })
    const id = await newJob(own)
    const stream = await follow(service, secret, id)
    assert.is((await stream.next()).data.bulkProgress.state, 'waiting')
    const hash = createHash('sha256').update('another').digest()
    await service.sql('update projects set secret_hash = $2 where id = $1', [projectId, hash])
    const { code, requestId } = (await stream.next()).errors[0].extensions
    assert.is(code, 'INVALID_API_KEY')
    assert.is(requestId, stream.response.headers.get('x-request-id'))
    assert.is(await stream.next(), null)
  })

  test('goes on in a disabled project, which may still be read', async (service) => {
    const project = await service.newProject()
    const id = await newJob(withProject(service, project))
    const stream = await follow(service, project.secret, id)
    await stream.next()
    await service.sql('update projects set disabled = true where id = $1', [project.id])
    await advance(service, id, 'completed', 100)
    assert.is((await stream.next()).data.bulkProgress.state, 'completed')
  })

  test('is possible for 20 at a time of a project, whatever others do', async (service) => {
    const [project, other] = [await service.newProject(), await service.newProject()]
    const id = await newJob(withProject(service, project))
    const streams = await Promise.all(Array.from({ length: 20 }, () => follow(service, project.secret, id)))
    for (const stream of streams) await stream.next()
    const { response: refused } = await follow(service, project.secret, id)
    assert.is(refused.status, 503)
    assert.ok(refused.headers.get('retry-after'))
    assert.match(await refused.text(), /This project has 20 subscriptions open/)
    const others = await follow(service, other.secret, await newJob(withProject(service, other)))
    assert.is((await others.next()).data.bulkProgress.state, 'waiting')
    await advance(service, id, 'completed', 100)
    for (const stream of streams) while (await stream.next());
    const again = await follow(service, project.secret, id)
    assert.is((await again.next()).data.bulkProgress.state, 'completed')
    others.leave()
  })

  test('is not open for one who asks for its head only', async (service) => {
    const { secret: key } = service.project
    const id = await newJob(service)
    const asked = new URLSearchParams({ query: PROGRESS, variables: JSON.stringify({ id }) })
    const headers = { accept: 'text/event-stream' }
    for (let count = 0; count < MORE_THAN_MAY_BE_OPEN; count += 1) {
      assert.is((await service.as(key).call('HEAD', `/graphql?${asked}`, undefined, { headers })).status, 200)
    }
    const following = await follow(service, key, id)
    assert.is((await following.next()).data.bulkProgress.id, id)
    following.leave()
  })

  test('stops looking when the client leaves', async (service) => {
    // The key is asked for at every look.
    await countStatements(service, async (looks) => {
      const stream = await follow(service, service.project.secret, await newJob(service))
      await stream.next()
      const first = looks()
      await until('more looks', () => looks() > first)
      stream.leave()
      await until('nobody looks at the job any more', async () => {
        const before = looks()
        // That nothing happens can only be seen by waiting: three looks would fall into this time.
        await new Promise((resolve) => setTimeout(resolve, 1_000))
        return looks() === before
      })
    })
  })
})

scenario(
  'A process that stops',
  () => startService({ ROLES: 'http' }, { alone: true }),
  (test) => {
    test('does not wait for those who follow a job', async (service) => {
      const stream = await follow(service, service.project.secret, await newJob(service))
      await stream.next()
      const began = performance.now()
      await service.app.stop()
      assert.ok(performance.now() - began < 5_000)
    })
  },
)
