import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { makeCallsJob } from '../../../src/features/webhooks/make-calls.job.ts'
import { followStream } from '../../support/event-stream.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Service, startService } from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'
import { newSegment } from '../segments/segment-support.ts'
import { data as answerOf } from '../webhooks/webhook-support.ts'
import {
  advance,
  chain,
  enable,
  HOUR,
  MINUTE,
  newContact,
  newWorkflow,
  start,
  track,
} from './workflow-support.ts'

const started = () => startService({ ROLES: 'http' })

const EXPLAIN_EXECUTION = `query ($id: ID!, $executionId: ID!) { explainExecution(workflowId: $id, executionId: $executionId) {
  code text stepName since until event callId wokenBy } }`
const EXPLAIN_ENTRY = `query ($id: ID!, $contactId: ID!) { explainEntry(workflowId: $id, contactId: $contactId) {
  code text hasEntered mayEnter enteredAt executionId lastEventAt nextRunAt } }`

const whyThere = async ({ as }: Service, id: string, executionId: string): Promise<Body> =>
  (await answerOf(as().graphql(EXPLAIN_EXECUTION, { id, executionId }))).explainExecution

const whyIn = async ({ as }: Service, id: string, contactId: string): Promise<Body> =>
  (await answerOf(as().graphql(EXPLAIN_ENTRY, { id, contactId }))).explainEntry

