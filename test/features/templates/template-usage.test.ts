import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Body, type Service, startService } from '../../support/service.ts'
import { send, templateOf } from '../sending/send-support.ts'
import { usedInStep } from './template-support.ts'

const start = () => startService({ ROLES: 'http' })

const usage = (service: Service, id: string): Promise<Answer> => service.as().get(`/templates/${id}/usage`)

const usageByGraphQL = (service: Service, id: string): Promise<Answer> =>
  service.as().graphql(
    `query ($id: ID!) {
      templateUsage(id: $id) { campaigns { id name status } workflowSteps { id name workflowId } emailsSent }
    }`,
    { id },
  )

async function usageOf(service: Service, id: string): Promise<Body> {
  const answer = await usage(service, id)
  assert.is(answer.status, 200, answer.text)
  assert.equal((await usageByGraphQL(service, id)).body.data.templateUsage, answer.body, 'GraphQL agrees')
  return answer.body
}

scenario('GET /templates/:id/usage', start, (test) => {
  test('is empty for a new template', async (service) => {
    const id = await templateOf(service)
    assert.equal(await usageOf(service, id), { campaigns: [], workflowSteps: [], emailsSent: 0 })
  })

  test('names the workflow steps', async (service) => {
    const id = await templateOf(service)
    const steps = [await usedInStep(service, id), await usedInStep(service, id)]
    await usedInStep(service, await templateOf(service))
    const { workflowSteps } = await usageOf(service, id)
    const expected = steps
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map((step) => ({ id: step.id, name: 'Say hello', workflowId: step.workflowId }))
    assert.equal(workflowSteps, expected)
  })

  test('counts the mail that was handed over', async (service) => {
    const template = await templateOf(service)
    const fields = { from: undefined, subject: undefined, body: undefined }
    const to = ['a@example.org', 'b@example.org', 'c@example.org']
    const { body } = await send(service, { ...fields, template, to })
    await send(service, { ...fields, template: await templateOf(service), to: 'd@example.org' })
    await service.sql(`update emails set status = 'SENT', sent_at = now() where to_email = 'd@example.org'`)
    assert.is((await usageOf(service, template)).emailsSent, 0)
    const [first, second] = body.data.emails.map(({ email }: Body) => email)
    await service.sql(`update emails set status = 'SENT', sent_at = now() where id = $1`, [first])
    assert.is((await usageOf(service, template)).emailsSent, 1)
    await service.sql(`update emails set status = 'BOUNCED', sent_at = now() where id = $1`, [second])
    assert.is((await usageOf(service, template)).emailsSent, 2)
  })

  test('does not find what is not there', async (service) => {
    const foreign = await templateOf(service, {}, await service.newProject())
    assertRefused(await usage(service, foreign), 404, 'TEMPLATE_NOT_FOUND')
    assertGraphQLRefused(await usageByGraphQL(service, foreign), 404, 'TEMPLATE_NOT_FOUND')
    assertRefused(await usage(service, randomUUID()), 404, 'TEMPLATE_NOT_FOUND')
    assertRefused(await usage(service, 'welcome'), 404, 'RESOURCE_NOT_FOUND')
  })
})
