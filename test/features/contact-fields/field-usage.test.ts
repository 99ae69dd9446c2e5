import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { deleteFieldsJob } from '../../../src/features/contact-fields/delete-fields.job.ts'
import { noteInterests } from '../../support/interests.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import {
  type Answer,
  type Body,
  type Project,
  type Service,
  startService,
  until,
} from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'
import { getJob, imported, jobIdOf, postImport } from '../contact-jobs/job-support.ts'
import { contactOf, graphqlValue, newContact } from '../contacts/contact-support.ts'

/** With a worker, which deletes fields. */
const start = () => startService()

const filterOn = (field: string) => ({ field, operator: 'exists' })
const treeOn = (field: string) => ({ logic: 'AND', groups: [{ filters: [filterOn(field)] }] })
/** The field stands two trees down, beside others. */
const deepTreeOn = (field: string) => ({
  logic: 'OR',
  groups: [
    { filters: [filterOn('data.other')] },
    { filters: [], conditions: { logic: 'AND', groups: [{ filters: [], conditions: treeOn(field) }] } },
  ],
})

async function newSegment(service: Service, project: Project, condition: unknown): Promise<string> {
  const id = randomUUID()
  await service.sql(
    `insert into segments (project_id, id, name, slug, type, condition, created_at, updated_at)
     values ($1, $2, 'Segment', $3, 'DYNAMIC', $4, now(), now())`,
    [project.id, id, id, JSON.stringify(condition)],
  )
  await noteInterests(service, project.id)
  return id
}

async function newCampaign(
  service: Service,
  project: Project,
  condition: unknown,
  status = 'DRAFT',
): Promise<string> {
  const id = randomUUID()
  await service.sql(
    `insert into campaigns (project_id, id, name, subject, body, "from", status, audience_type, audience_condition,
       created_at, updated_at)
     values ($1, $2, 'Campaign', 's', 'b', 'a@example.org', $3::campaign_status, 'FILTERED', $4, now(), now())`,
    [project.id, id, status, JSON.stringify(condition)],
  )
  await noteInterests(service, project.id)
  return id
}

async function newWorkflow(
  service: Service,
  project: Project,
  type: string,
  config: unknown,
): Promise<string> {
  const id = randomUUID()
  await service.sql(
    `insert into workflows (project_id, id, name, enabled, created_at, updated_at)
     values ($1, $2, 'Workflow', false, now(), now())`,
    [project.id, id],
  )
  await service.sql(
    `insert into workflow_steps (project_id, id, workflow_id, type, name, config, created_at, updated_at)
     values ($1, $2, $3, $4::step_type, 'Step', $5, now(), now())`,
    [project.id, randomUUID(), id, type, JSON.stringify(config)],
  )
  await noteInterests(service, project.id)
  return id
}

async function usageOf(service: Service, field: string, project: Project): Promise<Body> {
  const path = `/fields/${encodeURIComponent(field)}/usage`
  const { status, body, text } = await service.as(project).get(`/contacts${path}`)
  assert.is(status, 200, text)
  return body
}

const remove = (service: Service, field: string, project: Project): Promise<Answer> =>
  service.as(project).delete(`/contacts/fields/${encodeURIComponent(field)}`)

type Use = [
  what: string,
  make: (service: Service, project: Project, field: string) => Promise<string>,
  kind: string,
]

const USES: Use[] = [
  ['a segment', (s, p, field) => newSegment(s, p, treeOn(field)), 'usedInSegments'],
  ['a segment, deep down', (s, p, field) => newSegment(s, p, deepTreeOn(field)), 'usedInSegments'],
  ['a part of it in a segment', (s, p, field) => newSegment(s, p, treeOn(`${field}.city`)), 'usedInSegments'],
  ['a draft', (s, p, field) => newCampaign(s, p, treeOn(field)), 'usedInCampaigns'],
  [
    'a scheduled campaign',
    (s, p, field) => newCampaign(s, p, deepTreeOn(field), 'SCHEDULED'),
    'usedInCampaigns',
  ],
  ['a campaign under way', (s, p, field) => newCampaign(s, p, treeOn(field), 'SENDING'), 'usedInCampaigns'],
  [
    'a condition of a workflow',
    (s, p, field) => newWorkflow(s, p, 'CONDITION', { condition: treeOn(field) }),
    'usedInWorkflows',
  ],
  [
    'a condition without a tree',
    (s, p, field) => newWorkflow(s, p, 'CONDITION', filterOn(field)),
    'usedInWorkflows',
  ],
  [
    'a step that updates contacts',
    (s, p, field) => newWorkflow(s, p, 'UPDATE_CONTACT', { updates: { [field.slice(5)]: 1 } }),
    'usedInWorkflows',
  ],
]

