import { readFileSync } from 'node:fs'
import path from 'node:path'
import * as assert from 'uvu/assert'
import { foldCountsJob } from '../../../src/features/workflows/counts/fold-counts.job.ts'
import { deleteExecutionsBefore } from '../../../src/features/workflows/executions/executions.ts'
import { scenario } from '../../support/scenario.ts'
import { runs, seeded } from '../../support/seeded.ts'
import { type Body, type Service, startService } from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'
import { addStep, advance, chain, connect, DAY, newContact, start, track } from './workflow-support.ts'

const started = () => startService({ ROLES: 'http' })

const MIGRATION = path.join(
  import.meta.dirname,
  '../../../prisma/migrations/20261123040242_count_executions/migration.sql',
)

const STEPS = 'query($id: ID!) { workflowStepCounts(id: $id) { stepId waiting completed skipped failed } }'

/** Compares all that callers are told of how many executions there are with the executions. */
async function assertCounted(service: Service, id: string): Promise<void> {
  const [now] = await service.sql(
    `select count(*)::int as all, (count(*) filter (where status in ('RUNNING', 'WAITING')))::int as active,
       (count(*) filter (where status = 'FAILED'))::int as failed
     from workflow_executions where workflow_id = $1`,
    [id],
  )
  const { body } = await service.as().get('/workflows')
  const listed = body.data.find((one: Body) => one.id === id)
  assert.equal([listed.executionCount, listed.activeExecutionCount], [now?.all, now?.active])
  const total = async (query: string) =>
    (await service.as().get(`/workflows/${id}/executions${query}`)).body.total
  assert.equal([await total(''), await total('?status=FAILED')], [now?.all, now?.failed])
  const steps = await service.sql(
    `select s.id as "stepId", (count(*) filter (where e.status in ('SCHEDULED', 'WAITING')))::int as waiting,
       (count(*) filter (where e.status = 'COMPLETED'))::int as completed,
       (count(*) filter (where e.status = 'SKIPPED'))::int as skipped,
       (count(*) filter (where e.status = 'FAILED'))::int as failed
     from workflow_steps s left join step_executions e on e.project_id = s.project_id and e.step_id = s.id
     where s.workflow_id = $1 group by s.id order by s.id`,
    [id],
  )
  const told = await service.as().graphql(STEPS, { id })
  assert.equal(told.body.data.workflowStepCounts, steps)
}

const fold = (service: Service) => workThrough(service, foldCountsJob)

const rowsOf = async ({ sql }: Service, table: string, id: string): Promise<number> =>
  (await sql(`select from ${table} where workflow_id = $1`, [id])).length

/** Updates the contact by a kilobyte, waits for an event or two days, and a day more. */
async function journey(service: Service): Promise<Body> {
  const value = 'x'.repeat(1_000)
  const steps = [
    { type: 'UPDATE_CONTACT', config: { updates: { note: value } } },
    { type: 'WAIT_FOR_EVENT', config: { eventName: 'answered', timeout: 2 * 24 * 3_600 } },
    { type: 'DELAY', config: { amount: 1, unit: 'days' } },
  ]
  return chain(service, steps, { allowReentry: true })
}

