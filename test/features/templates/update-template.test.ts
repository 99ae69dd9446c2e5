import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { SECOND } from '../../support/clock.ts'
import { hold } from '../../support/held-lock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Project, type Service, startService } from '../../support/service.ts'
import { fieldErrors, templateOf } from '../sending/send-support.ts'
import { FIELDS, wholeTemplate } from './template-support.ts'

const start = () => startService({ ROLES: 'http' })

const update = (service: Service, id: string, body: unknown, project?: Project): Promise<Answer> =>
  service.as(project).patch(`/templates/${id}`, body)

const UPDATE = `mutation ($id: ID!, $input: UpdateTemplateInput!) {
  updateTemplate(id: $id, input: $input) { ${FIELDS} }
}`

const updateByGraphQL = (service: Service, id: string, input: unknown): Promise<Answer> =>
  service.as().graphql(UPDATE, { id, input })

const OPTIONAL = { description: 'A note.', fromName: 'Team', replyTo: 'help@example.org' }

/** A change, made a while after the template. */
async function changed(service: Service, before: { id: string }, body: object): Promise<unknown> {
  service.clock.advance(SECOND)
  const answer = await update(service, before.id, body)
  assert.is(answer.status, 200, answer.text)
  assert.equal((await service.as().get(`/templates/${before.id}`)).body, answer.body, 'it is stored')
  return answer.body
}

