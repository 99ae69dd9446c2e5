import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Service, startService, withProject } from '../../support/service.ts'
import { fieldErrors, withoutTrace } from '../sending/send-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

const create = (service: Service, fields: object = {}) =>
  service.as().post('/templates', {
    name: 'Welcome',
    subject: 'Hello {{name}}',
    body: '<p>Hello</p>',
    from: `hello@${service.project.domain}`,
    ...fields,
  })

const BAD: [what: string, fields: object, errors: [string, string][]][] = [
  [
    'nothing but a sender',
    { name: undefined, subject: undefined, body: undefined },
    [
      ['name', 'required'],
      ['subject', 'required'],
      ['body', 'required'],
    ],
  ],
  ['an empty name', { name: '' }, [['name', 'too_small']]],
  ['an empty subject', { subject: '' }, [['subject', 'too_small']]],
  ['an empty body', { body: '' }, [['body', 'too_small']]],
  ['a subject of two lines', { subject: 'a\nb' }, [['subject', 'invalid_string']]],
  ['a subject of 999 characters', { subject: 'x'.repeat(999) }, [['subject', 'too_big']]],
  ['a body of more than a megabyte', { body: 'x'.repeat(1_000_001) }, [['body', 'too_big']]],
  ['a sender that is no address', { from: 'hello' }, [['from', 'invalid_string']]],
  ['a sender with a name', { from: 'Hello <hello@example.org>' }, [['from', 'invalid_string']]],
  ['a reply address that is none', { replyTo: 'x' }, [['replyTo', 'invalid_string']]],
  ['a sender name of two lines', { fromName: 'a\r\nb' }, [['fromName', 'invalid_string']]],
  ['an unknown type', { type: 'NEWSLETTER' }, [['type', 'invalid_enum_value']]],
  ['a NUL in a note', { description: 'a\0b' }, [['description', 'invalid_string']]],
  ['a subject that cannot be parsed', { subject: '{{x' }, [['subject', 'custom']]],
  ['a body that cannot be parsed', { body: '{{#x}}' }, [['body', 'custom']]],
]

scenario('POST /templates', start, (test) => {
  test('answers with the whole template; it is MARKETING unless told otherwise', async (service) => {
    const { status, body } = await create(service)
    assert.is(status, 201)
    const { id, createdAt, updatedAt, ...rest } = body
    assert.match(id, /^[0-9a-f-]{36}$/)
    assert.is(createdAt, updatedAt)
    assert.equal(rest, {
      projectId: service.project.id,
      name: 'Welcome',
      description: null,
      subject: 'Hello {{name}}',
      body: '<p>Hello</p>',
      from: `hello@${service.project.domain}`,
      fromName: null,
      replyTo: null,
      type: 'MARKETING',
    })
  })

  test('keeps every field', async (service) => {
    const fields = {
      description: 'A note.\nOf two lines.',
      fromName: 'Team 🎉',
      replyTo: 'help@example.org',
      type: 'HEADLESS',
    }
    const { body } = await create(service, { ...fields, color: 'red' })
    const { description, fromName, replyTo, type } = body
    assert.equal({ description, fromName, replyTo, type }, fields)
    assert.equal((await service.as().get(`/templates/${body.id}`)).body, body)
  })

  test('answers in the short form when the sender is missing', async (service) => {
    const { status, body } = await withoutTrace(service, () => create(service, { from: undefined }))
    assert.is(status, 400)
    assert.equal(body, { error: 'from is required' })
  })

  test('refuses a sender whose domain is not verified', async (service) => {
    const answer = await withoutTrace(service, () => create(service, { from: 'hello@nobody.example' }))
    assertRefused(answer, 403, 'INTERNAL_SERVER_ERROR')
    assert.equal(answer.body.error.details, { reason: 'domain_not_verified', domain: 'nobody.example' })
  })

  for (const [what, fields, errors] of BAD) {
    test(`refuses ${what}`, async (service) => {
      const answer = await withoutTrace(service, () => create(service, fields))
      assert.equal(fieldErrors(answer), errors)
    })
  }

  test('tells the line where a body cannot be parsed', async (service) => {
    const { body } = await create(service, { body: '<p>\n  {{#vip}}\n</p>\n' })
    assert.match(body.error.errors[0].message, 'line 2')
  })
})

scenario('GET /templates/:id', start, (test) => {
  const get = (service: Service, id: string) => service.as().get(`/templates/${id}`)

  test("does not find another project's template, nor an unknown one", async (service) => {
    const other = await service.newProject()
    const { body } = await create(withProject(service, other))
    assert.ok(body.id)
    assertRefused(await get(service, body.id), 404, 'TEMPLATE_NOT_FOUND')
    assertRefused(await get(service, randomUUID()), 404, 'TEMPLATE_NOT_FOUND')
  })

  test('does not find what cannot be an id', async (service) => {
    assertRefused(await get(service, 'welcome'), 404, 'RESOURCE_NOT_FOUND')
  })
})
