import * as assert from 'uvu/assert'
import { deleteFieldsJob } from '../../../src/features/contact-fields/delete-fields.job.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Project, type Service, startService, until } from '../../support/service.ts'
import { workThrough } from '../../support/work.ts'
import { imported } from '../contact-jobs/job-support.ts'
import { newContact } from './contact-support.ts'

const start = () => startService({ ROLES: 'http' })

/** Names on record with their types; what the list of fields shows besides what it counts. */
async function recorded({ sql }: Service, project: Project): Promise<Record<string, string>> {
  const rows = await sql<{ name: string; type: string }>(
    'select name, type from contact_fields where project_id = $1 order by name',
    [project.id],
  )
  return Object.fromEntries(rows.map(({ name, type }) => [name, type]))
}

const TOO_LARGE = { big: 'x'.repeat(65_536) }

type Write = (service: Service, project: Project, data: Body) => Promise<number>

const WRITES: [what: string, write: Write][] = [
  [
    'POST /v1/track',
    async ({ as }, project, data) => {
      const body = { email: 'ada@example.org', event: 'seen', data }
      return (await as(project.public).post('/v1/track', body)).status
    },
  ],
  [
    'POST /v1/send',
    async ({ as }, project, data) => {
      const from = `hello@${project.domain}`
      const body = { to: 'ada@example.org', from, subject: 's', body: 'b', data }
      return (await as(project).post('/v1/send', body)).status
    },
  ],
  [
    'POST /contacts',
    async (service, project, data) =>
      (await service.as(project).post('/contacts', { email: 'ada@example.org', data })).status,
  ],
  [
    'PATCH /contacts/:id',
    async (service, project, data) => {
      const { id } = await newContact(service, {}, project)
      return (await service.as(project).patch(`/contacts/${id}`, { data })).status
    },
  ],
]

scenario('The record of field names', start, (test) => {
  for (const [what, write] of WRITES) {
    test(`is kept by ${what}`, async (service) => {
      const project = await service.newProject()
      const data = {
        plan: 'pro',
        n: 1,
        ok: true,
        day: '2026-03-04',
        list: [1],
        'a.b': { c: 1 },
        gone: null,
        blank: '',
        once: { value: 1, persistent: false },
        id: 'reserved',
        ['x'.repeat(255)]: 1,
      }
      assert.ok((await write(service, project, data)) < 300)
      assert.equal(await recorded(service, project), {
        'a.b': 'object',
        day: 'date',
        list: 'array',
        n: 'number',
        ok: 'boolean',
        plan: 'string',
        ['x'.repeat(255)]: 'number',
      })
    })

    test(`is not kept by ${what} that is refused`, async (service) => {
      const project = await service.newProject()
      for (const data of [TOO_LARGE, { known: 1, ['x'.repeat(256)]: 1 }]) {
        assert.is(await write(service, project, data), 422)
        assert.equal(await recorded(service, project), {})
      }
    })
  }

  test('is kept by an import, for the rows that are taken', async (service) => {
    const project = await service.newProject()
    const csv = 'email,plan,n,never,bad\nada@example.org,pro,,,\nnobody,,,,1\ngrace@example.org,,7,,\n'
    await imported(service, csv, project)
    assert.equal(await recorded(service, project), { n: 'number', plan: 'string' })
  })

  test('keeps the first type, and its project', async (service) => {
    const [project, other] = [await service.newProject(), await service.newProject()]
    await newContact(service, { data: { plan: 1 } }, project)
    await newContact(service, { data: { plan: 'x' } }, project)
    assert.equal(await recorded(service, project), { plan: 'number' })
    assert.equal(await recorded(service, other), {})
    await newContact(service, { data: { plan: 'x' } }, other)
    assert.equal(await recorded(service, other), { plan: 'string' })
  })

  test('forgets a field that is deleted, and learns it again', async (service) => {
    const project = await service.newProject()
    await newContact(service, { data: { plan: 'pro', n: 1 } }, project)
    const deleting = service.as(project).delete('/contacts/fields/plan')
    await until('the deletion is asked for', async () => {
      return (await deleteFieldsJob.pending(service.ctx())).length > 0
    })
    await workThrough(service, deleteFieldsJob)
    assert.equal((await deleting).body, { deletedFrom: 1 })
    assert.equal(await recorded(service, project), { n: 'number' })
    await newContact(service, { data: { plan: 7 } }, project)
    assert.equal(await recorded(service, project), { n: 'number', plan: 'number' })
  })

  test('is written once in a while, not at every call', async (service) => {
    const project = await service.newProject()
    const write = () => newContact(service, { data: { plan: 'pro' } }, project)
    await write()
    await service.sql('delete from contact_fields where project_id = $1', [project.id])
    await write()
    assert.equal(await recorded(service, project), {}, 'the process remembers it')
    service.clock.advance(11 * 60_000)
    await write()
    assert.equal(await recorded(service, project), { plan: 'string' })
  })

  test('takes null for a field whose name is too long', async (service) => {
    const project = await service.newProject()
    await newContact(service, { data: { ['x'.repeat(256)]: null } }, project)
    assert.equal(await recorded(service, project), {})
  })
})
