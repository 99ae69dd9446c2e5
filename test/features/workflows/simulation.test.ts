import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { dump } from '../../support/dump.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Service, startService } from '../../support/service.ts'
import { templateOf } from '../sending/send-support.ts'
import { data as answerOf } from '../webhooks/webhook-support.ts'
import {
  addStep,
  advance,
  chain,
  connect,
  DAY,
  enable,
  executionOf,
  HOUR,
  MINUTE,
  newContact,
  newWorkflow,
  start,
  track,
} from './workflow-support.ts'

const started = () => startService({ ROLES: 'http' })

const SIMULATE = `query ($id: ID!, $input: SimulateWorkflowInput!) { simulateWorkflow(workflowId: $id, input: $input) {
  status exitReason endedAt email subscribed data
  timeline { at type name status branch reason until event mail { to from subject templateId }
    call { method url headers body } update { set unset subscribed } } } }`

async function simulate(service: Service, id: string, input: object): Promise<Body> {
  return (await answerOf(service.as().graphql(SIMULATE, { id, input }))).simulateWorkflow
}

const BEGIN = Date.parse('2030-05-01T08:00:00Z')
const at = (ms: number) => new Date(BEGIN + ms).toISOString()

/** Of every type of steps: who pays within a day gets thanks, others are called about and exit after two days. */
async function journey(service: Service) {
  const templateId = await templateOf(service, { type: 'MARKETING', subject: 'Hi {{name}}, {{event.plan}}' })
  const { id, steps, triggerConfig } = await newWorkflow(service)
  const names = ['Tag', 'Hello', 'Wait', 'Paid?', 'Thanks', 'Tell', 'Rest', 'Team', 'Gone']
  const configs: [string, object][] = [
    ['UPDATE_CONTACT', { config: { updates: { stage: 'new', old: null } } }],
    ['SEND_EMAIL', { templateId }],
    ['WAIT_FOR_EVENT', { config: { eventName: 'paid', timeout: DAY / 1000 } }],
    ['CONDITION', { config: { field: 'event.paid', operator: 'triggered' } }],
    ['SEND_EMAIL', { templateId }],
    [
      'WEBHOOK',
      { config: { url: 'https://a.example/{{data.name}}', method: 'POST', body: { who: '{{email}}' } } },
    ],
    ['DELAY', { config: { amount: 2, unit: 'days' } }],
    [
      'SEND_EMAIL',
      { templateId, config: { recipient: { type: 'CUSTOM', email: `team-${randomUUID()}@example.org` } } },
    ],
    ['EXIT', { config: { reason: 'gone' } }],
  ]
  const ids: string[] = []
  for (const [index, [type, more]] of configs.entries()) {
    ids.push((await addStep(service, id, { type, name: names[index], ...more })).id)
  }
  const links: [number, number, string?][] = [
    [0, 1],
    [1, 2],
    [2, 3],
    [3, 4, 'yes'],
    [3, 5, 'no'],
    [5, 6],
    [6, 7],
    [7, 8],
  ]
  await connect(service, id, { fromStepId: steps[0].id, toStepId: ids[0] ?? '' })
  for (const [from, to, branch] of links) {
    await connect(service, id, {
      fromStepId: ids[from] ?? '',
      toStepId: ids[to] ?? '',
      ...(branch && { branch }),
    })
  }
  return { id, eventName: triggerConfig.eventName, templateId }
}

const told = ({ timeline }: Body): string[] =>
  timeline.map(({ at: time, name, status, branch }: Body) =>
    [(Date.parse(time) - BEGIN) / HOUR, name, status, branch].filter((part) => part !== null).join(' '),
  )

