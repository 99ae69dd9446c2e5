import * as assert from 'uvu/assert'
import { compileTree, type Predicate } from '../../src/audience/compile.sql.ts'
import { parseTree } from '../../src/audience/parsing/parse.ts'
import type { Audience } from '../../src/audience/tree.rules.ts'
import { unpreparedStatement, valuesOf } from '../../src/db/sql.ts'
import { scenario } from '../support/scenario.ts'
import { type Body, type Service, startService } from '../support/service.ts'
import { NOW } from './arbitrary.ts'
import { predicateOf, treeOf } from './ask.ts'

const CONTACTS = 20_000

/** A large project beside others; one contact in fifty has bought something, in the last 100 days. */
async function start(): Promise<Service> {
  const service = await startService({ ROLES: 'http' })
  const projects = [service.project, await service.newProject(), await service.newProject()]
  for (const { id } of projects) {
    await service.sql(
      `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
       select $1, gen_random_uuid(), 'person-' || n || '@example.org', n % 3 = 0,
         jsonb_build_object('plan', 'plan-' || n % 500, 'age', n % 90), $2::timestamptz - n * interval '1 minute', $2
       from generate_series(1, $3::int) n`,
      [id, NOW, id === service.project.id ? CONTACTS : 1_000],
    )
    await service.sql(
      `insert into events (project_id, id, contact_id, name, data, created_at)
       select project_id, gen_random_uuid(), id, case when n % 50 = 0 then 'bought' else 'seen-' || n % 9 end,
         '{}', $2::timestamptz - n % 100 * interval '1 day'
       from (select *, row_number() over () as n from contacts, generate_series(1, 3) where project_id = $1) c`,
      [id, NOW],
    )
  }
  await service.sql('create index on contacts using gin (project_id, data jsonb_path_ops)')
  await service.sql('analyze contacts')
  await service.sql('analyze events')
  return service
}

type Step = { node: string; relation: string; index: string; loops: number }

function explained({ project, sql }: Service, options: string, { text, params }: Predicate) {
  const query = unpreparedStatement(
    `explain (${options}, format json) select count(*) from contacts c where ${text}`,
  )
  return sql<Body>(query.text, valuesOf(query, { ...params, projectId: project.id }))
}

/** Every step of the plan that reads something. */
async function planOf(service: Service, json: object): Promise<Step[]> {
  const rows = await explained(service, 'analyze, timing off', predicateOf(json))
  const steps: Step[] = []
  const visit = (plan: Body, relation: string) => {
    const name = plan['Relation Name'] ?? relation
    if (plan['Relation Name'] || plan['Index Name']) {
      steps.push({
        node: plan['Node Type'],
        relation: name,
        index: plan['Index Name'] ?? '',
        loops: plan['Actual Loops'],
      })
    }
    for (const inner of plan.Plans ?? []) visit(inner, name)
  }
  visit(rows[0]['QUERY PLAN'][0].Plan, '')
  return steps
}

/** The largest tree there may be: conditions of 100 filters each, all of which have to be true. */
const largest = (filter: (n: number) => object): Audience => {
  const part = (first: number) =>
    parseTree(treeOf(...Array.from({ length: 100 }, (_, n) => filter(first + n))), 'condition')
  const groups = [0, 100, 200, 300, 400].map((first) => ({ filters: [], conditions: part(first) }))
  return { tree: { logic: 'AND', groups }, segments: new Map() }
}

/** How Postgres plans a tree that it does not run. */
async function planningOf(service: Service, audience: Audience) {
  const [row] = await explained(service, 'summary, memory', compileTree(audience, NOW))
  const [plan] = row['QUERY PLAN']
  const joinsIn = (plan: Body): number =>
    (plan['Join Type'] ? 1 : 0) +
    (plan.Plans ?? [])
      .filter((inner: Body) => inner['Parent Relationship'] !== 'SubPlan')
      .reduce((sum: number, inner: Body) => sum + joinsIn(inner), 0)
  return {
    joins: joinsIn(plan.Plan),
    ms: plan['Planning Time'],
    megabytes: plan.Planning['Memory Used'] / 1024,
  }
}

