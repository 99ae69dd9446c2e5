import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { MINUTE } from '../../support/clock.ts'
import { noteInterests } from '../../support/interests.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Project, type Service, startService } from '../../support/service.ts'
import { graphqlValue } from '../contacts/contact-support.ts'
import { got, newContacts, record, recount, usedInSegment } from '../events/event-support.ts'

const start = () => startService({ ROLES: 'http' })

const NAMES = '{ eventNames { eventNames } }'

async function namesOf(service: Service, project: Project): Promise<string[]> {
  const body = await got(service, '/names', project)
  assert.equal(await graphqlValue(service, NAMES, {}, project), body, 'GraphQL agrees')
  assert.equal(Object.keys(body), ['eventNames'])
  return body.eventNames
}

scenario('GET /events/names', start, (test) => {
  test('shows every name once, in their order, counted or not', async (service) => {
    const project = await service.newProject()
    assert.equal(await namesOf(service, project), [])
    const [ada] = await newContacts(service, 1, project)
    const did = (name: string) => ({ name, contactId: ada, at: service.clock.now() })
    await record(service, ['b', 'email.sent', 'b', 'Z', 'ä'].map(did), project)
    assert.equal(await namesOf(service, project), ['Z', 'b', 'email.sent', 'ä'])
    service.clock.advance(MINUTE)
    await recount(service, project)
    assert.equal(await namesOf(service, project), ['Z', 'b', 'email.sent', 'ä'])
    await record(service, [did('b'), did('c')], project)
    assert.equal(await namesOf(service, project), ['Z', 'b', 'c', 'email.sent', 'ä'])
  })

  test('shows the first 100,000 of more', async (service) => {
    const project = await service.newProject()
    const [ada] = await newContacts(service, 1, project)
    await service.sql(
      `insert into events (project_id, id, contact_id, name, created_at)
       select $1, gen_random_uuid(), $2, lpad(n::text, 6, '0'), now() from generate_series(1, 100001) n`,
      [project.id, ada],
    )
    const { eventNames } = await got(service, '/names', project)
    assert.equal([eventNames.length, eventNames[0], eventNames.at(-1)], [100_000, '000001', '100000'])
  })

  test('is of the project alone, and for its secret key', async (service) => {
    const [foreign] = await newContacts(service, 1, service.project)
    await record(service, [{ name: 'x', contactId: foreign, at: service.clock.now() }], service.project)
    assert.equal(await namesOf(service, await service.newProject()), [])
    const answer = await service.as(service.project.public).get('/events/names')
    assertRefused(answer, 401, 'INVALID_API_KEY')
  })
})

const USAGE = `query ($eventName: String!) {
  eventUsage(eventName: $eventName) {
    usedInSegments { id name } usedInCampaigns { id name } usedInWorkflows { id name }
    totalCount uniqueContacts canDelete
  }
}`

async function usageOf(service: Service, eventName: string, project: Project): Promise<Body> {
  const body = await got(service, `/${encodeURIComponent(eventName)}/usage`, project)
  assert.equal(await graphqlValue(service, USAGE, { eventName }, project), body, 'GraphQL agrees')
  return body
}

const UNUSED = {
  ...{ usedInSegments: [], usedInCampaigns: [], usedInWorkflows: [] },
  ...{ totalCount: 0, uniqueContacts: 0, canDelete: true },
}

const treeOf = (event: string) =>
  JSON.stringify({
    logic: 'OR',
    groups: [{ filters: [{ field: `event.${event}`, operator: 'triggered' }] }],
  })

async function usedInCampaign(service: Service, event: string, status: string, project: Project) {
  const campaign = { id: randomUUID(), name: `A ${status} one` }
  await service.sql(
    `insert into campaigns (project_id, id, name, subject, body, "from", audience_type, audience_condition,
       status, created_at, updated_at)
     values ($1, $2, $3, 'Hi', 'Hi', 'a@example.org', 'FILTERED', $4, $5::campaign_status, now(), now())`,
    [project.id, campaign.id, campaign.name, treeOf(event), status],
  )
  await noteInterests(service, project.id)
  return campaign
}