scenario('Explanations', started, (test) => {
  test('say what an execution waits for, and what would move it', async (service) => {
    const cases: [object, string, RegExp][] = [
      [{ type: 'DELAY', config: { amount: 1, unit: 'hours' } }, 'WAITS_FOR_TIME', /until 2/],
      [{ type: 'WAIT_FOR_EVENT', config: { eventName: 'paid' } }, 'WAITS_FOR_EVENT', /"paid".*no time-out/],
      [
        { type: 'WAIT_FOR_EVENT', config: { eventName: 'paid', timeout: 60 } },
        'WAITS_FOR_EVENT_OR_TIME',
        /until 2/,
      ],
      [
        { type: 'WEBHOOK', config: { url: 'http://127.0.0.1/', method: 'POST' } },
        'WAITS_FOR_CALL',
        /end of its call/,
      ],
      [{ type: 'EXIT', config: { reason: 'done with it' } }, 'EXITED', /done with it\.$/],
      [{ type: 'UPDATE_CONTACT', config: {} }, 'COMPLETED', /COMPLETED/],
    ]
    for (const [step, code, text] of cases) {
      const workflow = await chain(service, [{ ...step, name: 'Here' }])
      const contact = await newContact(service)
      const { id } = await start(service, workflow.id, contact.id)
      assert.is((await whyThere(service, workflow.id, id)).code, 'GOES_ON')
      await advance(service)
      const why = await whyThere(service, workflow.id, id)
      assert.equal([why.code, why.stepName], [code, 'Here'], why.text)
      assert.match(why.text, text)
      assert.is(why.wokenBy.length > 0, code.startsWith('WAITS'))
      assert.is(
        why.until !== null,
        ['WAITS_FOR_TIME', 'WAITS_FOR_EVENT_OR_TIME', 'WAITS_FOR_CALL'].includes(code),
      )
      assert.is(why.callId !== null, code === 'WAITS_FOR_CALL')
      assert.is(why.event, code.startsWith('WAITS_FOR_EVENT') ? 'paid' : null)
      if (code !== 'WAITS_FOR_CALL') continue
      // Private addresses are refused: the step fails.
      await workThrough(service, makeCallsJob)
      await advance(service)
      const failed = await whyThere(service, workflow.id, id)
      assert.equal([failed.code, failed.wokenBy.length], ['FAILED', 1])
      assert.match(failed.text, /private ones are not called/)
    }
    const resting = await chain(service, [{ type: 'DELAY', config: { amount: 1, unit: 'hours' } }])
    const { id } = await start(service, resting.id, (await newContact(service)).id)
    await service.sql('update projects set disabled = true where id = $1', [service.project.id])
    assert.is((await whyThere(service, resting.id, id)).code, 'PROJECT_DISABLED')
    await service.sql('update projects set disabled = false where id = $1', [service.project.id])
    assert.is((await service.as().delete(`/workflows/${resting.id}/executions/${id}`)).status, 204)
    assert.is((await whyThere(service, resting.id, id)).code, 'CANCELLED')
  })

  test('say why a contact has not entered', async (service) => {
    const contact = await newContact(service)
    const why = async (id: string) => {
      const { code, mayEnter, hasEntered } = await whyIn(service, id, contact.id)
      return [code, mayEnter, hasEntered]
    }
    const workflow = await newWorkflow(service)
    const { eventName } = workflow.triggerConfig
    await track(service, contact.email, eventName)
    assert.equal(await why(workflow.id), ['WORKFLOW_DISABLED', false, false])
    await enable(service, workflow.id)
    await advance(service)
    assert.equal(await why(workflow.id), ['EVENT_NOT_HEARD', true, false])
    const other = await chain(service, [{ type: 'EXIT' }])
    assert.equal(await why(other.id), ['NO_SUCH_EVENT', true, false])
    await track(service, contact.email, other.eventName, { initial: true })
    assert.equal(await why(other.id), ['EVENT_UNDER_WAY', true, false])
    await advance(service)
    assert.equal(await why(other.id), ['FIRST_FILL', true, false])
    await enable(service, other.id, { triggerType: 'MANUAL' })
    assert.equal(await why(other.id), ['ONLY_ON_REQUEST', true, false])
    const condition = {
      logic: 'AND',
      groups: [{ filters: [{ field: 'data.vip', operator: 'equals', value: true }] }],
    }
    const segment = await newSegment(service, { condition })
    const triggerConfig = { cron: '0 9 * * *', segmentId: segment.id }
    await enable(service, other.id, { triggerType: 'SCHEDULE', triggerConfig })
    assert.equal(await why(other.id), ['NOT_IN_SEGMENT', true, false])
    await service.as().patch(`/contacts/${contact.id}`, { data: { vip: true } })
    const next = await whyIn(service, other.id, contact.id)
    assert.is(next.code, 'AT_NEXT_TIME')
    assert.is.not(next.nextRunAt, null)
    await service.sql('update projects set disabled = true where id = $1', [service.project.id])
    assert.equal(await why(other.id), ['PROJECT_DISABLED', false, false])
    await service.sql('update projects set disabled = false where id = $1', [service.project.id])
    await service.sql(
      `update workflows set trigger_type = 'EVENT', trigger_config = '{}', next_at = null where id = $1`,
      [other.id],
    )
    assert.equal(await why(other.id), ['TRIGGER_INCOMPLETE', true, false])
  })

  test('say why a contact has entered, and whether it may again', async (service) => {
    const contact = await newContact(service)
    const workflow = await chain(service, [{ type: 'DELAY', config: { amount: 1, unit: 'hours' } }])
    const execution = await start(service, workflow.id, contact.id)
    const inside = await whyIn(service, workflow.id, contact.id)
    assert.equal(
      [inside.code, inside.executionId, inside.enteredAt, inside.mayEnter],
      ['IN_WORKFLOW', execution.id, execution.startedAt, false],
    )
    await advance(service)
    service.clock.advance(HOUR)
    await advance(service)
    assert.is((await whyIn(service, workflow.id, contact.id)).code, 'ENTERED_ONCE')
    await service.sql('delete from workflow_executions where workflow_id = $1', [workflow.id])
    assert.match((await whyIn(service, workflow.id, contact.id)).text, /not kept any more/)
    const again = await chain(service, [{ type: 'EXIT' }], { allowReentry: true })
    await track(service, contact.email, again.eventName)
    service.clock.advance(MINUTE)
    await advance(service)
    const last = await whyIn(service, again.id, contact.id)
    assert.equal([last.code, last.mayEnter, last.hasEntered], ['EVENT_BEFORE_LAST_ENTRY', true, true])
    await service.sql('update workflow_entries set recent = 50, recent_since = $2 where workflow_id = $1', [
      again.id,
      service.clock.now(),
    ])
    const often = await whyIn(service, again.id, contact.id)
    assert.equal([often.code, often.mayEnter], ['TOO_MANY_ENTRIES', false])
    const gone = await service.as().graphql(EXPLAIN_ENTRY, { id: again.id, contactId: randomUUID() })
    assert.is(gone.body.errors[0].extensions.code, 'CONTACT_NOT_FOUND')
  })

  test('of a workflow as a whole are live counts, at once and at every change', async (service) => {
    const workflow = await chain(service, [{ type: 'DELAY', config: { amount: 1, unit: 'hours' } }])
    const query =
      'subscription ($id: ID!) { workflowProgress(id: $id) { stepId waiting completed skipped failed } }'
    const stream = await followStream(service, service.project.secret, workflow.id, { query })
    const delayed = async () => {
      const { data } = await stream.next()
      const { waiting, completed } = data.workflowProgress.find(
        ({ stepId }: Body) => stepId === workflow.steps[0].id,
      )
      return [waiting, completed]
    }
    assert.equal(await delayed(), [0, 0])
    await start(service, workflow.id, (await newContact(service)).id)
    await advance(service)
    let last = await delayed()
    // The TRIGGER step may have been counted alone.
    if (last[0] === 0) last = await delayed()
    assert.equal(last, [1, 0])
    service.clock.advance(HOUR)
    await advance(service)
    assert.equal(await delayed(), [0, 1])
    stream.leave()
    const unknown = await followStream(service, service.project.secret, randomUUID(), { query })
    assert.is(unknown.response.status, 404)
  })
})