const NOT_USES: Use[] = [
  ['a campaign that was sent', (s, p, field) => newCampaign(s, p, treeOn(field), 'SENT'), ''],
  ['a campaign that was cancelled', (s, p, field) => newCampaign(s, p, treeOn(field), 'CANCELLED'), ''],
  ['a field with a longer name', (s, p, field) => newSegment(s, p, treeOn(`${field}x`)), ''],
  [
    'an event of that name',
    (s, p, field) => newWorkflow(s, p, 'WAIT_FOR_EVENT', { eventName: field.slice(5) }),
    '',
  ],
  ['a broken condition', (s, p) => newSegment(s, p, { logic: 'AND', groups: 'none' }), ''],
  [
    "another project's segment",
    async (s, _p, field) => newSegment(s, await s.newProject(), treeOn(field)),
    '',
  ],
]

scenario('A standard field', start, (test) => {
  test('is used by what names it, and cannot be deleted', async (service) => {
    const project = await service.newProject()
    const named = { field: 'subscribed', operator: 'equals', value: true }
    const id = await newSegment(service, project, { logic: 'AND', groups: [{ filters: [named] }] })
    const usage = await usageOf(service, 'subscribed', project)
    assert.equal(usage.usedInSegments, [{ id, name: 'Segment' }])
    assert.is(usage.canDelete, false)
    assert.equal((await usageOf(service, 'email', project)).usedInSegments, [])
    assertRefused(await remove(service, 'email', project), 409, 'CONFLICT')
    assert.is((await usageOf(service, 'data.subscribed', project)).canDelete, true)
  })
})

scenario('GET /contacts/fields/:field/usage', start, (test) => {
  for (const [what, make, kind] of USES) {
    test(`finds ${what}, and the field is not deleted`, async (service) => {
      const project = await service.newProject()
      const contact = await newContact(service, { data: { plan: 'pro' } }, project)
      const id = await make(service, project, 'data.plan')
      const usage = await usageOf(service, 'plan', project)
      assert.equal(await usageOf(service, 'data.plan', project), usage)
      const { canDelete, contactCount, ...users } = usage
      assert.equal([canDelete, contactCount], [false, 1])
      for (const [key, value] of Object.entries<Body>(users)) {
        assert.equal(
          value.map((one: Body) => one.id),
          key === kind ? [id] : [],
        )
      }
      assertRefused(await remove(service, 'data.plan', project), 409, 'CONFLICT')
      assert.equal(await contactOf(service, contact.id, project), contact)
    })
  }

  for (const [what, make] of NOT_USES) {
    test(`does not count ${what}`, async (service) => {
      const project = await service.newProject()
      await make(service, project, 'data.plan')
      assert.equal(await usageOf(service, 'plan', project), {
        usedInSegments: [],
        usedInCampaigns: [],
        usedInWorkflows: [],
        contactCount: 0,
        canDelete: true,
      })
      assert.equal((await remove(service, 'plan', project)).body, { deletedFrom: 0 })
    })
  }

  test('knows a key with a dot from a path', async (service) => {
    const project = await service.newProject()
    await newSegment(service, project, treeOn('data.a\\.b'))
    assert.is((await usageOf(service, 'data.a\\.b', project)).canDelete, false)
    assert.is((await usageOf(service, 'a.b', project)).canDelete, false)
    assert.is((await usageOf(service, 'a', project)).canDelete, true)
  })

  test('is the same in GraphQL', async (service) => {
    const { project } = service
    await newSegment(service, project, treeOn('data.plan'))
    const query = `query ($field: String!) { contactFieldUsage(field: $field) {
      usedInSegments { id name } usedInCampaigns { id name } usedInWorkflows { id name } contactCount canDelete } }`
    assert.equal(
      await graphqlValue(service, query, { field: 'plan' }),
      await usageOf(service, 'plan', project),
    )
  })
})

/** Makes every update of a contact take so many seconds. */
async function slowUpdates({ sql }: Service, seconds: number): Promise<void> {
  await sql(`create function slow() returns trigger language plpgsql as $$ begin
    perform pg_sleep(${seconds}); return new; end $$`)
  await sql('create trigger slow before update on contacts for each row execute function slow()')
}