const bought = (operator: string, value?: number) => ({
  field: 'event.bought',
  operator,
  value,
  unit: 'days',
})
const plan = { field: 'data.plan', operator: 'equals', value: 'plan-7' }
const either = (...filters: object[]) => ({
  logic: 'OR',
  groups: filters.map((filter) => ({ filters: [filter] })),
})

/** The one partition that `events` has without a retention. */
const EVENTS = 'events_base'

const ON_EVENTS: [what: string, json: object][] = [
  ['triggered', treeOf(bought('triggered'))],
  ['triggeredWithin', treeOf(bought('triggeredWithin', 10))],
  ['triggeredOlderThan', treeOf(bought('triggeredOlderThan', 10))],
  ['notTriggered', treeOf(bought('notTriggered'))],
  ['notTriggeredWithin', treeOf(bought('notTriggeredWithin', 10))],
  ['email.opened', treeOf({ ...bought('triggeredWithin', 10), field: 'email.opened' })],
  ['triggered, beside other filters', treeOf(plan, bought('triggered'))],
  ['triggered, or something else', either(plan, bought('triggeredWithin', 10))],
  [
    'triggered, in nested conditions',
    {
      logic: 'AND',
      groups: [{ filters: [plan], conditions: either(bought('triggered'), { ...plan, field: 'data.tier' }) }],
    },
  ],
]

scenario('Plans over many contacts', start, (test) => {
  for (const [what, json] of ON_EVENTS) {
    test(`use an index of events for ${what}`, async (service) => {
      const steps = (await planOf(service, json)).filter(({ relation }) => relation === EVENTS)
      assert.ok(steps.length > 0)
      for (const { node, index } of steps) {
        assert.is.not(node, 'Seq Scan')
        if (node !== 'Bitmap Heap Scan') assert.match(index, /^events_/)
      }
    })
  }

  test('read the events of a name once, not once for each contact', async (service) => {
    for (const operator of ['triggered', 'notTriggered']) {
      const steps = await planOf(service, treeOf(bought(operator)))
      const loops = steps.filter(({ relation }) => relation === EVENTS).map((step) => step.loops)
      assert.ok(Math.max(...loops) < 20, `${operator}: ${loops}`)
    }
  })

  test('use an index on data for equality, with other filters beside it', async (service) => {
    for (const json of [treeOf(plan), treeOf(plan, { field: 'data.age', operator: 'lessThan', value: 50 })]) {
      const steps = await planOf(service, json)
      assert.ok(
        steps.some(({ index }) => index === 'contacts_project_id_data_idx'),
        JSON.stringify(steps),
      )
    }
  })

  test('are made in bounded time and memory, however many events are asked for', async (service) => {
    for (const operator of ['triggered', 'notTriggered', 'triggeredOlderThan', 'notTriggeredWithin']) {
      const planning = await planningOf(
        service,
        largest((n) => ({ ...bought(operator, 10), field: `event.seen-${n}` })),
      )
      assert.ok(planning.joins <= 4, `${operator}: ${planning.joins} joins`)
      assert.ok(planning.ms < 3_000, `${operator}: ${planning.ms} ms`)
      assert.ok(planning.megabytes < 100, `${operator}: ${planning.megabytes} MB`)
    }
  })

  test('start from a rare event among many others', async (service) => {
    await service.sql(
      `insert into events (project_id, id, contact_id, name, data, created_at)
       select project_id, gen_random_uuid(), id, 'rare', '{}', $2 from contacts where project_id = $1 limit 3`,
      [service.project.id, NOW],
    )
    await service.sql('analyze events')
    const rare = { field: 'event.rare', operator: 'triggered' }
    const never = Array.from({ length: 20 }, (_, n) => ({
      field: `event.never-${n}`,
      operator: 'notTriggered',
    }))
    const steps = await planOf(service, treeOf(...never, rare))
    const contacts = steps.filter(({ relation }) => relation === 'contacts')
    assert.ok(
      contacts.every(({ node }) => node !== 'Seq Scan'),
      JSON.stringify(contacts),
    )
  })
})
