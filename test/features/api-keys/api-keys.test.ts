import * as assert from 'uvu/assert'
import { type BrowserSession, member } from '../../support/browser-session.ts'
import { HOUR } from '../../support/clock.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Project, type Service, startService, until } from '../../support/service.ts'

const start = () => startService({ ROLES: 'http' })

const CREATE = `mutation ($id: ID!, $input: CreateApiKeyInput!) { createApiKey(projectId: $id, input: $input) {
  key apiKey { id name scope lastFour expiresAt lastUsedAt } } }`
const LIST = `query ($id: ID!) { apiKeys(projectId: $id) { id name scope lastFour expiresAt lastUsedAt } }`
const ROTATE = `mutation ($id: ID!, $key: ID!, $hours: Int) {
  rotateApiKey(projectId: $id, id: $key, input: { overlapHours: $hours }) { key apiKey { id name scope } } }`
const REVOKE = `mutation ($id: ID!, $key: ID!) { revokeApiKey(projectId: $id, id: $key) { id } }`

async function made(admin: BrowserSession, { id }: Project, input: object): Promise<Body> {
  const { body, text } = await admin.graphql(CREATE, { id, input })
  assert.ok(body.data, text)
  return body.data.createApiKey
}

/** The statuses of what keys are used for. */
async function uses({ as }: Service, project: Project, key: string): Promise<Record<string, number>> {
  const caller = as(key)
  const mail = { to: 'ada@example.org', from: `hi@${project.domain}`, subject: 'Hi', body: '<p>Hi</p>' }
  const [read, write, send, track] = await Promise.all([
    caller.get('/contacts'),
    caller.post('/contacts', { email: 'ada@example.org' }),
    caller.post('/v1/send', mail),
    caller.post('/v1/track', { email: 'ada@example.org', event: 'opened door' }),
  ])
  return { read: read.status, write: write.status, send: send.status, track: track.status }
}

const NOTHING = { read: 401, write: 401, send: 401, track: 401 }

scenario('Further keys of a project', start, (test) => {
  test('may do what their scope says, and nothing else', async (service) => {
    const project = await service.newProject()
    const admin = await member(service, 'ADMIN', project)
    await service.as(project).post('/contacts', { email: 'ada@example.org' })
    const allowed = {
      FULL: { ...NOTHING, read: 200, write: 200, send: 200 },
      READ: { ...NOTHING, read: 200 },
      SEND: { ...NOTHING, send: 200 },
      TRACK: { ...NOTHING, track: 200 },
    }
    for (const [scope, expected] of Object.entries(allowed)) {
      const { key } = await made(admin, project, { name: scope, scope })
      assert.equal(await uses(service, project, key), expected, scope)
      const managed = await service.as(key).graphql(LIST, { id: project.id })
      assert.is(managed.body.errors[0].extensions.statusCode, 401)
      const batched = 'mutation { deleteContact(id: "01990000-0000-7000-8000-000000000001") }'
      const { extensions } = (await service.as(key).graphql(batched)).body.errors[0]
      assert.is(extensions.statusCode, scope === 'FULL' ? 404 : 401, scope)
    }
  })

  test('are shown once, kept as a hash, and listed by their last characters', async (service) => {
    const project = await service.newProject()
    const admin = await member(service, 'ADMIN', project)
    const { key, apiKey } = await made(admin, project, { name: 'Shop', scope: 'READ' })
    assert.match(key, /^ak_[0-9a-f]{64}$/)
    const [listed] = (await admin.graphql(LIST, { id: project.id })).body.data.apiKeys
    assert.equal(listed, apiKey)
    assert.equal([listed.lastFour, listed.lastUsedAt], [key.slice(-4), null])
    const [row] = await service.sql('select api_keys::text as row from api_keys where id = $1', [apiKey.id])
    assert.not.match(row?.row, key.slice(3))
    await service.as(key).get('/contacts')
    await until('its use to be noted', async () => {
      const [used] = (await admin.graphql(LIST, { id: project.id })).body.data.apiKeys
      return used.lastUsedAt
    })
  })

  test('stop at once when they are revoked, also where a process remembers them', async (service) => {
    const project = await service.newProject()
    const admin = await member(service, 'ADMIN', project)
    for (const scope of ['FULL', 'SEND', 'TRACK']) {
      const { key, apiKey } = await made(admin, project, { name: 'x', scope })
      await uses(service, project, key)
      const revoked = await admin.graphql(REVOKE, { id: project.id, key: apiKey.id })
      assert.is(revoked.body.data.revokeApiKey.id, apiKey.id)
      assert.equal(await uses(service, project, key), NOTHING, scope)
    }
    assert.equal((await admin.graphql(LIST, { id: project.id })).body.data.apiKeys, [])
  })

  test('end by themselves, and overlap when they are rotated', async (service) => {
    const project = await service.newProject()
    const admin = await member(service, 'ADMIN', project)
    const expiresAt = new Date(service.clock.now().getTime() + HOUR).toISOString()
    const short = await made(admin, project, { name: 'short', scope: 'READ', expiresAt })
    const long = await made(admin, project, { name: 'long', scope: 'TRACK' })
    const rotated = await admin.graphql(ROTATE, { id: project.id, key: long.apiKey.id, hours: 2 })
    const next = rotated.body.data.rotateApiKey
    assert.equal([next.apiKey.name, next.apiKey.scope], ['long', 'TRACK'])
    assert.is((await uses(service, project, short.key)).read, 200)
    for (const { key } of [long, next]) assert.is((await uses(service, project, key)).track, 200)
    service.clock.advance(HOUR)
    assert.equal(await uses(service, project, short.key), NOTHING)
    assert.is((await uses(service, project, long.key)).track, 200)
    service.clock.advance(HOUR)
    assert.equal(await uses(service, project, long.key), NOTHING)
    assert.is((await uses(service, project, next.key)).track, 200)
    const over = await admin.graphql(CREATE, {
      id: project.id,
      input: { name: 'x', scope: 'READ', expiresAt: '2020-01-01T00:00:00Z' },
    })
    assert.is(over.body.errors[0].extensions.statusCode, 422)
  })

  test('are managed by administrators of the project alone, and are at most fifty', async (service) => {
    const [project, other] = [await service.newProject(), await service.newProject()]
    const [admin, worker] = [
      await member(service, 'ADMIN', project),
      await member(service, 'MEMBER', project),
    ]
    const input = { name: 'x', scope: 'FULL' }
    const codeOf = async (who: BrowserSession, { id }: Project) =>
      (await who.graphql(CREATE, { id, input })).body.errors[0].extensions.code
    assert.is(await codeOf(worker, project), 'FORBIDDEN')
    assert.is(await codeOf(admin, other), 'RESOURCE_NOT_FOUND')
    await service.sql(
      `insert into api_keys (project_id, id, name, scope, hash, last_four, created_at)
       select $1, gen_random_uuid(), 'x', 'READ', convert_to('k' || n, 'UTF8'), 'abcd', now() from generate_series(1, 50) n`,
      [project.id],
    )
    assert.is(await codeOf(admin, project), 'CONFLICT')
  })
})
