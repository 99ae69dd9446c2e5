import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { SECOND } from '../../support/clock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Body, type Service, startService } from '../../support/service.ts'
import { templateOf, withoutTrace } from '../sending/send-support.ts'
import { FIELDS, wholeTemplate } from './template-support.ts'

const start = () => startService({ ROLES: 'http' })

const duplicate = (service: Service, id: string): Promise<Answer> =>
  service.as().post(`/templates/${id}/duplicate`)

const duplicateByGraphQL = (service: Service, id: string): Promise<Answer> =>
  service.as().graphql(`mutation ($id: ID!) { duplicateTemplate(id: $id) { ${FIELDS} } }`, { id })

const EVERYTHING = {
  name: 'Welcome',
  description: 'A note.',
  fromName: 'Team',
  replyTo: 'help@example.org',
  type: 'HEADLESS',
}

/** Checks that a copy is a template of its own with the same content. */
async function assertCopy(service: Service, original: Body, copy: Body): Promise<void> {
  const { id, createdAt, updatedAt } = copy
  assert.equal(copy, { ...original, name: 'Welcome (Copy)', id, createdAt, updatedAt })
  assert.is.not(id, original.id)
  assert.is(createdAt, updatedAt)
  assert.ok(createdAt > original.createdAt)
  assert.equal((await service.as().get(`/templates/${id}`)).body, copy, 'it is stored')
  assert.equal((await service.as().get(`/templates/${original.id}`)).body, original, 'the original stays')
}

scenario('POST /templates/:id/duplicate', start, (test) => {
  test('answers with the whole new template', async (service) => {
    const original = await wholeTemplate(service, EVERYTHING)
    service.clock.advance(SECOND)
    const answer = await duplicate(service, original.id)
    assert.is(answer.status, 201, answer.text)
    await assertCopy(service, original, answer.body)
  })

  test('does the same through GraphQL', async (service) => {
    const original = await wholeTemplate(service, EVERYTHING)
    service.clock.advance(SECOND)
    const answer = await duplicateByGraphQL(service, original.id)
    await assertCopy(service, original, answer.body.data.duplicateTemplate)
  })

  test('copies do not follow the original', async (service) => {
    const original = await wholeTemplate(service)
    const { body: copy } = await duplicate(service, original.id)
    await service.as().patch(`/templates/${original.id}`, { body: 'Changed' })
    await service.as().delete(`/templates/${original.id}`)
    assert.equal((await service.as().get(`/templates/${copy.id}`)).body, copy)
  })

  test('shortens a name that would become too long', async (service) => {
    const copyOf = async (name: string) =>
      (await duplicate(service, await templateOf(service, { name }))).body.name
    assert.is(await copyOf('x'.repeat(248)), `${'x'.repeat(248)} (Copy)`)
    assert.is(await copyOf('x'.repeat(249)), `${'x'.repeat(248)} (Copy)`)
    assert.is(await copyOf('x'.repeat(255)), `${'x'.repeat(248)} (Copy)`)
    assert.is(await copyOf(`${'x'.repeat(247)}🎉!`), `${'x'.repeat(247)} (Copy)`)
  })

  test('does not find what is not there', async (service) => {
    const foreign = await templateOf(service, {}, await service.newProject())
    await withoutTrace(service, async () => {
      assertRefused(await duplicate(service, foreign), 404, 'TEMPLATE_NOT_FOUND')
      assertGraphQLRefused(await duplicateByGraphQL(service, foreign), 404, 'TEMPLATE_NOT_FOUND')
      assertRefused(await duplicate(service, randomUUID()), 404, 'TEMPLATE_NOT_FOUND')
      assertRefused(await duplicate(service, 'welcome'), 404, 'RESOURCE_NOT_FOUND')
    })
  })
})
