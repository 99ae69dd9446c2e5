import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { assertGraphQLRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Service, startService } from '../../support/service.ts'
import { whileHeld } from '../../support/while-held.ts'
import { newSegment } from '../segments/segment-support.ts'
import { templateOf } from '../sending/send-support.ts'
import {
  addStep,
  advance,
  chain,
  connect,
  DAY,
  enable,
  executionOf,
  executionsOf,
  HOUR,
  MINUTE,
  newContact,
  newWorkflow,
  start,
  track,
  workflowOf,
} from './workflow-support.ts'

const started = () => startService({ ROLES: 'http' })

/** The path that an execution has taken: names of steps with their states. */
async function path(service: Service, workflowId: string, executionId: string): Promise<string[]> {
  const { steps } = await workflowOf(service, workflowId)
  const { stepExecutions } = await executionOf(service, workflowId, executionId)
  const nameOf = (id: string) => steps.find((step: Body) => step.id === id).name
  return stepExecutions.map(({ stepId, status }: Body) => `${nameOf(stepId)} ${status}`)
}

/** An enabled workflow: TRIGGER, a step with branches, and an EXIT for each of them. */
async function branching(service: Service, step: object, branches: string[]) {
  const workflow = await newWorkflow(service)
  const fork = await addStep(service, workflow.id, step)
  await connect(service, workflow.id, { fromStepId: workflow.steps[0].id, toStepId: fork.id })
  for (const branch of branches) {
    const exit = await addStep(service, workflow.id, {
      type: 'EXIT',
      name: branch,
      config: { reason: branch },
    })
    await connect(service, workflow.id, { fromStepId: fork.id, toStepId: exit.id, branch })
  }
  await enable(service, workflow.id)
  return { ...workflow, eventName: workflow.triggerConfig.eventName, forkId: fork.id }
}

const outcome = async (service: Service, workflowId: string, id: string): Promise<string> => {
  const { status, exitReason } = await executionOf(service, workflowId, id)
  return `${status} ${exitReason}`
}

const waiting = (timeout?: number) => ({
  type: 'WAIT_FOR_EVENT',
  config: { eventName: `paid.${randomUUID()}`, ...(timeout !== undefined && { timeout }) },
})

