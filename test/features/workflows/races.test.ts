import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { advanceWorkflowsJob } from '../../../src/features/workflows/engine/advance-workflows.job.ts'
import type { Turn } from '../../../src/queue/define-work.ts'
import { hold } from '../../support/held-lock.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { turnOf } from '../../support/work.ts'
import { computed, follow, newSegment, newTracked } from '../segments/segment-support.ts'
import { templateOf } from '../sending/send-support.ts'
import {
  addStep,
  advance,
  chain,
  connect,
  enable,
  executionOf,
  executionsOf,
  HOUR,
  newContact,
  newWorkflow,
  start,
  track,
} from './workflow-support.ts'

const started = () => startService({ ROLES: 'http' })

const slice = (service: Service, given: Partial<Turn> = {}) =>
  advanceWorkflowsJob.slice(service.ctx(service.project.id), turnOf(service.project.id, given))

/** An enabled workflow that waits for an event, with an EXIT for each way on, and an execution that waits. */
async function waitingExecution(service: Service, timeout = 60) {
  const workflow = await newWorkflow(service)
  const eventName = `paid.${randomUUID()}`
  const wait = await addStep(service, workflow.id, { type: 'WAIT_FOR_EVENT', config: { eventName, timeout } })
  await connect(service, workflow.id, { fromStepId: workflow.steps[0].id, toStepId: wait.id })
  for (const branch of ['event', 'timeout']) {
    const exit = await addStep(service, workflow.id, { type: 'EXIT', config: { reason: branch } })
    await connect(service, workflow.id, { fromStepId: wait.id, toStepId: exit.id, branch })
  }
  await enable(service, workflow.id)
  const contact = await newContact(service)
  const execution = await start(service, workflow.id, contact.id)
  return { workflow, eventName, contact, execution, waitId: wait.id }
}

scenario('At the same moment', started, (test) => {
  test('event and time-out: whichever is first, only one of them counts', async (service) => {
    for (const first of ['event', 'timeout']) {
      const { workflow, eventName, contact, execution, waitId } = await waitingExecution(service)
      await advance(service)
      service.clock.advance(HOUR)
      // The time-out has been taken when the event is recorded, or the other way around.
      if (first === 'event') await track(service, contact.email, eventName)
      const lock = await hold(
        service.databaseUrl,
        'select from workflow_executions where id = $1 for update',
        [execution.id],
      )
      const moving = slice(service)
      await lock.waiters(1)
      if (first === 'timeout') await track(service, contact.email, eventName)
      await lock.release()
      await moving
      await advance(service)
      const over = await executionOf(service, workflow.id, execution.id)
      assert.equal([over.status, over.exitReason], ['EXITED', first])
      const steps = over.stepExecutions.filter(({ stepId }: { stepId: string }) => stepId === waitId)
      assert.is(steps.length, 1)
      assert.is(steps[0].output.branch, first)
    }
  })

  test('an event between the begin of a wait and its commit is not lost', async (service) => {
    const { workflow, eventName, contact, execution, waitId } = await waitingExecution(service)
    // One round: the execution has passed the TRIGGER step.
    await slice(service, { hasTime: () => false })
    assert.is((await executionOf(service, workflow.id, execution.id)).currentStepId, waitId)
    const lock = await hold(service.databaseUrl, 'lock table step_executions in exclusive mode')
    const entering = slice(service)
    await lock.waiters(1)
    await track(service, contact.email, eventName)
    // Another worker does not take the event away before the wait can be seen.
    assert.equal(await slice(service), { afterMs: 50 })
    await lock.release()
    await entering
    await advance(service)
    assert.is((await executionOf(service, workflow.id, execution.id)).exitReason, 'event')
  })

  test('a time-out, and an event from before it that is far behind in the queue: the event', async (service) => {
    const { workflow, eventName, contact, execution } = await waitingExecution(service)
    await advance(service)
    await track(service, contact.email, eventName)
    // More than one commit takes, all of them older.
    await service.sql(
      `insert into changes (project_id, consumer, id, contact_id, event_id, name)
       select project_id, 'WORKFLOW', ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, contact_id, event_id, 'other'
       from changes, generate_series(1, 600) n where project_id = $1 and consumer = 'WORKFLOW'`,
      [service.project.id],
    )
    service.clock.advance(HOUR)
    await advance(service)
    assert.is((await executionOf(service, workflow.id, execution.id)).exitReason, 'event')
  })

  test('a contact stays while it starts, and while a step of it runs', async (service) => {
    const templateId = await templateOf(service, { type: 'TRANSACTIONAL' })
    const workflow = await chain(service, [{ type: 'SEND_EMAIL', templateId }])
    const contact = await newContact(service)
    await track(service, contact.email, workflow.eventName)
    const free = 'select from contacts where id = $1 for update skip locked'
    for (const table of ['workflow_entries', 'emails']) {
      const lock = await hold(service.databaseUrl, `lock table ${table} in exclusive mode`)
      // The first round starts the execution and passes the TRIGGER step, the second one sends.
      const moving = slice(service, { hasTime: () => false })
      await lock.waiters(1)
      assert.is((await service.sql(free, [contact.id])).length, 0, table)
      const deleting = table === 'emails' && service.as().delete(`/contacts/${contact.id}`)
      if (deleting) await lock.waiters(2)
      await lock.release()
      await moving
      if (deleting) assert.is((await deleting).status, 204)
    }
    await advance(service)
    assert.equal(await executionsOf(service, workflow.id), [])
  })

  test('two starts of a contact: one execution', async (service) => {
    const workflow = await chain(service, [{ type: 'DELAY', config: { amount: 1, unit: 'days' } }], {
      allowReentry: true,
    })
    await service.as().patch(`/workflows/${workflow.id}`, { allowReentry: true })
    const contact = await newContact(service)
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() =>
        service.as().post(`/workflows/${workflow.id}/executions`, { contactId: contact.id }),
      ),
    )
    assert.equal(answers.map(({ status }) => status).toSorted(), [201, 409, 409, 409])
    await track(service, contact.email, workflow.eventName)
    await track(service, contact.email, workflow.eventName)
    await advance(service)
    assert.is((await executionsOf(service, workflow.id)).length, 1)
  })

  test('a cancellation while a step runs is the end of it', async (service) => {
    const workflow = await chain(service, [
      { type: 'DELAY', config: { amount: 1, unit: 'hours' } },
      { type: 'UPDATE_CONTACT', config: { updates: { late: true } } },
    ])
    const contact = await newContact(service)
    const { id } = await start(service, workflow.id, contact.id)
    await advance(service)
    service.clock.advance(HOUR)
    const lock = await hold(service.databaseUrl, 'lock table step_executions in exclusive mode')
    const moving = slice(service)
    await lock.waiters(1)
    const cancelling = service.as().delete(`/workflows/${workflow.id}/executions/${id}`)
    await lock.waiters(2)
    await lock.release()
    await moving
    // The step that ran may have been the last one: then there is nothing left to cancel.
    const { status } = await cancelling
    await advance(service)
    const over = await executionOf(service, workflow.id, id)
    assert.is(over.status, status === 204 ? 'CANCELLED' : 'COMPLETED')
    const again = await service.as().delete(`/workflows/${workflow.id}/executions/${id}`)
    assert.is(again.status, 409)
  })

  test('a change of the steps and a start exclude each other', async (service) => {
    const workflow = await chain(service, [{ type: 'DELAY', config: { amount: 1, unit: 'hours' } }])
    const contact = await newContact(service)
    const lock = await hold(service.databaseUrl, 'lock table workflow_entries in exclusive mode')
    const starting = service.as().post(`/workflows/${workflow.id}/executions`, { contactId: contact.id })
    await lock.waiters(1)
    await lock.release()
    assert.is((await starting).status, 201)
    const changed = await service.as().post(`/workflows/${workflow.id}/steps`, { type: 'EXIT' })
    assert.is(changed.status, 409)
  })
})

