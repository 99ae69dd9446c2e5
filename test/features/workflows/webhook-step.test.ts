import * as assert from 'uvu/assert'
import { makeCallsJob } from '../../../src/features/webhooks/make-calls.job.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, until } from '../../support/service.ts'
import { turnOf, workThrough } from '../../support/work.ts'
import {
  data as answerOf,
  isSignedWith,
  startWithReceiver,
  type WithReceiver,
} from '../webhooks/webhook-support.ts'
import { advance, chain, executionOf, HOUR, newContact, newWorkflow, start } from './workflow-support.ts'

const CALLS =
  '{ webhookCalls { data { id executionId endpointId eventName status attempts dueAt tries { status error } } } }'

const calling = (service: WithReceiver) => workThrough(service, makeCallsJob)

/** An enabled workflow that calls the receiver and then exits; the execution of a contact has come to the call. */
async function called(service: WithReceiver, config: object, { contact = {}, context = {} } = {}) {
  const path = Reflect.get(config, 'path') ?? '/'
  const step = {
    type: 'WEBHOOK',
    config: { method: 'POST', ...config, url: service.receiver.url + path, path: undefined },
  }
  const workflow = await chain(service, [step, { type: 'EXIT', config: { reason: 'told' } }])
  const person = await newContact(service, contact)
  const execution = await start(service, workflow.id, person.id, context)
  await advance(service)
  service.receiver.received.length = 0
  return { workflow, person, execution, now: () => executionOf(service, workflow.id, execution.id) }
}

const callOf = async (service: WithReceiver, executionId: string): Promise<Body> => {
  const { webhookCalls } = await answerOf(service.as().graphql(CALLS))
  return webhookCalls.data.find((call: Body) => call.executionId === executionId)
}