scenario('Steps of a workflow', started, (test) => {
  test('CONDITION asks the contact, its segments and events, and the context', async (service) => {
    const segment = await newSegment(service)
    const conditions = [
      { field: 'data.plan', operator: 'equals', value: 'pro' },
      { field: 'event.amount', operator: 'greaterThan', value: 10 },
      { field: 'event.visited', operator: 'triggered' },
      { field: `segment.${segment.id}`, operator: 'memberOfSegment' },
    ]
    const groups = [{ filters: conditions }]
    for (const config of [...conditions, { condition: { logic: 'AND', groups } }]) {
      const workflow = await branching(service, { type: 'CONDITION', config }, ['yes', 'no'])
      const yes = await newContact(service, { data: { plan: 'pro' } })
      await track(service, yes.email, 'visited')
      const no = await newContact(service, { data: { plan: 'free' } })
      const [first, second] = [
        await start(service, workflow.id, yes.id, { amount: 20 }),
        await start(service, workflow.id, no.id, { amount: 5 }),
      ]
      await advance(service)
      assert.is(await outcome(service, workflow.id, first.id), 'EXITED yes', JSON.stringify(config))
      assert.is(await outcome(service, workflow.id, second.id), 'EXITED no', JSON.stringify(config))
    }
  })

  test('UPDATE_CONTACT merges data and changes the subscription, with its event', async (service) => {
    const workflow = await chain(service, [
      {
        type: 'UPDATE_CONTACT',
        config: { updates: { plan: 'pro', old: null, kept: '' }, subscriptionAction: 'unsubscribe' },
      },
    ])
    const contact = await newContact(service, { data: { old: 1, kept: 'yes' } })
    const execution = await start(service, workflow.id, contact.id)
    await advance(service)
    assert.is((await executionOf(service, workflow.id, execution.id)).status, 'COMPLETED')
    const { body } = await service.as().get(`/contacts/${contact.id}`)
    assert.equal([body.subscribed, body.data], [false, { plan: 'pro', kept: 'yes' }])
    const events = await service.sql('select name, data from events where contact_id = $1', [contact.id])
    assert.equal(events, [{ name: 'contact.unsubscribed', data: { source: 'workflow' } }])
  })

  test('SEND_EMAIL skips who may not get it, and writes to an address of its own', async (service) => {
    const marketing = await templateOf(service, { type: 'MARKETING' })
    const notice = await templateOf(service, {
      type: 'TRANSACTIONAL',
      subject: 'New: {{name}} {{event.plan}}',
    })
    const email = `team-${randomUUID()}@example.org`
    const workflow = await chain(service, [
      { type: 'SEND_EMAIL', name: 'News', templateId: marketing },
      {
        type: 'SEND_EMAIL',
        name: 'Notice',
        templateId: notice,
        config: { recipient: { type: 'CUSTOM', email } },
      },
    ])
    const contact = await newContact(service, { subscribed: false, data: { name: 'Ada' } })
    const execution = await start(service, workflow.id, contact.id, { plan: 'pro' })
    await advance(service)
    assert.equal(await path(service, workflow.id, execution.id), [
      'Trigger COMPLETED',
      'News SKIPPED',
      'Notice COMPLETED',
    ])
    const mail = await service.sql('select to_email, subject from emails where workflow_execution_id = $1', [
      execution.id,
    ])
    assert.equal(mail, [{ to_email: email, subject: 'New: Ada pro' }])
  })

  test('WAIT_FOR_EVENT goes on at the event, or at the time-out, and not at events from before', async (service) => {
    const step = waiting(3_600)
    const workflow = await branching(service, step, ['event', 'timeout'])
    const [early, late] = [await newContact(service), await newContact(service)]
    await track(service, early.email, step.config.eventName)
    const [first, second] = [
      await start(service, workflow.id, early.id),
      await start(service, workflow.id, late.id),
    ]
    await advance(service)
    service.clock.advance(MINUTE)
    await advance(service)
    assert.is((await executionOf(service, workflow.id, first.id)).status, 'WAITING')
    await track(service, early.email, step.config.eventName)
    await advance(service)
    assert.is(await outcome(service, workflow.id, first.id), 'EXITED event')
    service.clock.advance(HOUR)
    await advance(service)
    assert.is(await outcome(service, workflow.id, second.id), 'EXITED timeout')
  })

  test('an event that came in time counts, however late it is heard of', async (service) => {
    const step = waiting(60)
    const workflow = await branching(service, step, ['event', 'timeout'])
    const contact = await newContact(service)
    const { id } = await start(service, workflow.id, contact.id)
    await advance(service)
    await track(service, contact.email, step.config.eventName)
    service.clock.advance(HOUR)
    await advance(service)
    assert.is(await outcome(service, workflow.id, id), 'EXITED event')
  })

  test('an event ends one wait, and none that began after it, however late it is heard of', async (service) => {
    const step = waiting()
    const workflow = await chain(service, [step, step])
    const contact = await newContact(service)
    const { id } = await start(service, workflow.id, contact.id)
    await advance(service)
    await track(service, contact.email, step.config.eventName)
    await advance(service)
    const after = await executionOf(service, workflow.id, id)
    assert.equal([after.status, after.currentStepId], ['WAITING', workflow.steps[1].id])
    // As by a transaction that took its time and commits in the end.
    await service.sql(
      `insert into changes (project_id, consumer, id, contact_id, event_id, name)
       select project_id, 'WORKFLOW', gen_random_uuid(), contact_id, id, name from events where contact_id = $1`,
      [contact.id],
    )
    await service.sql(
      `update events set created_at = created_at - interval '1 minute' where contact_id = $1`,
      [contact.id],
    )
    await advance(service)
    assert.is((await executionOf(service, workflow.id, id)).status, 'WAITING')
    await track(service, contact.email, step.config.eventName)
    await advance(service)
    assert.is((await executionOf(service, workflow.id, id)).status, 'COMPLETED')
  })

  test('who waits goes on when the workflow is changed or disabled, and gets no mail after leaving', async (service) => {
    const news = await templateOf(service, { type: 'MARKETING' })
    const workflow = await chain(service, [
      { type: 'DELAY', config: { amount: 1, unit: 'hours' } },
      { type: 'SEND_EMAIL', name: 'News', templateId: news },
      { type: 'EXIT', config: { reason: 'before' } },
    ])
    const contact = await newContact(service)
    const { id } = await start(service, workflow.id, contact.id)
    await advance(service)
    const exit = `/workflows/${workflow.id}/steps/${workflow.steps[2].id}`
    assert.is((await service.as().patch(exit, { config: { reason: 'after' } })).status, 200)
    assert.is((await service.as().patch(`/workflows/${workflow.id}`, { enabled: false })).status, 200)
    assert.is((await service.as().delete(`/workflows/${workflow.id}`)).status, 409)
    assert.is((await service.as().patch(`/contacts/${contact.id}`, { subscribed: false })).status, 200)
    service.clock.advance(HOUR)
    await advance(service)
    assert.is(await outcome(service, workflow.id, id), 'EXITED after')
    assert.ok((await path(service, workflow.id, id)).includes('News SKIPPED'))
  })

  test('DELAY after DELAY waits for both, as the last one ends, up to a year', async (service) => {
    const workflow = await chain(service, [
      { type: 'DELAY', config: { amount: 365, unit: 'days' } },
      { type: 'DELAY', config: { amount: 1, unit: 'hours' } },
    ])
    const contact = await newContact(service)
    const { id } = await start(service, workflow.id, contact.id)
    await advance(service)
    const [, delayed] = (await executionOf(service, workflow.id, id)).stepExecutions
    assert.is(Date.parse(delayed.scheduledFor) - Date.parse(delayed.startedAt), 365 * DAY)
    service.clock.advance(364 * DAY)
    await advance(service)
    assert.is((await executionOf(service, workflow.id, id)).currentStepId, workflow.steps[0].id)
    service.clock.advance(DAY)
    await advance(service)
    assert.is((await executionOf(service, workflow.id, id)).currentStepId, workflow.steps[1].id)
    service.clock.advance(HOUR)
    await advance(service)
    assert.is((await executionOf(service, workflow.id, id)).status, 'COMPLETED')
  })

  test('a step that fails says why, can be tried again, and takes no others with it', async (service) => {
    const templateId = await templateOf(service, { type: 'TRANSACTIONAL' })
    const update = (value: string) => ({ type: 'UPDATE_CONTACT', config: { updates: { big: value } } })
    const workflow = await chain(service, [update('x'.repeat(10_000)), { type: 'SEND_EMAIL', templateId }])
    const full = await newContact(service, { data: { filled: 'y'.repeat(60_000) } })
    const good = await newContact(service)
    const [failing, fine] = [
      await start(service, workflow.id, full.id),
      await start(service, workflow.id, good.id),
    ]
    await advance(service)
    assert.is((await executionOf(service, workflow.id, fine.id)).status, 'COMPLETED')
    const failed = await executionOf(service, workflow.id, failing.id)
    assert.is(failed.status, 'FAILED')
    assert.match(failed.exitReason, 'must not take more than 65536 bytes')
    assert.match(failed.stepExecutions[1].error, '65536')
    await service.as().patch(`/contacts/${full.id}`, { data: { filled: null } })
    const retried = await service.as().graphql(
      `mutation($id: ID!, $executionId: ID!) {
        retryWorkflowExecution(id: $id, executionId: $executionId) { status exitReason }
      }`,
      { id: workflow.id, executionId: failing.id },
    )
    assert.equal(retried.body.data, { retryWorkflowExecution: { status: 'RUNNING', exitReason: null } })
    await advance(service)
    const done = await executionOf(service, workflow.id, failing.id)
    assert.is(done.status, 'COMPLETED')
    assert.equal(
      done.stepExecutions.map(({ attempts }: Body) => attempts),
      [1, 2, 1],
    )
    assert.is(done.stepExecutions[1].error, null)
  })

  test('a step is not tried again for a contact that enters anew in the same moment', async (service) => {
    const workflow = await chain(service, [{ type: 'DELAY', config: { amount: 1, unit: 'days' } }])
    const contact = await newContact(service)
    const { id } = await start(service, workflow.id, contact.id)
    await service.sql(`update workflow_executions set status = 'FAILED', next_at = null where id = $1`, [id])
    const retry = `mutation { retryWorkflowExecution(id: "${workflow.id}", executionId: "${id}") { status } }`
    const enter = `insert into workflow_executions (project_id, id, workflow_id, contact_id, started_at)
      select project_id, gen_random_uuid(), workflow_id, contact_id, now() from workflow_executions where id = $1`
    const answer = await whileHeld(service, enter, [id], () => service.as().graphql(retry))
    assertGraphQLRefused(answer, 409, 'CONFLICT')
  })

  test('a sender that may not send any more fails the step with the reason', async (service) => {
    const templateId = await templateOf(service, { type: 'TRANSACTIONAL' })
    const workflow = await chain(service, [{ type: 'SEND_EMAIL', templateId }])
    await service.sql(`update templates set "from" = 'a@gone.example' where id = $1`, [templateId])
    const contact = await newContact(service)
    const { id } = await start(service, workflow.id, contact.id)
    await advance(service)
    assert.match(await outcome(service, workflow.id, id), /^FAILED The sender domain gone.example/)
  })

  test('a contact that is deleted takes its executions along', async (service) => {
    const workflow = await chain(service, [{ type: 'DELAY', config: { amount: 1, unit: 'days' } }])
    const contact = await newContact(service)
    await start(service, workflow.id, contact.id)
    await advance(service)
    assert.is((await service.as().delete(`/contacts/${contact.id}`)).status, 204)
    service.clock.advance(2 * DAY)
    await advance(service)
    assert.equal(await executionsOf(service, workflow.id), [])
  })
})