async function usedInWorkflow(
  service: Service,
  trigger: object,
  steps: [string, object][],
  project: Project,
) {
  const workflow = { id: randomUUID(), name: 'Onboarding' }
  await service.sql(
    `insert into workflows (project_id, id, name, trigger_type, trigger_config, created_at, updated_at)
     values ($1, $2, $3, 'EVENT', $4, now(), now())`,
    [project.id, workflow.id, workflow.name, JSON.stringify(trigger)],
  )
  for (const [type, config] of steps) {
    await service.sql(
      `insert into workflow_steps (project_id, id, workflow_id, type, name, config, created_at, updated_at)
       values ($1, gen_random_uuid(), $2, $3::step_type, 'Step', $4, now(), now())`,
      [project.id, workflow.id, type, JSON.stringify(config)],
    )
  }
  await noteInterests(service, project.id)
  return workflow
}

scenario('GET /events/:eventName/usage', start, (test) => {
  test('counts events and contacts, counted or not', async (service) => {
    const project = await service.newProject()
    const [ada, bob = ''] = await newContacts(service, 2, project)
    const did = (name: string, contactId: string) => ({ name, contactId, at: service.clock.now() })
    await record(service, [did('e', ada), did('e', bob), did('e', ada), did('f', ada)], project)
    const expected = { ...UNUSED, totalCount: 3, uniqueContacts: 2 }
    assert.equal(await usageOf(service, 'e', project), expected)
    service.clock.advance(MINUTE)
    await recount(service, project)
    assert.equal(await usageOf(service, 'e', project), expected)
    await record(service, [did('e', bob)], project)
    assert.equal(await usageOf(service, 'e', project), { ...expected, totalCount: 4 })
    const other = await service.newProject()
    assert.equal(await usageOf(service, 'e', other), UNUSED, 'of another project')
  })

  test('names what refers to the event', async (service) => {
    const project = await service.newProject()
    const segment = await usedInSegment(service, 'e', project)
    const campaigns = []
    for (const status of ['DRAFT', 'SCHEDULED', 'SENDING']) {
      campaigns.push(await usedInCampaign(service, 'e', status, project))
    }
    for (const status of ['SENT', 'CANCELLED']) await usedInCampaign(service, 'e', status, project)
    const workflows = [
      await usedInWorkflow(service, { eventName: 'e' }, [], project),
      await usedInWorkflow(service, {}, [['WAIT_FOR_EVENT', { eventName: 'e' }]], project),
      await usedInWorkflow(
        service,
        { eventName: 'f' },
        [['CONDITION', { condition: JSON.parse(treeOf('e')) }]],
        project,
      ),
    ]
    await usedInWorkflow(service, { eventName: 'other' }, [['SEND_EMAIL', { eventName: 'e' }]], project)
    await usedInSegment(service, 'other', project)
    const usage = await usageOf(service, 'e', project)
    const byId = (all: Body[]) => all.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    assert.equal(usage, {
      ...UNUSED,
      usedInSegments: [segment],
      usedInCampaigns: byId(campaigns),
      usedInWorkflows: byId(workflows),
      canDelete: false,
    })
    assert.is((await usageOf(service, 'f', project)).usedInWorkflows.length, 1)
    assert.equal(await usageOf(service, 'e', service.project), UNUSED, 'in another project')
    assert.equal(await usageOf(service, 'E', project), UNUSED, 'the case of a name matters')
  })

  test('does not let the service’s own events be deleted', async (service) => {
    for (const name of ['email.sent', 'contact.subscribed', 'segment.vip.entry']) {
      assert.equal(await usageOf(service, name, service.project), { ...UNUSED, canDelete: false })
    }
  })

  test('takes every name that an event can have', async (service) => {
    const project = await service.newProject()
    const [ada] = await newContacts(service, 1, project)
    for (const name of ['a/b?c=d&e#f', 'names', 'stats', '100%', ' ', '鍵 🔑', 'e'.repeat(255), "'; --"]) {
      await record(service, [{ name, contactId: ada, at: service.clock.now() }], project)
      assert.is((await usageOf(service, name, project)).totalCount, 1, name)
    }
  })

  test('refuses names that no event can have', async (service) => {
    assertRefused(await service.as().get(`/events/${'e'.repeat(256)}/usage`), 400, 'BAD_REQUEST')
    const answer = await service.as().graphql(USAGE, { eventName: 'e'.repeat(256) })
    assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
    assertRefused(await service.as().get('/events/%00/usage'), 404, 'RESOURCE_NOT_FOUND')
  })
})