scenario(
  'A WEBHOOK step',
  () => startWithReceiver({ ROLES: 'http' }),
  (test) => {
    test('calls with the data of the contact and the context, signed, and goes on then', async (service) => {
      const { receiver } = service
      const { rotateWebhookSecret } = await answerOf(
        service.as().graphql('mutation { rotateWebhookSecret(input: {}) { secret } }'),
      )
      const { person, execution, now } = await called(
        service,
        {
          path: '/u/{{data.name}}/{{{event.plan}}}?q={{event.plan}}',
          headers: { 'X-Name': '{{data.name}}' },
          body: { name: '{{data.name}}', plan: '{{event.plan}}', who: ['{{id}}', '{{email}}'] },
        },
        { contact: { data: { name: 'A/d"a\r\nX: 1' } }, context: { plan: '../..?&x=#' } },
      )
      const waiting = await now()
      assert.equal([waiting.status, waiting.stepExecutions.at(-1).status], ['WAITING', 'WAITING'])
      await calling(service)
      const [call] = receiver.received
      assert.ok(call && isSignedWith(rotateWebhookSecret.secret, call))
      const encoded = '..%2F..%3F%26x%3D%23'
      assert.is(call.path, `/u/A%2Fd%22a%0D%0AX%3A%201/${encoded}?q=${encoded}`)
      assert.is(call.headers['x-name'], 'A/d"a X: 1')
      assert.is(call.headers['content-type'], 'application/json')
      assert.equal(JSON.parse(call.body), {
        name: 'A/d"a\r\nX: 1',
        plan: '../..?&x=#',
        who: [person.id, person.email],
      })
      assert.is((await now()).status, 'RUNNING')
      await advance(service)
      const over = await now()
      assert.equal([over.status, over.exitReason], ['EXITED', 'told'])
      const step = over.stepExecutions[1]
      assert.equal(
        [step.status, step.attempts, step.output],
        ['COMPLETED', 1, { callId: call.id, status: 200 }],
      )
      const logged = await callOf(service, execution.id)
      assert.equal(
        [logged.id, logged.endpointId, logged.eventName, logged.status],
        [call.id, null, 'workflow.webhook', 'SENT'],
      )
    })

    test('is tried again for a day, with the same id, and fails then', async (service) => {
      const { receiver } = service
      const { execution, now } = await called(service, {})
      for (const status of [503, 429, 408, 500, 502, 504, 599, 503]) {
        receiver.answer(status)
        assert.is((await now()).status, 'WAITING')
        await calling(service)
        service.clock.advance(17 * HOUR)
      }
      await advance(service)
      const over = await now()
      assert.equal([over.status, over.exitReason], ['FAILED', 'The webhook has failed: The answer was 503.'])
      assert.is(new Set(receiver.received.map(({ id }) => id)).size, 1)
      assert.is(receiver.received.length, 8)
      assert.is((await callOf(service, execution.id)).attempts, 8)
      receiver.answer(200)
    })

    test('fails at another answer, and calls anew when it is retried', async (service) => {
      const { receiver } = service
      receiver.answer(404)
      const { workflow, execution, now } = await called(service, { method: 'DELETE' })
      await calling(service)
      await advance(service)
      const failed = await now()
      assert.equal(
        [failed.status, failed.exitReason],
        ['FAILED', 'The webhook has failed: The answer was 404.'],
      )
      const first = await callOf(service, execution.id)
      assert.is(receiver.received.length, 1)
      // To make the call again by hand does not move the execution.
      receiver.answer(200)
      await answerOf(service.as().graphql(`mutation { replayWebhookCall(id: "${first.id}") { id } }`))
      await calling(service)
      await advance(service)
      assert.is((await now()).status, 'FAILED')
      assert.equal(
        receiver.received.map(({ id }) => id),
        [first.id, first.id],
      )
      const retry = `mutation { retryWorkflowExecution(id: "${workflow.id}", executionId: "${execution.id}") { status } }`
      await answerOf(service.as().graphql(retry))
      await advance(service)
      await calling(service)
      await advance(service)
      const over = await now()
      assert.equal([over.status, over.stepExecutions[1].attempts], ['EXITED', 2])
      assert.is.not(receiver.received[2]?.id, first.id)
    })

    test('is not made any more when the execution was cancelled', async (service) => {
      const { receiver } = service
      const { workflow, execution, now } = await called(service, {})
      assert.is(
        (await service.as().delete(`/workflows/${workflow.id}/executions/${execution.id}`)).status,
        204,
      )
      await calling(service)
      await advance(service)
      assert.is(receiver.received.length, 0)
      assert.is((await now()).status, 'CANCELLED')
      const { status, attempts, tries } = await callOf(service, execution.id)
      assert.equal(
        [status, attempts, tries[0].error],
        ['FAILED', 0, 'The execution of the workflow is over.'],
      )
    })

    test('goes with the contact', async (service) => {
      const { workflow, person } = await called(service, {})
      assert.is((await service.as().delete(`/contacts/${person.id}`)).status, 204)
      await until('the call is gone', async () => {
        const rows = await service.sql('select from webhook_messages where contact_id = $1', [person.id])
        return rows.length === 0
      })
      await calling(service)
      assert.is(service.receiver.received.length, 0)
      assert.is((await service.as().get(`/workflows/${workflow.id}/executions`)).body.total, 0)
    })

    test('fails where the values would lead elsewhere, and is refused where variables might', async (service) => {
      const { now } = await called(service, { path: '/x/{{event.id}}/y' }, { context: { id: '..' } })
      const failed = await now()
      assert.is(failed.status, 'FAILED')
      assert.match(failed.exitReason, /which cannot be called/)
      const { id } = await newWorkflow(service)
      const refusals: [object, string][] = [
        [{ url: 'https://{{host}}/', method: 'POST' }, 'config.url'],
        [{ url: 'https://a.example/{{#x}}', method: 'POST' }, 'config.url'],
        [{ url: 'https://a.example/', method: 'GET', body: {} }, 'config.body'],
        [{ url: 'https://a.example/', method: 'POST', body: { a: ['{{'] } }, 'config.body'],
        [
          { url: 'https://a.example/', method: 'POST', headers: { Host: 'b.example' } },
          'config.headers.Host',
        ],
        [{ url: 'https://a.example/', method: 'POST', headers: { A: '{{/x}}' } }, 'config.headers.A'],
        [{ url: 'https://a.example/', method: 'TRACE' }, 'config.method'],
      ]
      for (const [config, field] of refusals) {
        const { status, body } = await service
          .as()
          .post(`/workflows/${id}/steps`, { type: 'WEBHOOK', config })
        assert.equal([status, body.error.errors[0].field], [422, field], JSON.stringify(body))
      }
    })

    test('does not reach private addresses unless that is allowed', async (service) => {
      const { execution, now } = await called(service, {})
      const ctx = service.ctx(service.project.id)
      const guarded = { ...ctx, config: { ...ctx.config, allowPrivateWebhooks: false } }
      await makeCallsJob.slice(guarded, turnOf(service.project.id))
      await advance(service)
      assert.match((await now()).exitReason, /private ones are not called/)
      assert.is((await callOf(service, execution.id)).attempts, 1)
      assert.is(service.receiver.received.length, 0)
    })
  },
)