scenario('A simulation', started, (test) => {
  test('tells both ways through every type of steps, and writes nothing', async (service) => {
    const { id, eventName } = await journey(service)
    const contact = await newContact(service, { data: { name: 'Ada', old: 1 } })
    const waiting = await chain(service, [{ type: 'WAIT_FOR_EVENT', config: { eventName: 'never' } }])
    const before = await dump(service)
    const begun = { name: eventName, at: at(0), data: { plan: 'pro' } }
    const paid = await simulate(service, id, {
      contactId: contact.id,
      events: [{ name: 'paid', at: at(-HOUR) }, { name: 'paid', at: at(3 * HOUR) }, begun],
    })
    assert.equal(told(paid), [
      '0 Trigger COMPLETED',
      '0 Tag COMPLETED',
      '0 Hello COMPLETED',
      '0 Wait WAITING',
      '3 Wait COMPLETED event',
      '3 Paid? COMPLETED yes',
      '3 Thanks COMPLETED',
    ])
    assert.equal([paid.status, paid.endedAt], ['COMPLETED', at(3 * HOUR)])
    assert.equal(paid.data, { name: 'Ada', stage: 'new' })
    const [, tag, hello, wait] = paid.timeline
    assert.equal(tag.update, { set: { stage: 'new' }, unset: ['old'], subscribed: null })
    assert.equal([hello.mail.to, hello.mail.subject], [contact.email, 'Hi Ada, pro'])
    assert.equal([wait.event, wait.until], ['paid', at(DAY)])

    const person = { email: 'Bob@Example.org', subscribed: false, data: { name: 'B/b' } }
    const gone = await simulate(service, id, {
      contact: person,
      events: [begun, { name: 'paid', at: at(DAY + 1) }],
    })
    assert.equal(told(gone).slice(2), [
      '0 Hello SKIPPED',
      '0 Wait WAITING',
      '24 Wait COMPLETED timeout',
      '24 Paid? COMPLETED no',
      '24 Tell WAITING',
      '24 Tell COMPLETED',
      '24 Rest SCHEDULED',
      '72 Rest COMPLETED',
      '72 Team SKIPPED',
      '72 Gone COMPLETED',
    ])
    assert.equal([gone.status, gone.exitReason, gone.email], ['EXITED', 'gone', 'bob@example.org'])
    assert.equal(gone.timeline.find(({ call }: Body) => call).call, {
      ...{ method: 'POST', url: 'https://a.example/B%2Fb', headers: { 'content-type': 'application/json' } },
      body: '{"who":"bob@example.org"}',
    })
    assert.match(gone.timeline.find(({ name }: Body) => name === 'Hello').reason, /./)

    assert.is((await simulate(service, waiting.id, { contact: person, context: {} })).status, 'WAITING')
    const nothing = await simulate(service, id, { contact: person, events: [{ name: 'paid', at: at(0) }] })
    assert.equal([nothing.status, nothing.timeline], [null, []])
    assert.equal(await dump(service), before)
  })

  test('goes the way that the engine goes', async (service) => {
    const { id, eventName } = await journey(service)
    await enable(service, id)
    const contact = await newContact(service, { data: { name: 'Ada' } })
    await track(service, contact.email, eventName, { plan: 'free' })
    await advance(service)
    service.clock.advance(HOUR)
    await track(service, contact.email, 'paid')
    await advance(service)
    const { body } = await service.as().get(`/workflows/${id}/executions`)
    const execution = (await service.as().get(`/workflows/${id}/executions/${body.data[0].id}`)).body
    const simulated = await simulate(service, id, {
      contact: { email: contact.email, data: { name: 'Ada' } },
      events: [
        { name: eventName, at: at(0), data: { plan: 'free' } },
        { name: 'paid', at: at(HOUR) },
      ],
    })
    assert.equal([execution.status, execution.exitReason], [simulated.status, simulated.exitReason])
    const passed = simulated.timeline.filter(({ status }: Body) => status !== 'WAITING')
    assert.equal(
      execution.stepExecutions.map(({ status }: Body) => status),
      passed.map(({ status }: Body) => status),
    )
    const mails = await service.sql<{ subject: string }>(
      'select subject from emails where workflow_execution_id = $1 order by id',
      [execution.id],
    )
    assert.equal(
      mails.map(({ subject }) => subject),
      simulated.timeline.flatMap(({ mail }: Body) => (mail ? [mail.subject] : [])),
    )
  })

  test('asks how old things are at its own time', async (service) => {
    const fields = ['createdAt', 'event.signed']
    const filters = fields.map((field) => ({
      ...{ field, operator: field === 'createdAt' ? 'within' : 'triggeredWithin', value: 1, unit: 'hours' },
    }))
    const config = { condition: { logic: 'AND', groups: [{ filters }] } }
    const { id } = await chain(service, [{ type: 'CONDITION', config }])
    const simulated = await simulate(service, id, {
      ...{ contact: { email: 'new@example.org' }, context: {}, startAt: at(0) },
      events: [{ name: 'signed', at: at(-MINUTE) }],
    })
    assert.is(simulated.timeline[1].branch, 'yes')
  })

  test('skips mail to an address that the engine skips', async (service) => {
    const templateId = await templateOf(service, { type: 'MARKETING' })
    const recipient = { type: 'CUSTOM', email: `new-${randomUUID()}@example.org` }
    const workflow = await chain(service, [{ type: 'SEND_EMAIL', templateId, config: { recipient } }])
    const contact = await newContact(service)
    const simulated = await simulate(service, workflow.id, { contactId: contact.id, context: {} })
    const { id } = await start(service, workflow.id, contact.id)
    await advance(service)
    const { stepExecutions } = await executionOf(service, workflow.id, id)
    for (const { status } of [simulated.timeline[1], stepExecutions[1]]) assert.is(status, 'SKIPPED')
  })

  test('is bounded, and refuses what it cannot do', async (service) => {
    const { id } = await journey(service)
    const contact = { email: 'ada@example.org' }
    const refused = async (input: object) => {
      const { body } = await service.as().graphql(SIMULATE, { id, input })
      return body.errors[0].extensions.code
    }
    const events = Array.from({ length: 101 }, () => ({ name: 'x', at: at(0) }))
    assert.is(await refused({ contact, events }), 'VALIDATION_ERROR')
    assert.is(await refused({}), 'VALIDATION_ERROR')
    assert.is(await refused({ contact, contactId: randomUUID() }), 'VALIDATION_ERROR')
    assert.is(await refused({ contactId: randomUUID() }), 'CONTACT_NOT_FOUND')
    assert.is(await refused({ contact, startAt: '2030-05-01T08:00:00' }), 'VALIDATION_ERROR')
    assert.is(await refused({ contact, context: { x: 'x'.repeat(262_144) } }), 'PAYLOAD_TOO_LARGE')
    const searching = { field: 'data.text', operator: 'contains', value: 'b' }
    const searches = async (fields: number) => {
      const groups = [{ filters: Array.from({ length: fields }, () => searching) }]
      const condition = { type: 'CONDITION', config: { condition: { logic: 'AND', groups } } }
      const { id: searched } = await chain(service, [condition])
      const person = { ...contact, data: { text: 'a'.repeat(60_000) } }
      const { body } = await service
        .as()
        .graphql(SIMULATE, { id: searched, input: { contact: person, context: {} } })
      return body.errors?.[0].extensions.code ?? body.data.simulateWorkflow.timeline[1]?.branch
    }
    assert.equal([await searches(16), await searches(17)], ['no', 'PAYLOAD_TOO_LARGE'])
    // 60 calls of 50 KB each are more than an answer holds.
    const body = '{{#event.list}}{{text}}{{/event.list}}'
    const step = { type: 'WEBHOOK', config: { url: 'https://a.example/', method: 'POST', body } }
    const workflow = await chain(
      service,
      Array.from({ length: 60 }, () => step),
    )
    const context = { list: [1, 2, 3, 4, 5].map(() => ({ text: 'x'.repeat(10_000) })) }
    const { body: answer } = await service
      .as()
      .graphql(SIMULATE, { id: workflow.id, input: { contact, context } })
    assert.is(answer.errors[0].extensions.code, 'PAYLOAD_TOO_LARGE')
  })
})
