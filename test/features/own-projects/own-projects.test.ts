import * as assert from 'uvu/assert'
import { SYSTEM } from '../../../src/admission/access.ts'
import { createCtx } from '../../../src/ctx.ts'
import { rotateKeys } from '../../../src/features/projects/projects.ts'
import { join, member, signedUp } from '../../support/browser-session.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, startService } from '../../support/service.ts'

const start = () => startService({ ROLES: 'http' })

const PROJECTS = '/users/@me/projects'

scenario('Projects of a user', start, (test) => {
  test('are created with their keys, listed, changed and deleted', async (service) => {
    const owner = await signedUp(service)
    assert.equal((await owner.call('GET', PROJECTS)).body, [])
    const created = await owner.call('POST', PROJECTS, { name: ' My shop ' })
    assert.is(created.status, 201)
    const { id, secret, public: publicKey, ...rest } = created.body
    assert.match(secret, /^sk_[0-9a-f]{64}$/)
    assert.match(publicKey, /^pk_[0-9a-f]{64}$/)
    assert.equal([rest.name, rest.role, rest.disabled, rest.language], ['My shop', 'OWNER', false, 'en'])
    assert.is(rest.secretPreview, `sk_…${secret.slice(-4)}`)
    assert.is((await service.as({ secret }).get('/contacts')).status, 200)
    const track = () => service.as(publicKey).post('/v1/track', { email: 'ada@example.org', event: 'x' })
    assert.is((await track()).status, 200)
    const [listed] = (await owner.call('GET', PROJECTS)).body
    assert.equal([listed.id, listed.public, listed.role], [id, publicKey, 'OWNER'])
    assert.not('secret' in listed)

    const settings = {
      name: 'Our shop',
      tracking: 'MARKETING_ONLY',
      language: 'de',
      sendRatePerSecond: 5,
      footerText: 'Our shop\n1 High Street',
    }
    const changed = await owner.call('PATCH', `${PROJECTS}/${id}`, settings)
    assert.is(changed.status, 200, changed.text)
    for (const [name, value] of Object.entries(settings)) assert.equal(changed.body[name], value)
    const cleared = await owner.call('PATCH', `${PROJECTS}/${id}`, {
      sendRatePerSecond: null,
      footerText: null,
    })
    assert.equal(
      [cleared.body.sendRatePerSecond, cleared.body.footerText, cleared.body.name],
      [null, null, 'Our shop'],
    )
    for (const bad of [{ name: '' }, { tracking: 'SOME' }, { language: 'tlh' }, { sendRatePerSecond: -1 }]) {
      assert.is((await owner.call('PATCH', `${PROJECTS}/${id}`, bad)).status, 422, JSON.stringify(bad))
    }

    const rotated = await owner.call('POST', `${PROJECTS}/${id}/regenerate-keys`)
    assert.is(rotated.status, 200)
    assert.equal(Object.keys(rotated.body).toSorted(), ['public', 'secret'])
    assert.is((await track()).status, 401)
    assert.is((await service.as({ secret }).get('/contacts')).status, 401)
    assert.is((await service.as({ secret: rotated.body.secret }).get('/contacts')).status, 200)

    assert.equal((await owner.call('POST', `${PROJECTS}/${id}/reset`)).body, { success: true })
    assert.equal((await service.as({ secret: rotated.body.secret }).get('/contacts')).body.data, [])

    assert.is((await owner.call('DELETE', `${PROJECTS}/${id}`)).status, 204)
    assert.equal((await owner.call('GET', PROJECTS)).body, [])
    assert.is((await owner.call('PATCH', `${PROJECTS}/${id}`, { name: 'x' })).status, 404)
    assert.is((await service.as({ secret: rotated.body.secret }).get('/contacts')).status, 401)
  })

  test('take the role that the table says', async (service) => {
    const project = await service.newProject()
    const [admin, worker, stranger] = await Promise.all([
      member(service, 'ADMIN', project),
      member(service, 'MEMBER', project),
      signedUp(service),
    ])
    const path = `${PROJECTS}/${project.id}`
    for (const [method, tail, body] of [
      ['PATCH', '', { name: 'x' }],
      ['POST', '/regenerate-keys', undefined],
      ['POST', '/reset', undefined],
      ['DELETE', '', undefined],
    ] as const) {
      assert.is((await worker.call(method, `${path}${tail}`, body)).status, 403, `${method} ${tail}`)
      assert.is((await stranger.call(method, `${path}${tail}`, body)).status, 404, `${method} ${tail}`)
      assert.is((await service.as(project).call(method, `${path}${tail}`, body)).status, 401)
    }
    assert.is((await admin.call('PATCH', path, { name: 'x' })).status, 200)
    assert.is((await admin.call('DELETE', path)).status, 403)
    assert.is((await worker.call('GET', `/projects/${project.id}/setup-state`)).status, 200)
  })

  test('answer over GraphQL as over REST', async (service) => {
    const owner = await signedUp(service)
    const create = 'mutation { createProject(input: { name: "Two doors" }) { id secret public role } }'
    const { body } = await owner.graphql(create)
    const { id, role } = body.data.createProject
    assert.is(role, 'OWNER')
    const read = await owner.graphql('query ($id: ID!) { projects { id } project(id: $id) { name role } }', {
      id,
    })
    assert.equal(read.body.data, { projects: [{ id }], project: { name: 'Two doors', role: 'OWNER' } })
    const gone = await owner.graphql('mutation ($id: ID!) { deleteProject(id: $id) }', { id })
    assert.equal(gone.body.data, { deleteProject: true })
    const [row] = await service.sql('select from projects where id = $1', [id])
    assert.is(row, undefined)
  })

  test('the state of the setup is told to keys and members', async (service) => {
    const project = await service.newProject()
    const path = `/projects/${project.id}/setup-state`
    const empty = await service.as(project).get(path)
    assert.equal(empty.body, {
      hasVerifiedDomain: true,
      contactCount: 0,
      hasSentEmail: false,
      hasEnabledWorkflow: false,
      lastCampaignSentAt: null,
    })
    await service.as(project).post('/contacts', { email: 'ada@example.org' })
    await service.sql(
      `insert into workflows (project_id, id, name, enabled, created_at, updated_at)
       values ($1, gen_random_uuid(), 'w', true, now(), now())`,
      [project.id],
    )
    await service.sql(
      `insert into events (project_id, id, contact_id, name, created_at)
       select project_id, gen_random_uuid(), id, 'email.sent', now() from contacts where project_id = $1`,
      [project.id],
    )
    const owner = await member(service, 'OWNER', project)
    const { body } = await owner.call('GET', path)
    assert.equal(body, { ...empty.body, contactCount: 1, hasSentEmail: true, hasEnabledWorkflow: true })
    const other = await service.newProject()
    assert.is((await service.as(other).get(path)).status, 404)
  })

  test('one user owns no more than a hundred', async (service) => {
    const owner = await signedUp(service)
    await service.sql(
      `with made as (insert into projects (id, name, public_key, public_key_hash, secret_hash, secret_last_four,
         created_at, updated_at)
       select gen_random_uuid(), 'p', n::text, convert_to('p' || n, 'UTF8'), convert_to('s' || n, 'UTF8'), 'abcd', now(),
         now() from generate_series(1, 99) n returning id)
       insert into members (project_id, user_id, role, created_at)
       select made.id, users.id, 'OWNER', now() from made, users where email = $1`,
      [owner.email],
    )
    const answers = await Promise.all([1, 2].map(() => owner.call('POST', PROJECTS, { name: 'one more' })))
    assert.equal(answers.map(({ status }) => status).toSorted(), [201, 409])
  })

  test('changes with a key and on the command line are in the audit log, without secrets', async (service) => {
    const project = await service.newProject()
    const owner = await member(service, 'OWNER', project)
    const { body: domain } = await service.as(project).post('/domains', { domain: 'audited.example' })
    await service.as(project).delete(`/domains/${domain.id}`)
    const hook = `mutation { createWebhookEndpoint(input: { url: "https://hooks.example/x", eventNames: ["email.*"] }) {
      secret } }`
    const { body: hooked } = await service.as(project).graphql(hook)
    const { secret } = await rotateKeys(createCtx(service.app.services, SYSTEM, 'cli'), project.id)
    const query =
      'query ($id: ID!) { auditLog(projectId: $id) { data { actorKind actor action target changes } } }'
    const { body } = await owner.graphql(query, { id: project.id })
    const key = { actorKind: 'KEY', actor: project.secret.slice(-4) }
    const told = body.data.auditLog.data.slice(0, 4)
    assert.equal(
      told.map(({ changes: _changes, ...entry }: Body) => entry),
      [
        { actorKind: 'SYSTEM', actor: 'cli', action: 'keys.rotate', target: null },
        { ...key, action: 'webhook.create', target: 'https://hooks.example/x' },
        { ...key, action: 'domain.delete', target: 'audited.example' },
        { ...key, action: 'domain.add', target: 'audited.example' },
      ],
    )
    const kept = await service.sql('select audit_entries::text as row from audit_entries')
    const rows = kept.map(({ row }) => row).join()
    const secrets = [secret, project.secret, hooked.data.createWebhookEndpoint.secret]
    assert.not(secrets.some((value) => rows.includes(value)))
  })

  test('the own words of a project are in the footer of marketing mail', async (service) => {
    const project = await service.newProject()
    const owner = await signedUp(service)
    await join(service, owner, project, 'OWNER')
    await owner.call('PATCH', `${PROJECTS}/${project.id}`, { footerText: 'Shop & Co <Ltd>\n1 High Street' })
    const preview = `query { previewTemplate(input: { subject: "Hi", body: "<p>Hello</p>", type: MARKETING }) {
      html text } }`
    const { body } = await service.as(project).graphql(preview)
    const { html, text } = Object.values(body.data)[0] as { html: string; text: string }
    assert.match(html, /Shop &amp; Co &lt;Ltd&gt;<br>\s*1 High Street<br>/)
    assert.match(text, /Shop & Co <Ltd>\s+1 High Street/)
  })
})