scenario('What is counted of executions', started, (test) => {
  test('is what there is, whatever happens to them', async (service) => {
    await seeded(async ({ between }) => {
      const workflow = await journey(service)
      const full = 'y'.repeat(64_900)
      const people: Body[] = []
      for (let index = 0; index < 6; index += 1) {
        people.push(await newContact(service, index < 2 ? { data: { filled: full } } : {}))
      }
      const one = () => people[between(0, people.length - 1)] ?? people[0]
      const executions = async (status: string): Promise<Body[]> =>
        (await service.as().get(`/workflows/${workflow.id}/executions?status=${status}`)).body.data
      const mutate = (name: string, executionId: string) =>
        service
          .as()
          .graphql(`mutation { ${name}(id: "${workflow.id}", executionId: "${executionId}") { id } }`)
      const acts = [
        () => track(service, one().email, workflow.eventName),
        () => track(service, one().email, 'answered'),
        () => service.as().post(`/workflows/${workflow.id}/executions`, { contactId: one().id }),
        () => advance(service),
        async () => {
          service.clock.advance(between(1, 3) * DAY)
          await advance(service)
        },
        async () => {
          const [waiting] = await executions('WAITING')
          if (waiting) await service.as().delete(`/workflows/${workflow.id}/executions/${waiting.id}`)
        },
        async () => {
          const [failed] = await executions('FAILED')
          if (!failed) return
          await service.as().patch(`/contacts/${failed.contactId}`, { data: { filled: null } })
          await mutate('retryWorkflowExecution', failed.id)
        },
        async () => {
          const gone = people.pop()
          await service.as().post(`/workflows/${workflow.id}/executions`, { contactId: gone.id })
          await advance(service)
          await service.as().delete(`/contacts/${gone.id}`)
          people.push(await newContact(service, { data: { filled: full } }))
        },
        async () => {
          const before = new Date(service.clock.now().getTime() - DAY)
          await deleteExecutionsBefore(service.ctx(service.project.id), before, 2)
        },
        () => fold(service),
      ]
      for (let round = 0; round < runs(12); round += 1) {
        const left = [...acts]
        while (left.length > 0) {
          const [act] = left.splice(between(0, left.length - 1), 1)
          await act?.()
          await assertCounted(service, workflow.id)
        }
      }
      await fold(service)
      assert.is(await rowsOf(service, 'workflow_tallies', workflow.id), 0)
      await assertCounted(service, workflow.id)
    })
  })

  test('has the executions that a version without counts has left, each once', async (service) => {
    const workflow = await journey(service)
    const contact = await newContact(service)
    await start(service, workflow.id, contact.id)
    await advance(service)
    await service.sql('delete from workflow_tallies where workflow_id = $1', [workflow.id])
    await service.sql('delete from workflow_counts where workflow_id = $1', [workflow.id])
    await start(service, workflow.id, (await newContact(service)).id)
    await service.sql(readFileSync(MIGRATION, 'utf8'))
    await assertCounted(service, workflow.id)
    await fold(service)
    await service.sql(readFileSync(MIGRATION, 'utf8'))
    await assertCounted(service, workflow.id)
  })

  test('begins anew with a copy, follows a step that is deleted, and goes with the workflow', async (service) => {
    const workflow = await journey(service)
    const { id } = await newContact(service)
    await start(service, workflow.id, id)
    await advance(service)
    await fold(service)
    const copied = await service.as().graphql(`mutation { duplicateWorkflow(id: "${workflow.id}") { id } }`)
    await assertCounted(service, copied.body.data.duplicateWorkflow.id)
    service.clock.advance(4 * DAY)
    await advance(service)
    service.clock.advance(4 * DAY)
    await advance(service)
    await service.as().patch(`/workflows/${workflow.id}`, { enabled: false })
    const extra = await addStep(service, workflow.id, { type: 'DELAY', config: { amount: 1, unit: 'days' } })
    await connect(service, workflow.id, { fromStepId: workflow.steps[2].id, toStepId: extra.id })
    const removed = await service
      .as()
      .delete(`/workflows/${workflow.id}/steps/${workflow.steps[1].id}?splice=true`)
    assert.is(removed.status, 204, removed.text)
    await assertCounted(service, workflow.id)
    assert.is((await service.as().delete(`/workflows/${workflow.id}`)).status, 204)
    await advance(service)
    await fold(service)
    const left = [
      await rowsOf(service, 'workflow_executions', workflow.id),
      await rowsOf(service, 'workflow_tallies', workflow.id),
      await rowsOf(service, 'workflow_counts', workflow.id),
    ]
    assert.equal(left, [0, 0, 0])
  })
})
