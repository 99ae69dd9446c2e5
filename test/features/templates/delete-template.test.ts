import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { hold } from '../../support/held-lock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Service, startService } from '../../support/service.ts'
import { whileHeld } from '../../support/while-held.ts'
import { send, stored, templateOf } from '../sending/send-support.ts'
import { newStep, newWorkflow, usedInStep } from './template-support.ts'

const start = () => startService({ ROLES: 'http' })

const remove = (service: Service, id: string): Promise<Answer> => service.as().delete(`/templates/${id}`)

const removeByGraphQL = (service: Service, id: string): Promise<Answer> =>
  service.as().graphql('mutation ($id: ID!) { deleteTemplate(id: $id) }', { id })

const exists = async ({ sql }: Service, id: string): Promise<boolean> =>
  (await sql('select from templates where id = $1', [id])).length === 1

scenario('DELETE /templates/:id', start, (test) => {
  test('deletes a template, and only that one', async (service) => {
    const [id, other] = [await templateOf(service), await templateOf(service)]
    const answer = await remove(service, id)
    assert.is(answer.status, 204)
    assert.is(answer.text, '')
    assert.is(await exists(service, id), false)
    assert.is(await exists(service, other), true)
    assertRefused(await remove(service, id), 404, 'TEMPLATE_NOT_FOUND')
  })

  test('does the same through GraphQL', async (service) => {
    const id = await templateOf(service)
    assert.equal((await removeByGraphQL(service, id)).body, { data: { deleteTemplate: true } })
    assert.is(await exists(service, id), false)
  })

  test('does not find what is not there', async (service) => {
    const foreign = await templateOf(service, {}, await service.newProject())
    assertRefused(await remove(service, foreign), 404, 'TEMPLATE_NOT_FOUND')
    assertGraphQLRefused(await removeByGraphQL(service, foreign), 404, 'TEMPLATE_NOT_FOUND')
    assert.is(await exists(service, foreign), true)
    assertRefused(await remove(service, randomUUID()), 404, 'TEMPLATE_NOT_FOUND')
    assertRefused(await remove(service, 'welcome'), 404, 'RESOURCE_NOT_FOUND')
  })

  test('keeps a template that a workflow step uses, until it does not', async (service) => {
    const id = await templateOf(service)
    const step = await usedInStep(service, id)
    assertRefused(await remove(service, id), 409, 'CONFLICT')
    assertGraphQLRefused(await removeByGraphQL(service, id), 409, 'CONFLICT')
    assert.is(await exists(service, id), true)
    await service.sql('delete from workflow_steps where id = $1', [step.id])
    assert.is((await remove(service, id)).status, 204)
  })

  test('keeps a template for a step that is made at the same time', async (service) => {
    const id = await templateOf(service)
    const { text, values } = newStep(service.project, await newWorkflow(service), id)
    const answer = await whileHeld(service, text, values, () => remove(service, id))
    assertRefused(answer, 409, 'CONFLICT')
    assert.is(await exists(service, id), true)
  })

  test('deletes once when asked twice at the same time', async (service) => {
    const id = await templateOf(service)
    const held = await hold(service.databaseUrl, 'select from templates where id = $1 for update', [id])
    const answers = [remove(service, id), remove(service, id)]
    await held.waiters(2)
    await held.release()
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    assert.equal(statuses.toSorted(), [204, 404])
  })

  test('keeps the mail that was made from it, with its id', async (service) => {
    const template = await templateOf(service)
    const fields = { template, from: undefined, subject: undefined, body: undefined }
    const { body } = await send(service, fields)
    assert.is((await remove(service, template)).status, 204)
    const { email } = await stored(service, body.data.emails[0].email)
    assert.is(email.template_id, template)
    assert.is(email.subject, 'Template subject')
  })
})
