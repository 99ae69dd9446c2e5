import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Body, type Project, type Service, startService } from '../../support/service.ts'
import { graphqlValue, newContact, shortError } from '../contacts/contact-support.ts'
import {
  type BulkAction,
  bulkChanged,
  CANCEL,
  contactsOf,
  eventsOf,
  getJob,
  jobIdOf,
  keptInput,
  polled,
  postBulk,
  postImport,
  work,
} from './job-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

const ACTIONS: readonly BulkAction[] = ['bulk-subscribe', 'bulk-unsubscribe', 'bulk-delete']

/** Some contacts of a new project, subscribed or not in turns. */
async function people(service: Service, count: number): Promise<{ project: Project; contacts: Body[] }> {
  const project = await service.newProject()
  const contacts: Body[] = []
  for (let index = 0; index < count; index += 1) {
    const email = `p${index}@example.org`
    contacts.push(await newContact(service, { email, subscribed: index % 2 === 0 }, project))
  }
  return { project, contacts }
}

const ids = (contacts: Body[]): string[] => contacts.map(({ id }) => id)

async function subscribedOf(service: Service, project: Project): Promise<boolean[]> {
  const contacts: Record<string, { subscribed: boolean }> = await contactsOf(service, project)
  return Object.values(contacts).map(({ subscribed }) => subscribed)
}

scenario('POST /contacts/bulk-subscribe and bulk-unsubscribe', start, (test) => {
  test('change those who are not in that state yet, with events of the source bulk', async (service) => {
    const { project, contacts } = await people(service, 4)
    const job = await bulkChanged(service, 'bulk-subscribe', { contactIds: ids(contacts) }, project)
    assert.is(job.type, 'SUBSCRIBE')
    assert.equal(job.result, {
      totalRequested: 4,
      successCount: 2,
      unchangedCount: 2,
      failureCount: 0,
      errors: [],
    })
    assert.equal(await subscribedOf(service, project), [true, true, true, true])
    assert.equal(await eventsOf(service, project), [
      { email: 'p1@example.org', name: 'contact.subscribed', source: 'bulk' },
      { email: 'p3@example.org', name: 'contact.subscribed', source: 'bulk' },
    ])
    const again = await bulkChanged(
      service,
      'bulk-unsubscribe',
      { contactIds: ids(contacts).slice(1) },
      project,
    )
    assert.is(again.type, 'UNSUBSCRIBE')
    assert.equal(await subscribedOf(service, project), [true, false, false, false])
    const [row] = await service.sql(
      `select count(*)::int as count from contacts c join events e on e.project_id = c.project_id
         and e.id = c.subscription_event_id and e.name = 'contact.unsubscribed' where c.project_id = $1`,
      [project.id],
    )
    assert.is(row?.count, 3)
  })

  test('leave those alone who are in that state, with their times', async (service) => {
    const { project, contacts } = await people(service, 3)
    service.clock.advance(60_000)
    await bulkChanged(service, 'bulk-subscribe', { contactIds: ids(contacts) }, project)
    for (const { id, updatedAt, subscribed } of contacts) {
      const { body } = await service.as(project).get(`/contacts/${id}`)
      assert.is(body.updatedAt === updatedAt, subscribed)
    }
  })

  test('count unknown, malformed and other projects’ ids as failures, and each id once', async (service) => {
    const { project, contacts } = await people(service, 2)
    const [one, two] = ids(contacts)
    const theirs = await newContact(service, { subscribed: true }, await service.newProject())
    const missing = randomUUID()
    const contactIds = [one, two, one?.toUpperCase(), missing, 'x', '', theirs.id, missing, "'; drop table--"]
    const { result } = await bulkChanged(service, 'bulk-unsubscribe', { contactIds }, project)
    assert.equal(result, {
      totalRequested: 7,
      successCount: 1,
      unchangedCount: 1,
      failureCount: 5,
      errors: [missing, 'x', '', theirs.id, "'; drop table--"].map((contactId) => ({
        contactId,
        error: 'There is no such contact.',
      })),
    })
    const [row] = await service.sql('select subscribed from contacts where id = $1', [theirs.id])
    assert.is(row?.subscribed, true)
  })
})

scenario('POST /contacts/bulk-delete', start, (test) => {
  test('deletes contacts, and keeps nothing personal in its own row', async (service) => {
    const { project, contacts } = await people(service, 3)
    const filter = { field: 'email', operator: 'contains', value: 'p1@' }
    const contactIds = [...ids(contacts).slice(0, 2), randomUUID()]
    const { result, id } = await bulkChanged(service, 'bulk-delete', { contactIds }, project)
    assert.equal([result.successCount, result.failureCount, result.unchangedCount], [2, 1, 0])
    assert.equal(Object.keys(await contactsOf(service, project)), ['p2@example.org'])
    assert.not.match(JSON.stringify(await keptInput(service, id)), /example\.org/)
    const body = { filter: { logic: 'AND', groups: [{ filters: [filter] }] } }
    const other = await bulkChanged(service, 'bulk-delete', body, project)
    assert.equal((await keptInput(service, other.id)).request, {})
  })

  test('takes addresses out of the reports of imports', async (service) => {
    const project = await service.newProject()
    const { id } = await newContact(service, { email: 'ada@example.org' }, project)
    const csv = 'email,subscribed\nADA@example.org,perhaps\nnobody,yes\n'
    const job = jobIdOf(await postImport(service, csv, project))
    await work(service, project)
    await bulkChanged(service, 'bulk-delete', { contactIds: [id] }, project)
    const { body } = await getJob(service, 'import', job, project)
    assert.equal(
      body.result.errors.map(({ row, email }: Body) => [row, email]),
      [
        [2, null],
        [3, 'nobody'],
      ],
    )
  })
})

