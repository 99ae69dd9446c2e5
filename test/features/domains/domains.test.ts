import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Project, type Service, startService } from '../../support/service.ts'
import { fieldErrors, send, withoutTrace } from '../sending/send-support.ts'
import { chain } from '../workflows/workflow-support.ts'

const start = () => startService({ ROLES: 'http' })

const newName = () => `n${randomUUID().slice(0, 8)}.example`

const add = (service: Service, domain: unknown, project: Project = service.project) =>
  service.as(project).post('/domains', { domain })

const remove = (service: Service, id: string, project: Project = service.project) =>
  service.as(project).delete(`/domains/${id}`)

const BAD: [what: string, domain: unknown, code: string][] = [
  ['nothing', undefined, 'required'],
  ['null', null, 'invalid_type'],
  ['a number', 5, 'invalid_type'],
  ['an empty text', '', 'invalid_string'],
  ['a name without a dot', 'localhost', 'invalid_string'],
  ['an IP address', '127.0.0.1', 'invalid_string'],
  ['a URL', 'https://example.org', 'invalid_string'],
  ['a path', 'example.org/mail', 'invalid_string'],
  ['an address', 'hello@example.org', 'invalid_string'],
  ['a wildcard', '*.example.org', 'invalid_string'],
  ['an underscore', 'my_domain.example', 'invalid_string'],
  ['an empty label', 'a..example', 'invalid_string'],
  ['a label that ends with a hyphen', 'a-.example', 'invalid_string'],
  ['a label of 64 characters', `${'a'.repeat(64)}.example`, 'invalid_string'],
  ['more than 253 characters', `${'a.'.repeat(127)}example`, 'invalid_string'],
  ['a megabyte', 'ü'.repeat(400_000), 'invalid_string'],
  ['a line break', 'example.org\r\nx', 'invalid_string'],
  ['a NUL', 'exa\0mple.org', 'invalid_string'],
  ['broken punycode', 'xn--zz--.example', 'invalid_string'],
]

scenario('POST /domains', start, (test) => {
  test('answers with the domain and the DNS records to publish', async (service) => {
    const domain = newName()
    const { status, body } = await add(service, ` ${domain.toUpperCase()} `)
    assert.is(status, 201)
    assert.is(body.domain, domain)
    assert.is(body.projectId, service.project.id)
    assert.equal(
      body.records.map(({ type, name, purpose, required }: Body) => [type, name, purpose, required]),
      [
        ['TXT', `mailwright._domainkey.${domain}`, 'DKIM', true],
        ['TXT', `_dmarc.${domain}`, 'DMARC', false],
      ],
    )
    assert.match(body.records[0].value, /^v=DKIM1; k=rsa; p=[A-Za-z0-9+/=]{300,}$/)
    assert.not.ok('dkimPrivateKey' in body)
  })

  test('counts it as verified with the mailbox provider, and mail can come from it', async (service) => {
    const domain = newName()
    const { body } = await add(service, domain)
    assert.equal([body.status, body.verified], ['VERIFIED', true])
    assert.is(body.verifiedAt, body.createdAt)
    assert.is((await send(service, { from: `hello@${domain}` })).status, 200)
  })

  test('keeps an international domain in its ASCII form', async (service) => {
    const { status, body } = await add(service, `Bücher-${newName()}`)
    assert.is(status, 201)
    assert.match(body.domain, /^xn--bcher-n[0-9a-f]{8}-[a-z0-9]+\.example$/)
  })

  for (const [what, domain, code] of BAD) {
    test(`refuses ${what}`, async (service) => {
      const answer = await withoutTrace(service, () => add(service, domain))
      assert.equal(fieldErrors(answer), [['domain', code]])
    })
  }

  test('is a conflict for a domain that the project has', async (service) => {
    const domain = newName()
    await add(service, domain)
    assertRefused(await withoutTrace(service, () => add(service, domain.toUpperCase())), 409, 'CONFLICT')
  })

  test('is a conflict for a domain that another project has', async (service) => {
    const other = await service.newProject()
    assertRefused(await withoutTrace(service, () => add(service, other.domain)), 409, 'CONFLICT')
  })

  test('gives a domain to one of those who ask for it at the same time', async (service) => {
    const projects = [service.project, await service.newProject(), await service.newProject()]
    const domain = newName()
    const answers = await Promise.all(projects.map((project) => add(service, domain, project)))
    assert.equal(answers.map(({ status }) => status).sort(), [201, 409, 409])
  })
})