scenario('PATCH /templates/:id', start, (test) => {
  test('changes every field', async (service) => {
    const before = await wholeTemplate(service)
    const fields = {
      name: 'New name',
      subject: 'New {{subject}}',
      body: '<p>New {{body}}</p>',
      from: `new@${service.project.domain}`,
      description: 'New note',
      fromName: 'New team',
      replyTo: 'new@example.org',
      type: 'HEADLESS',
    }
    const after = (await changed(service, before, fields)) as { updatedAt: string }
    assert.ok(after.updatedAt > before.updatedAt)
    assert.equal(after, { ...before, ...fields, updatedAt: after.updatedAt })
  })

  test('keeps what is left out', async (service) => {
    const before = await wholeTemplate(service, OPTIONAL)
    const after = (await changed(service, before, { subject: 'Other' })) as { updatedAt: string }
    assert.equal(after, { ...before, subject: 'Other', updatedAt: after.updatedAt })
  })

  test('null removes an optional field', async (service) => {
    for (const field of Object.keys(OPTIONAL)) {
      const before = await wholeTemplate(service, OPTIONAL)
      const after = (await changed(service, before, { [field]: null })) as { updatedAt: string }
      assert.equal(after, { ...before, [field]: null, updatedAt: after.updatedAt })
    }
  })

  test('does the same through GraphQL', async (service) => {
    const before = await wholeTemplate(service, OPTIONAL)
    service.clock.advance(SECOND)
    const answer = await updateByGraphQL(service, before.id, { name: 'Other', replyTo: null })
    const after = answer.body.data.updateTemplate
    assert.equal(after, { ...before, name: 'Other', replyTo: null, updatedAt: after.updatedAt })
    assert.ok(after.updatedAt > before.updatedAt)
  })

  test('leaves the time of the last change when nothing becomes different', async (service) => {
    const before = await wholeTemplate(service, { ...OPTIONAL, replyTo: undefined })
    const { name, subject, body, from, description, fromName, type } = before
    const same = { name, subject, body, from: ` ${from.toUpperCase()} `, description, fromName, type }
    for (const fields of [{}, same, { replyTo: null }, { unknown: 'x' }]) {
      assert.equal(await changed(service, before, fields), before)
    }
  })

  for (const [field, value, code] of [
    ['name', '', 'too_small'],
    ['name', 'x'.repeat(256), 'too_big'],
    ['name', null, 'invalid_type'],
    ['subject', 'a\nb', 'invalid_string'],
    ['subject', null, 'invalid_type'],
    ['subject', '{{x', 'custom'],
    ['body', '', 'too_small'],
    ['body', null, 'invalid_type'],
    ['body', '{{#x}}', 'custom'],
    ['from', 'nobody', 'invalid_string'],
    ['from', null, 'invalid_type'],
    ['fromName', 'a\r\nb', 'invalid_string'],
    ['replyTo', '', 'invalid_string'],
    ['description', 'x'.repeat(1_001), 'too_big'],
    ['type', 'NEWSLETTER', 'invalid_enum_value'],
    ['type', null, 'invalid_enum_value'],
  ] as const) {
    test(`refuses ${field}: ${JSON.stringify(value)?.slice(0, 20)}`, async (service) => {
      const before = await wholeTemplate(service, OPTIONAL)
      const answer = await update(service, before.id, { fromName: 'Other', [field]: value })
      assert.equal(fieldErrors(answer), [[field, code]])
      assert.equal((await service.as().get(`/templates/${before.id}`)).body, before, 'nothing has changed')
    })
  }

  test('refuses the same through GraphQL', async (service) => {
    const { id } = await wholeTemplate(service)
    const answer = await updateByGraphQL(service, id, { name: null, subject: '{{x' })
    const { errors } = assertGraphQLRefused(answer, 422, 'VALIDATION_ERROR')
    assert.is(errors[0].field, 'name')
  })

  test('refuses a sender whose domain is not verified, and changes nothing', async (service) => {
    const before = await wholeTemplate(service)
    const other = await service.newProject()
    for (const domain of ['nobody.example', other.domain]) {
      const answer = await update(service, before.id, { name: 'Other', from: `hello@${domain}` })
      const error = assertRefused(answer, 403, 'INTERNAL_SERVER_ERROR')
      assert.equal(error.details, { reason: 'domain_not_verified', domain })
    }
    assert.equal((await service.as().get(`/templates/${before.id}`)).body, before)
  })

  test('does not look at the sender when it is not given', async (service) => {
    const project = await service.newProject()
    const id = await templateOf(service, {}, project)
    await service.sql(`update domains set status = 'FAILED' where project_id = $1`, [project.id])
    assert.is((await update(service, id, { name: 'Other' }, project)).status, 200)
    assert.is((await update(service, id, { from: `x@${project.domain}` }, project)).status, 403)
  })

  test('does not find what is not there', async (service) => {
    const foreign = await templateOf(service, {}, await service.newProject())
    const body = { name: 'Stolen' }
    assertRefused(await update(service, foreign, body), 404, 'TEMPLATE_NOT_FOUND')
    assertRefused(await update(service, randomUUID(), body), 404, 'TEMPLATE_NOT_FOUND')
    assertRefused(await update(service, 'welcome', body), 404, 'RESOURCE_NOT_FOUND')
    assertGraphQLRefused(await updateByGraphQL(service, foreign, body), 404, 'TEMPLATE_NOT_FOUND')
    const rows = await service.sql('select name from templates where id = $1', [foreign])
    assert.equal(rows, [{ name: 'Test' }])
  })

  test('changes of different fields at the same time all hold', async (service) => {
    const before = await wholeTemplate(service, OPTIONAL)
    const changes = { name: 'A', subject: 'B', description: null, fromName: 'C' }
    const lock = 'select from templates where id = $1 for update'
    const held = await hold(service.databaseUrl, lock, [before.id])
    // All of them have read the template before any of them can write.
    const updates = Object.entries(changes).map(([field, value]) =>
      update(service, before.id, { [field]: value }),
    )
    await held.waiters(4)
    await held.release()
    for (const { status } of await Promise.all(updates)) assert.is(status, 200)
    const { body } = await service.as().get(`/templates/${before.id}`)
    assert.equal(body, { ...before, ...changes, updatedAt: body.updatedAt })
  })

  test('does not find a template that is deleted at the same time', async (service) => {
    const { id } = await wholeTemplate(service)
    const held = await hold(service.databaseUrl, 'delete from templates where id = $1', [id])
    const answer = update(service, id, { name: 'Late' })
    await held.waiters(1)
    await held.release('commit')
    assertRefused(await answer, 404, 'TEMPLATE_NOT_FOUND')
  })
})