for (const action of ACTIONS) {
  scenario(`POST /contacts/${action}`, start, (test) => {
    test('takes 1 to 1,000 ids', async (service) => {
      const contactIds = Array.from({ length: 1_001 }, () => randomUUID())
      const post = (body: unknown) => postBulk(service, action, body)
      assert.match(shortError(await post({ contactIds })), /^contactIds: /)
      assert.match(shortError(await post({ contactIds: [] })), /^contactIds: /)
      const jobId = jobIdOf(await post({ contactIds: contactIds.slice(1) }))
      await work(service)
      const { result } = (await getJob(service, 'bulk', jobId)).body
      assert.equal([result.totalRequested, result.failureCount, result.errors.length], [1_000, 1_000, 100])
    })

    test('refuses bodies that do not say whom', async (service) => {
      const filter = { logic: 'AND', groups: [{ filters: [] }] }
      for (const [body, message] of [
        [{}, /contactIds/],
        [{ contactIds: [randomUUID()], filter }, /contactIds/],
        [{ contactIds: null, filter: null }, /contactIds/],
        [{ contactIds: 'x' }, /contactIds/],
        [{ contactIds: [1] }, /contactIds\.0/],
        [{ contactIds: ['x'.repeat(65)] }, /contactIds\.0/],
        [{ contactIds: ['a\0b'] }, /contactIds\.0/],
        [{ filter: [] }, /filter/],
        [{ filter: {} }, /filter\./],
        [{ filter: { logic: 'AND', groups: [] } }, /^filter\.groups/],
        [{ filter: { logic: 'and', groups: [] } }, /^filter\.logic/],
        [
          {
            filter: {
              logic: 'AND',
              groups: [{ filters: [{ field: 'nope', operator: 'equals', value: 1 }] }],
            },
          },
          /^filter\.groups\.0\.filters\.0\.field/,
        ],
        [
          {
            filter: {
              logic: 'AND',
              groups: [{ filters: [{ field: `segment.${randomUUID()}`, operator: 'memberOfSegment' }] }],
            },
          },
          /^filter\.groups\.0\.filters\.0\.field/,
        ],
      ] as const) {
        assert.match(shortError(await postBulk(service, action, body)), message, JSON.stringify(body))
      }
    })

    test('is guarded by a secret key', async (service) => {
      const { project } = service
      const { jobId } = (await postBulk(service, action, { contactIds: [randomUUID()] })).body
      for (const path of [`/contacts/bulk/${jobId}`, `/contacts/${action}`]) {
        const method = path.endsWith(jobId) ? 'GET' : 'POST'
        const call = (key: string) => service.as(key).call(method, path)
        assertRefused(await call(project.public), 401, 'INVALID_API_KEY')
        assertRefused(await call(''), 401, 'MISSING_AUTH')
      }
      const other = await service.newProject()
      assertRefused(await getJob(service, 'bulk', jobId, other), 404, 'RESOURCE_NOT_FOUND')
      assertRefused(await getJob(service, 'bulk', randomUUID()), 404, 'RESOURCE_NOT_FOUND')
      assertRefused(await getJob(service, 'bulk', 'x'), 404, 'RESOURCE_NOT_FOUND')
    })
  })
}

const QUEUE = 'mutation ($input: BulkContactsInput!) { bulkDeleteContacts(input: $input) { jobId message } }'
const JOB = `query ($id: ID!) { bulkJob(jobId: $id) {
  id type state progress failedReason createdAt completedAt
  result { totalRequested successCount unchangedCount failureCount errors { contactId error } } } }`

scenario('Bulk jobs', start, (test) => {
  test('are done by a worker', async () => {
    const service = await startService()
    try {
      const { id } = await newContact(service)
      const { state, progress, result } = await polled(
        service,
        'bulk',
        jobIdOf(await postBulk(service, 'bulk-delete', { contactIds: [id] })),
      )
      assert.equal([state, progress, result.successCount], ['completed', 100, 1])
    } finally {
      await service.stop()
    }
  })

  test('are the same in GraphQL', async (service) => {
    const { id } = await newContact(service)
    const input = { contactIds: [id, 'x'] }
    const { jobId } = await graphqlValue(service, QUEUE, { input })
    await work(service)
    assert.equal(await graphqlValue(service, JOB, { id: jobId }), (await getJob(service, 'bulk', jobId)).body)
    const refused = await service.as().graphql(QUEUE, { input: {} })
    assertGraphQLRefused(refused, 422, 'VALIDATION_ERROR')
  })

  test('can be cancelled while they wait', async (service) => {
    const { project, contacts } = await people(service, 1)
    const id = jobIdOf(await postBulk(service, 'bulk-delete', { contactIds: ids(contacts) }, project))
    const { body } = await service.as(project).graphql(CANCEL, { id })
    const { __typename, state, failedReason } = body.data.cancelContactJob
    assert.equal([__typename, state, failedReason], ['BulkJob', 'failed', 'Cancelled.'])
    await work(service, project)
    assert.is(Object.keys(await contactsOf(service, project)).length, 1)
    assert.equal((await keptInput(service, id)).request, {})
  })
})
