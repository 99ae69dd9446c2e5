import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { advanceWorkflowsJob } from '../../../src/features/workflows/engine/advance-workflows.job.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, startService } from '../../support/service.ts'
import { turnOf } from '../../support/work.ts'
import { templateOf } from '../sending/send-support.ts'
import {
  advance,
  chain,
  DAY,
  executionOf,
  executionsOf,
  HOUR,
  MINUTE,
  newContact,
  start,
  track,
} from './workflow-support.ts'

/** Nothing works in the background: each test says when workflows go on. */
const started = () => startService({ ROLES: 'http' })

scenario('Executions', started, (test) => {
  test('are started by an event, with its data, wait, send and end', async (service) => {
    const templateId = await templateOf(service, {
      type: 'TRANSACTIONAL',
      subject: 'Your {{event.plan}} plan',
      body: '<p>Hello {{name}}</p>',
    })
    const workflow = await chain(service, [
      { type: 'DELAY', config: { amount: 2, unit: 'days' } },
      { type: 'SEND_EMAIL', templateId },
    ])
    const contact = await newContact(service, { data: { name: 'Ada' } })
    await track(service, contact.email, workflow.eventName, { plan: { value: 'pro', persistent: false } })
    await advance(service)
    const [waiting] = await executionsOf(service, workflow.id)
    assert.is(waiting.status, 'WAITING')
    assert.is(waiting.currentStepId, workflow.steps[0].id)
    assert.equal(waiting.context, { plan: 'pro' })
    service.clock.advance(2 * DAY - MINUTE)
    await advance(service)
    assert.is((await executionOf(service, workflow.id, waiting.id)).status, 'WAITING')
    service.clock.advance(MINUTE)
    await advance(service)
    const done = await executionOf(service, workflow.id, waiting.id)
    assert.is(done.status, 'COMPLETED')
    assert.equal(
      done.stepExecutions.map(({ status, attempts }: { status: string; attempts: number }) => [
        status,
        attempts,
      ]),
      [
        ['COMPLETED', 1],
        ['COMPLETED', 1],
        ['COMPLETED', 1],
      ],
    )
    const { emailId } = done.stepExecutions[2].output
    const [email] = await service.sql('select * from emails where id = $1', [emailId])
    assert.is(email?.subject, 'Your pro plan')
    assert.is(email?.source_type, 'WORKFLOW')
    assert.is(email?.workflow_execution_id, waiting.id)
    const [delivery] = await service.sql('select * from deliveries where email_id = $1', [emailId])
    assert.is(delivery?.priority, 1)
  })

  test('start once ever without re-entry', async (service) => {
    const workflow = await chain(service, [{ type: 'EXIT', config: { reason: 'enough' } }])
    const contact = await newContact(service)
    const execution = await start(service, workflow.id, contact.id, { plan: 'pro' })
    assert.is(execution.status, 'RUNNING')
    await advance(service)
    const over = await executionOf(service, workflow.id, execution.id)
    assert.is(over.status, 'EXITED')
    assert.is(over.exitReason, 'enough')
    const again = await service.as().post(`/workflows/${workflow.id}/executions`, { contactId: contact.id })
    assert.is(again.status, 409)
    await track(service, contact.email, workflow.eventName)
    await advance(service)
    assert.is((await executionsOf(service, workflow.id)).length, 1)
  })

  test('of a disabled project rest until it is enabled', async (service) => {
    const workflow = await chain(service, [{ type: 'EXIT' }])
    const { id } = await start(service, workflow.id, (await newContact(service)).id)
    const { project, sql } = service
    await sql('update projects set disabled = true where id = $1', [project.id])
    assert.is(await advanceWorkflowsJob.slice(service.ctx(project.id), turnOf(project.id)), 'done')
    assert.equal(await advanceWorkflowsJob.pending(service.ctx()), [])
    assert.is((await executionOf(service, workflow.id, id)).status, 'RUNNING')
    await sql('update projects set disabled = false where id = $1', [project.id])
    await advance(service)
    assert.is((await executionOf(service, workflow.id, id)).status, 'EXITED')
  })

  test('that were cancelled are over, whatever was due and whatever happens then', async (service) => {
    const eventName = `paid.${randomUUID()}`
    for (const step of [
      { type: 'DELAY', config: { amount: 1, unit: 'hours' } },
      { type: 'WAIT_FOR_EVENT', config: { eventName, timeout: 60 } },
    ]) {
      const workflow = await chain(service, [step, { type: 'EXIT' }])
      const contact = await newContact(service)
      const { id } = await start(service, workflow.id, contact.id)
      await advance(service)
      const at = `/workflows/${workflow.id}/executions/${id}`
      assert.is((await service.as().delete(at)).status, 204)
      await track(service, contact.email, eventName)
      service.clock.advance(HOUR)
      assert.is((await service.as().delete(at)).status, 409)
      await advance(service)
      const over = await executionOf(service, workflow.id, id)
      assert.equal(
        [over.status, over.currentStepId, ...over.stepExecutions.map(({ status }: Body) => status)],
        ['CANCELLED', workflow.steps[0].id, 'COMPLETED', 'SKIPPED'],
      )
      const due =
        'select from workflow_executions where id = $1 and (next_at is not null or waiting_for_event is not null)'
      assert.equal(await service.sql(due, [id]), [])
    }
  })
})