scenario('DELETE /contacts/fields/:field', start, (test) => {
  test('takes the field from all contacts of the project, and nothing else', async (service) => {
    const [project, other] = [await service.newProject(), await service.newProject()]
    const has = await newContact(service, { data: { plan: 'pro', n: 1 } }, project)
    const hasNot = await newContact(service, { data: { n: 2 } }, project)
    const theirs = await newContact(service, { data: { plan: 'pro' } }, other)
    service.clock.advance(60_000)
    assert.equal((await remove(service, 'plan', project)).body, { deletedFrom: 1 })
    const after = await contactOf(service, has.id, project)
    assert.equal(after.data, { n: 1 })
    assert.ok(after.updatedAt > has.updatedAt)
    assert.equal(await contactOf(service, hasNot.id, project), hasNot)
    assert.equal(await contactOf(service, theirs.id, other), theirs)
    assert.equal((await remove(service, 'plan', project)).body, { deletedFrom: 0 })
  })

  for (const [field, key] of [
    ['data.first name', 'first name'],
    ['a.b', 'a.b'],
    ['data.a\\.b', 'a.b'],
    ['__proto__', '__proto__'],
    ['data.data\\.x', 'data.x'],
    ['a/b', 'a/b'],
  ]) {
    test(`takes ${field}`, async (service) => {
      const project = await service.newProject()
      const data = JSON.stringify({ keep: 1 }).replace('{', `{${JSON.stringify(key)}:1,`)
      const body = `{"email":"ada@example.org","data":${data}}`
      const { id } = (await service.as(project).post('/contacts', body)).body
      assert.equal((await remove(service, field ?? '', project)).body, { deletedFrom: 1 })
      assert.equal((await contactOf(service, id, project)).data, { keep: 1 })
    })
  }

  test('answers 202 when it takes long, and the same request again waits on', async () => {
    const service = await startService({ ROLES: 'http' })
    try {
      const { project } = service
      const { id } = await newContact(service, { data: { plan: 'pro', n: 1 } })
      for (const field of ['plan', 'data.plan']) {
        const { status, body } = await remove(service, field, project)
        assert.equal([status, body], [202, { deletedFrom: null, status: 'running' }])
      }
      const condition = {
        logic: 'AND',
        groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }],
      }
      const nameIt = () => service.as(project).post('/segments', { name: 'Pro', type: 'DYNAMIC', condition })
      assertRefused(await nameIt(), 409, 'CONFLICT')
      const later = await newContact(service, { data: { plan: 'new' } })
      assert.equal(await deleteFieldsJob.pending(service.ctx()), [project.id])
      await workThrough(service, deleteFieldsJob)
      const [row] = await service.sql('select deleted_from, completed_at from contact_field_deletions')
      assert.is(row?.deleted_from, 1)
      assert.equal((await contactOf(service, id)).data, { n: 1 })
      assert.equal((await contactOf(service, later.id)).data, { plan: 'new' }, 'made after the request')
      assert.is((await nameIt()).status, 201)
    } finally {
      await service.stop()
    }
  })

  test('takes smaller parts of contacts that take long', async () => {
    const service = await startService({ ROLES: 'http' })
    try {
      const { project } = service
      const lines = Array.from({ length: 40 }, (_, index) => `p${index}@example.org,x`)
      await imported(service, `email,odd\n${lines.join('\n')}`, project)
      // Of 40 in one statement it takes 8 s, of 5 no longer than a second.
      await slowUpdates(service, 0.2)
      const asked = remove(service, 'odd', project)
      await until('the request has asked for it', async () => {
        return (await deleteFieldsJob.pending(service.ctx())).length > 0
      })
      await workThrough(service, deleteFieldsJob)
      const [row] = await service.sql(
        'select deleted_from from contact_field_deletions where project_id = $1',
        [project.id],
      )
      assert.is(row?.deleted_from, 40)
      await asked
      const [left] = await service.sql(`select count(*)::int from contacts where data ? 'odd'`)
      assert.is(left?.count, 0)
    } finally {
      await service.stop()
    }
  })

  test('goes through all of many contacts', async (service) => {
    const project = await service.newProject()
    const lines = Array.from({ length: 4_100 }, (_, index) => `p${index}@example.org,${index % 2 ? 'x' : ''}`)
    const id = jobIdOf(await postImport(service, `email,odd\n${lines.join('\n')}`, project))
    await until('the import to end', async () => {
      return (await getJob(service, 'import', id, project)).body.state === 'completed'
    })
    assert.equal((await remove(service, 'odd', project)).body, { deletedFrom: 2_050 })
  })

  test('is the same in GraphQL', async (service) => {
    const { as, project } = service
    await newContact(service, { data: { plan: 'pro' } })
    const mutation = 'mutation ($field: String!) { deleteContactField(field: $field) { deletedFrom } }'
    const { deletedFrom } = await graphqlValue(service, mutation, { field: 'plan' })
    assert.is(deletedFrom, 1)
    await newSegment(service, project, treeOn('data.plan'))
    assertGraphQLRefused(await as(project).graphql(mutation, { field: 'plan' }), 409, 'CONFLICT')
  })
})