scenario('Entries', started, (test) => {
  test('into a segment start executions, but not at its first fill', async (service) => {
    const before = await newContact(service, { data: { plan: 'pro' } })
    const segment = await newSegment(service, { trackMembership: true })
    const workflow = await chain(service, [{ type: 'EXIT' }], {
      eventName: `segment.${segment.slug}.entry`,
    })
    await computed(service, segment.id)
    await advance(service)
    assert.equal(await executionsOf(service, workflow.id), [])
    const after = await newContact(service, { data: { plan: 'pro' } })
    await computed(service, segment.id)
    await advance(service)
    const entered = (await executionsOf(service, workflow.id)).map(({ contactId }) => contactId)
    assert.equal(entered, [after.id])
    assert.is.not(before.id, after.id)
  })

  test('into a segment, out of it and into it again within a second start as re-entry allows', async (service) => {
    const segment = await newTracked(service)
    const eventName = `segment.${segment.slug}.entry`
    const started = { eventName, allowReentry: true }
    const [once, again, staying] = [
      await chain(service, [{ type: 'EXIT' }], { eventName }),
      await chain(service, [{ type: 'EXIT' }], started),
      await chain(service, [{ type: 'DELAY', config: { amount: 1, unit: 'days' } }], started),
    ]
    const counts = async (email: string, between: () => Promise<void>) => {
      for (const plan of ['pro', 'free', 'pro']) {
        await service.as().post('/contacts', { email, data: { plan } })
        await follow(service)
        await between()
      }
      await advance(service)
      const { id } = (await service.as().get(`/contacts?search=${email}`)).body.data[0]
      const all = [once, again, staying].map(({ id: workflowId }) => executionsOf(service, workflowId))
      return (await Promise.all(all)).map(
        (executions) => executions.filter(({ contactId }) => contactId === id).length,
      )
    }
    assert.equal(await counts('quick@example.org', () => advance(service)), [1, 2, 1])
    // Heard of together, the second entry finds the contact in the workflow.
    assert.equal(await counts('quicker@example.org', async () => {}), [1, 1, 1])
  })

  test('of a workflow that starts itself are stopped, with the reason', async (service) => {
    const workflow = await newWorkflow(service, { eventName: 'contact.subscribed', allowReentry: true })
    const leave = await addStep(service, workflow.id, {
      type: 'UPDATE_CONTACT',
      config: { subscriptionAction: 'unsubscribe' },
    })
    const comeBack = await addStep(service, workflow.id, {
      type: 'UPDATE_CONTACT',
      config: { subscriptionAction: 'subscribe' },
    })
    await connect(service, workflow.id, { fromStepId: workflow.steps[0].id, toStepId: leave.id })
    await connect(service, workflow.id, { fromStepId: leave.id, toStepId: comeBack.id })
    await enable(service, workflow.id)
    const contact = await newContact(service, { subscribed: true })
    await start(service, workflow.id, contact.id)
    await advance(service)
    const [last] = await executionsOf(service, workflow.id)
    assert.is(last.status, 'FAILED')
    assert.match(last.exitReason, 'seems to start itself')
    const [row] = await service.sql<{ count: number }>(
      'select count(*)::int as count from workflow_executions where workflow_id = $1',
      [workflow.id],
    )
    assert.is(row?.count, 50)
    const again = () => service.as().post(`/workflows/${workflow.id}/executions`, { contactId: contact.id })
    assert.is((await again()).status, 409)
    service.clock.advance(HOUR)
    assert.is((await again()).status, 201)
  })
})
