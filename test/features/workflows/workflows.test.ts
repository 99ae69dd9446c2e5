import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { purgeExpiredJob } from '../../../src/features/operations/purge-expired.job.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, startService } from '../../support/service.ts'
import { newSegment } from '../segments/segment-support.ts'
import { templateOf } from '../sending/send-support.ts'
import {
  addStep,
  advance,
  chain,
  connect,
  DAY,
  enable,
  executionsOf,
  newContact,
  newWorkflow,
  start,
  workflowOf,
} from './workflow-support.ts'

const started = () => startService({ ROLES: 'http' })

const fieldsOf = (body: Body) => body.error.errors.map(({ field, code }: Body) => `${field} ${code}`)

const delay = { type: 'DELAY', config: { amount: 1, unit: 'days' } }

scenario('Workflows', started, (test) => {
  test('are created with a TRIGGER, listed with counts, changed, copied and deleted', async (service) => {
    const workflow = await newWorkflow(service, { description: 'First days' })
    assert.equal(
      [workflow.enabled, workflow.triggerType, workflow.allowReentry, workflow.transitions],
      [false, 'EVENT', false, []],
    )
    assert.equal(
      workflow.steps.map(({ type, config }: Body) => [type, config]),
      [['TRIGGER', {}]],
    )
    const step = await addStep(service, workflow.id, { ...delay, position: { x: 3.5, y: -4 } })
    assert.equal([step.name, step.position, step.templateId], ['Delay', { x: 3.5, y: -4 }, null])
    await connect(service, workflow.id, { fromStepId: workflow.steps[0].id, toStepId: step.id })
    await enable(service, workflow.id, { description: null })
    await start(service, workflow.id, (await newContact(service)).id)
    const { body: page } = await service.as().get('/workflows?search=onboarding')
    const listed = page.data.find(({ id }: Body) => id === workflow.id)
    assert.equal(
      [listed.stepCount, listed.executionCount, listed.activeExecutionCount, listed.description],
      [2, 1, 1, null],
    )
    const copied = await service.as().graphql(
      `mutation($id: ID!) { duplicateWorkflow(id: $id) {
        id name enabled steps { id type } transitions { fromStepId toStepId } } }`,
      { id: workflow.id },
    )
    const copy = copied.body.data.duplicateWorkflow
    assert.equal([copy.name, copy.enabled], ['Onboarding (Copy)', false])
    assert.equal(copy.steps.map(({ type }: Body) => type).toSorted(), ['DELAY', 'TRIGGER'])
    const ids = new Set(copy.steps.map(({ id }: Body) => id))
    assert.ok(ids.has(copy.transitions[0].fromStepId) && ids.has(copy.transitions[0].toStepId))
    assert.not(ids.has(step.id))
    assert.is((await service.as().delete(`/workflows/${workflow.id}`)).status, 409)
    const { body: all } = await service.as().post(`/workflows/${workflow.id}/executions/cancel-all`)
    assert.equal(all, { cancelled: 1 })
    assert.is((await service.as().delete(`/workflows/${workflow.id}`)).status, 204)
    assert.is((await service.as().get(`/workflows/${workflow.id}`)).status, 404)
    await advance(service)
    for (const table of ['workflows', 'workflow_steps', 'workflow_executions', 'workflow_entries']) {
      const column = table === 'workflows' ? 'id' : 'workflow_id'
      assert.equal(await service.sql(`select from ${table} where ${column} = $1`, [workflow.id]), [], table)
    }
  })

  test('refuse settings that a step does not take, all at once, with their paths', async (service) => {
    const { id } = await newWorkflow(service)
    const templateId = await templateOf(service, {})
    const refused: [object, string[]][] = [
      [{ type: 'TRIGGER' }, ['type invalid_enum_value']],
      [{ type: 'DELAY' }, ['config.amount required']],
      [{ type: 'DELAY', config: { amount: 525_601, unit: 'minutes' } }, ['config.amount too_big']],
      [
        { type: 'DELAY', config: { amount: 0, unit: 'weeks' } },
        ['config.amount too_small', 'config.unit invalid_enum_value'],
      ],
      [
        { type: 'DELAY', config: { until: 'tomorrow', timezone: 'Mars/Base' } },
        ['config.until invalid_date', 'config.timezone invalid_string'],
      ],
      [
        { type: 'WAIT_FOR_EVENT', config: { timeout: 31_536_001 } },
        ['config.eventName required', 'config.timeout too_big'],
      ],
      [
        { type: 'CONDITION', config: { field: 'data.plan', operator: 'resembles' } },
        ['config.operator invalid_enum_value'],
      ],
      [
        { type: 'CONDITION', config: { field: `segment.${randomUUID()}`, operator: 'memberOfSegment' } },
        ['config.field custom'],
      ],
      [{ type: 'SEND_EMAIL' }, ['templateId required']],
      [
        { type: 'SEND_EMAIL', templateId, config: { recipient: { type: 'CUSTOM' } } },
        ['config.recipient.email required'],
      ],
      [
        { type: 'UPDATE_CONTACT', config: { subscriptionAction: 'maybe' } },
        ['config.subscriptionAction invalid_enum_value'],
      ],
      [{ type: 'EXIT', config: { reason: 'x'.repeat(256) } }, ['config.reason too_big']],
      [{ type: 'UPDATE_CONTACT', config: { updates: { big: 'x'.repeat(20_000) } } }, ['config too_big']],
    ]
    for (const [step, expected] of refused) {
      const { status, body } = await service.as().post(`/workflows/${id}/steps`, step)
      assert.is(status, 422, JSON.stringify(step))
      assert.equal(fieldsOf(body), expected, JSON.stringify(step))
    }
  })

  test('refuse a graph that would lead back, and steps without a branch', async (service) => {
    const { id, steps } = await newWorkflow(service)
    const trigger = steps[0].id
    const [first, second] = [await addStep(service, id, delay), await addStep(service, id, delay)]
    const fork = await addStep(service, id, {
      type: 'CONDITION',
      config: { field: 'subscribed', operator: 'equals', value: true },
    })
    const exit = await addStep(service, id, { type: 'EXIT' })
    await connect(service, id, { fromStepId: trigger, toStepId: first.id })
    await connect(service, id, { fromStepId: first.id, toStepId: second.id })
    await connect(service, id, { fromStepId: second.id, toStepId: fork.id })
    await connect(service, id, { fromStepId: fork.id, toStepId: exit.id, branch: 'yes' })
    const refused: [object, string][] = [
      [{ fromStepId: exit.id, toStepId: first.id }, 'fromStepId custom'],
      [{ fromStepId: first.id, toStepId: first.id }, 'toStepId custom'],
      [{ fromStepId: second.id, toStepId: trigger }, 'toStepId custom'],
      [{ fromStepId: first.id, toStepId: exit.id }, 'fromStepId custom'],
      [{ fromStepId: fork.id, toStepId: first.id, branch: 'no' }, 'toStepId custom'],
      [{ fromStepId: fork.id, toStepId: exit.id }, 'branch required'],
      [{ fromStepId: fork.id, toStepId: exit.id, condition: { branch: 'yes' } }, 'branch custom'],
      [{ fromStepId: fork.id, toStepId: exit.id, branch: 'maybe' }, 'branch invalid_enum_value'],
      [{ fromStepId: randomUUID(), toStepId: exit.id }, 'fromStepId custom'],
    ]
    for (const [link, expected] of refused) {
      const { status, body } = await service.as().post(`/workflows/${id}/transitions`, link)
      assert.is(status, 422, JSON.stringify(link))
      assert.equal(fieldsOf(body), [expected], JSON.stringify(link))
    }
  })

  test('take a step out and put one in', async (service) => {
    const { id, steps } = await newWorkflow(service)
    const trigger = steps[0].id
    const [first, last] = [await addStep(service, id, delay), await addStep(service, id, { type: 'EXIT' })]
    await connect(service, id, { fromStepId: trigger, toStepId: first.id })
    const link = await connect(service, id, { fromStepId: first.id, toStepId: last.id })
    const inserted = await service.as().graphql(
      `mutation($id: ID!, $input: InsertStepInput!) { insertStep(id: $id, input: $input) {
        steps { id type } transitions { fromStepId toStepId branch } } }`,
      {
        id,
        input: {
          transitionId: link.id,
          type: 'CONDITION',
          config: { field: 'subscribed', operator: 'equals', value: true },
        },
      },
    )
    const graph = inserted.body.data.insertStep
    const fork = graph.steps.find(({ type }: Body) => type === 'CONDITION').id
    assert.equal(
      graph.transitions
        .map(({ fromStepId, toStepId, branch }: Body) => `${fromStepId} ${toStepId} ${branch}`)
        .toSorted(),
      [`${trigger} ${first.id} null`, `${first.id} ${fork} null`, `${fork} ${last.id} yes`].toSorted(),
    )
    await connect(service, id, {
      fromStepId: fork,
      toStepId: (await addStep(service, id, delay)).id,
      branch: 'no',
    })
    assert.is((await service.as().delete(`/workflows/${id}/steps/${fork}?splice=true`)).status, 400)
    assert.is((await service.as().delete(`/workflows/${id}/steps/${first.id}?splice=true`)).status, 204)
    const spliced = await workflowOf(service, id)
    assert.ok(spliced.transitions.some((one: Body) => one.fromStepId === trigger && one.toStepId === fork))
    assert.is((await service.as().delete(`/workflows/${id}/steps/${fork}`)).status, 204)
    assert.equal((await workflowOf(service, id)).transitions, [])
    assert.is((await service.as().delete(`/workflows/${id}/steps/${trigger}`)).status, 422)
  })

  test('are enabled when nothing is wrong with them, and tell all that is', async (service) => {
    const workflow = await newWorkflow(service, { eventName: undefined })
    const step = await addStep(service, workflow.id, {
      type: 'WEBHOOK',
      config: { url: 'https://example.org', method: 'POST' },
    })
    // What was allowed when it was written may not be any more.
    await service.sql(`update workflow_steps set config = '{"method": "POST"}' where id = $1`, [step.id])
    const refused = await service.as().patch(`/workflows/${workflow.id}`, { enabled: true })
    assert.is(refused.status, 422)
    assert.equal(fieldsOf(refused.body), ['triggerConfig.eventName required', 'config.url required'])
    const { body } = await service
      .as()
      .graphql('($id: ID!) { validateWorkflow(id: $id) { severity code stepId } }'.replace('(', 'query('), {
        id: workflow.id,
      })
    assert.equal(
      body.data.validateWorkflow.map(({ severity, code }: Body) => `${severity} ${code}`),
      ['ERROR required', 'ERROR required', 'WARNING unreachable'],
    )
    const manual = await service.as().patch(`/workflows/${workflow.id}`, { triggerType: 'MANUAL' })
    assert.equal([manual.status, manual.body.triggerConfig], [200, {}])
  })

  test('keep what they name from being deleted, enabled or not', async (service) => {
    const segment = await newSegment(service)
    const event = `left.${randomUUID()}`
    const templateId = await templateOf(service, {})
    await newContact(service, { data: { rank: 1 } })
    const { id } = await newWorkflow(service)
    await addStep(service, id, { type: 'WAIT_FOR_EVENT', config: { eventName: event } })
    await addStep(service, id, {
      type: 'CONDITION',
      config: { field: `segment.${segment.id}`, operator: 'memberOfSegment' },
    })
    await addStep(service, id, { type: 'UPDATE_CONTACT', config: { updates: { rank: 2 } } })
    await addStep(service, id, { type: 'SEND_EMAIL', templateId })
    for (const path of [
      `/segments/${segment.id}`,
      `/events/${event}`,
      '/contacts/fields/data.rank',
      `/templates/${templateId}`,
    ]) {
      assert.is((await service.as().delete(path)).status, 409, path)
    }
    const { body } = await service.as().get(`/events/${event}/usage`)
    assert.equal(body.usedInWorkflows, [{ id, name: 'Onboarding' }])
    assert.is((await service.as().delete(`/workflows/${id}`)).status, 204)
    assert.is((await service.as().delete(`/templates/${templateId}`)).status, 204)
    assert.is((await service.as().delete(`/segments/${segment.id}`)).status, 204)
  })

  test('keep their steps while executions are active, but not their settings', async (service) => {
    const workflow = await chain(service, [delay])
    await start(service, workflow.id, (await newContact(service)).id)
    await advance(service)
    const [step] = workflow.steps
    const path = `/workflows/${workflow.id}/steps`
    assert.is((await service.as().post(path, delay)).status, 409)
    assert.is((await service.as().delete(`${path}/${step.id}`)).status, 409)
    const changed = await service.as().patch(`${path}/${step.id}`, { config: { amount: 2, unit: 'days' } })
    assert.is(changed.status, 200)
    assert.is((await service.as().patch(`/workflows/${workflow.id}`, { enabled: false })).status, 200)
    service.clock.advance(DAY)
    await advance(service)
    assert.is((await executionsOf(service, workflow.id))[0].status, 'COMPLETED')
    const late = await service.as().post(`/workflows/${workflow.id}/executions`, {
      contactId: (await newContact(service)).id,
    })
    assert.is(late.status, 409)
  })

  test('of another project cannot be seen', async (service) => {
    const workflow = await chain(service, [delay])
    const other = service.as(await service.newProject())
    for (const path of ['', '/executions', `/executions/${randomUUID()}`]) {
      assert.is((await other.get(`/workflows/${workflow.id}${path}`)).status, 404)
    }
    assert.is((await other.patch(`/workflows/${workflow.id}`, { enabled: false })).status, 404)
  })

  test('that are over are kept for their time', async (service) => {
    const workflow = await chain(service, [{ type: 'EXIT' }])
    await start(service, workflow.id, (await newContact(service)).id)
    await advance(service)
    assert.is((await executionsOf(service, workflow.id)).length, 1)
    service.clock.advance(91 * DAY)
    await purgeExpiredJob.run(service.ctx(), {})
    assert.equal(await executionsOf(service, workflow.id), [])
  })
})