scenario(
  'A domain of a provider that checks DNS',
  () => startService({ ROLES: 'http', SMTP_URL: 'smtp://127.0.0.1:9' }),
  (test) => {
    test('is pending at first, and mail from it is refused', async (service) => {
      const domain = newName()
      const { body } = await add(service, domain)
      assert.equal([body.status, body.verified, body.verifiedAt], ['PENDING', false, null])
      assert.equal(new Set(body.records.map((record: Body) => record.status)), new Set(['PENDING']))
      assert.is((await send(service, { from: `hello@${domain}` })).status, 403)
    })
  },
)

scenario('GET /domains/project/:projectId', start, (test) => {
  const list = (service: Service, projectId: string) => service.as().get(`/domains/project/${projectId}`)

  test('is a bare array of the domains of the project, newest first', async (service) => {
    const domain = newName()
    await add(service, domain)
    await service.newProject()
    const { status, body } = await list(service, service.project.id)
    assert.is(status, 200)
    assert.equal(
      body.map((row: Body) => row.domain),
      [domain, service.project.domain],
    )
  })

  test('knows no other project', async (service) => {
    const other = await service.newProject()
    assertRefused(await list(service, other.id), 404, 'RESOURCE_NOT_FOUND')
    assertRefused(await list(service, randomUUID()), 404, 'RESOURCE_NOT_FOUND')
    assertRefused(await list(service, 'mine'), 404, 'RESOURCE_NOT_FOUND')
  })
})

scenario('DELETE /domains/:id', start, (test) => {
  test('stops mail from the domain', async (service) => {
    const domain = newName()
    const { body } = await add(service, domain)
    const from = `hello@${domain}`
    assert.is((await send(service, { from })).status, 200)
    const removed = await remove(service, body.id)
    assert.equal([removed.status, removed.text], [204, ''])
    assertRefused(await send(service, { from }), 403, 'INTERNAL_SERVER_ERROR')
  })

  test('leaves the domain to another project', async (service) => {
    const domain = newName()
    const { body } = await add(service, domain)
    await remove(service, body.id)
    const other = await service.newProject()
    assert.is((await add(service, domain, other)).status, 201)
  })

  test('is refused while campaigns or workflows send from it, unless it is forced', async (service) => {
    const domain = newName()
    const { id } = (await add(service, domain)).body
    const from = `hello@${domain}`
    const message = { name: 'Guarded news', subject: 'S', body: '<p>B</p>', from }
    const campaign = await service.as().post('/campaigns', { ...message, audienceType: 'ALL' })
    const template = await service.as().post('/templates', message)
    const setState = (status: string) =>
      service.sql('update campaigns set status = $2::campaign_status where id = $1', [
        campaign.body.data.id,
        status,
      ])
    for (const status of ['SCHEDULED', 'SENDING']) {
      await setState(status)
      const error = assertRefused(await remove(service, id), 409, 'CONFLICT')
      assert.match(error.message, '"Guarded news"')
    }
    await setState('SENT')
    const workflow = await chain(service, [
      { type: 'SEND_EMAIL', name: 'Mail', templateId: template.body.id, config: {} },
    ])
    assert.match(assertRefused(await remove(service, id), 409, 'CONFLICT').message, '"Onboarding"')
    await service.as().patch(`/workflows/${workflow.id}`, { enabled: false })
    const other = await service.newProject()
    assertRefused(await service.as(other).delete(`/domains/${id}?force=true`), 404, 'DOMAIN_NOT_FOUND')
    await setState('SCHEDULED')
    assert.is((await service.as().delete(`/domains/${id}?force=true`)).status, 204)
  })

  test("does not find another project's domain, nor an unknown one", async (service) => {
    const other = await service.newProject()
    const { body } = await add(service, newName(), other)
    const attempts = () => Promise.all([body.id, randomUUID()].map((id) => remove(service, id)))
    for (const answer of await withoutTrace(service, attempts)) assertRefused(answer, 404, 'DOMAIN_NOT_FOUND')
  })

  test('does not find what cannot be an id', async (service) => {
    assertRefused(await remove(service, 'mine'), 404, 'RESOURCE_NOT_FOUND')
  })
})
