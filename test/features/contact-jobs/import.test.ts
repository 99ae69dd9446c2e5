import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { graphqlValue, shortError } from '../contacts/contact-support.ts'
import {
  CANCEL,
  contactsOf,
  csvForm,
  getJob,
  imported,
  jobIdOf,
  keptInput,
  polled,
  postBulk,
  postImport,
  work,
} from './job-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))
const MB = 1024 * 1024
const CSV = 'email,plan\nada@example.org,pro\ngrace@example.org,free\n'

scenario('POST /contacts/import', start, (test) => {
  test('answers 202 at once; a worker does the rest', async () => {
    const service = await startService()
    try {
      const queued = await postImport(service, CSV)
      const { id, type, result, ...job } = await polled(service, 'import', jobIdOf(queued))
      assert.equal([id, type], [queued.body.jobId, 'IMPORT'])
      assert.equal(result, { totalRows: 2, created: 2, updated: 0, unchanged: 0, failed: 0, errors: [] })
      assert.equal([job.state, job.progress, job.failedReason], ['completed', 100, null])
      assert.ok(job.completedAt >= job.createdAt)
      assert.equal(await contactsOf(service), {
        'ada@example.org': { subscribed: true, data: { plan: 'pro' } },
        'grace@example.org': { subscribed: true, data: { plan: 'free' } },
      })
    } finally {
      await service.stop()
    }
  })

  test('shows a job that waits', async (service) => {
    const { body } = await getJob(service, 'import', jobIdOf(await postImport(service, CSV)))
    const { id: _id, createdAt, ...job } = body
    assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000)
    assert.equal(job, {
      type: 'IMPORT',
      state: 'waiting',
      progress: 0,
      failedReason: null,
      completedAt: null,
      result: { totalRows: 0, created: 0, updated: 0, unchanged: 0, failed: 0, errors: [] },
    })
  })

  test('takes a file with a header alone', async (service) => {
    const project = await service.newProject()
    const { result } = await imported(service, 'email,plan\n', project)
    assert.equal(result, { totalRows: 0, created: 0, updated: 0, unchanged: 0, failed: 0, errors: [] })
  })

  for (const [what, file, message] of [
    ['is empty', '', /empty/],
    ['is blank', ' \r\n\n', /empty/],
    ['has no column for the address', 'name,plan\nada,pro\n', /"email"/],
    ['has no header', 'ada@example.org,pro\n', /"email"/],
    ['has two columns of one name', 'email,plan,plan\n', /two columns/],
    ['is no text', new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0]), /"email"/],
    ['has an open quote in its header', 'email,"plan\nada@example.org,pro\n', /quote/],
  ] as const) {
    test(`refuses a file that ${what}`, async (service) => {
      assert.match(shortError(await postImport(service, file)), message)
    })
  }

  test('refuses a form without the file, or with two', async (service) => {
    const { key, post } = caller(service)
    assert.is(shortError(await post(csvForm(CSV, 'csv'))), 'file is required')
    assert.is(shortError(await post(new FormData())), 'file is required')
    const two = csvForm(CSV)
    two.append('file', new Blob([CSV]), 'more.csv')
    assertRefused(await post(two), 400, 'INVALID_REQUEST_BODY')
    const asText = new FormData()
    asText.append('file', CSV)
    const answer = await service.as(key).post('/contacts/import', asText)
    assert.is(answer.status, 400, answer.text)
  })

  test('refuses what is no form', async (service) => {
    const { post } = caller(service)
    assertRefused(await post({ file: CSV }), 415, 'UNSUPPORTED_MEDIA_TYPE')
    assertRefused(await post(CSV, { 'content-type': 'text/csv' }), 415, 'UNSUPPORTED_MEDIA_TYPE')
  })

  test('takes 5 MB and refuses a byte more', async (service) => {
    const project = await service.newProject()
    const line = `${'x'.repeat(1_000)}\n`
    const file = (bytes: number) => {
      const text = `email,note\nada@example.org,${line.repeat(4)}`
      return `${text}${'\n'.repeat(bytes - text.length)}`
    }
    const { result } = await imported(service, file(5 * MB), project)
    assert.equal([result.created, result.failed], [1, 3])
    assertRefused(await postImport(service, file(5 * MB + 1), project), 413, 'PAYLOAD_TOO_LARGE')
    assertRefused(await postImport(service, file(6 * MB), project), 413, 'PAYLOAD_TOO_LARGE')
  })

  test('is guarded by a secret key, before the file is looked at', async (service) => {
    const { post } = caller(service)
    const { project } = service
    assertRefused(await post('x', { authorization: '' }), 401, 'MISSING_AUTH')
    assertRefused(await post('x', { authorization: `Bearer ${project.public}` }), 401, 'INVALID_API_KEY')
  })
})

const caller = (service: Service) => ({
  key: service.project.secret,
  post: (body: unknown, headers: Record<string, string> = {}) =>
    service.as().post('/contacts/import', body, { headers }),
})

const IMPORT = 'mutation ($input: ImportContactsInput!) { importContacts(input: $input) { jobId message } }'
const JOB = `query ($id: ID!) { importJob(jobId: $id) {
  id type state progress failedReason createdAt completedAt
  result { totalRows created updated unchanged failed errors { row email error } } } }`

scenario('importContacts in GraphQL', start, (test) => {
  test('takes base64 and shows the same as REST', async (service) => {
    const file = Buffer.from('email,plan\nada@example.org,pro\nx,y\n').toString('base64')
    const { jobId } = await graphqlValue(service, IMPORT, { input: { file } })
    await work(service)
    const { body } = await getJob(service, 'import', jobId)
    assert.equal(await graphqlValue(service, JOB, { id: jobId }), body)
    assert.equal(body.result.errors, [{ row: 3, email: 'x', error: 'The email is not an email address.' }])
  })

  test('refuses what is wrong with the file, and other things than files', async (service) => {
    const key = service.project.secret
    const post = (file: unknown) => service.as(key).graphql(IMPORT, { input: { file } })
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    const { errors } = assertGraphQLRefused(await post(base64('name\nada\n')), 422, 'VALIDATION_ERROR')
    assert.equal([errors[0].field, errors[0].code], ['file', 'custom'])
    assertGraphQLRefused(await post(base64(`email\n${'\n'.repeat(5 * MB)}`)), 413, 'PAYLOAD_TOO_LARGE')
    assert.ok((await post('not base64!')).body.errors)
  })
})

scenario('GET /contacts/import/:jobId', start, (test) => {
  test('does not find unknown jobs, malformed ids, and those of other projects', async (service) => {
    const other = await service.newProject()
    const theirs = jobIdOf(await postImport(service, CSV, other))
    for (const id of [randomUUID(), theirs, 'x', '1', `${theirs}0`]) {
      assertRefused(await getJob(service, 'import', id), 404, 'RESOURCE_NOT_FOUND')
    }
    assert.is((await getJob(service, 'import', theirs.toUpperCase(), other)).status, 200)
  })

  test('does not find bulk jobs, nor the other way round', async (service) => {
    const bulk = jobIdOf(await postBulk(service, 'bulk-delete', { contactIds: [randomUUID()] }))
    const csv = jobIdOf(await postImport(service, CSV))
    assertRefused(await getJob(service, 'import', bulk), 404, 'RESOURCE_NOT_FOUND')
    assertRefused(await getJob(service, 'bulk', csv), 404, 'RESOURCE_NOT_FOUND')
  })
})

scenario('cancelContactJob', start, (test) => {
  test('stops an import that waits, and forgets its file', async (service) => {
    const project = await service.newProject()
    const id = jobIdOf(await postImport(service, CSV, project))
    const answer = await service.as(project).graphql(CANCEL, { id })
    assert.equal(answer.body.data?.cancelContactJob, {
      __typename: 'ImportJob',
      id,
      type: 'IMPORT',
      state: 'failed',
      progress: 0,
      failedReason: 'Cancelled.',
    })
    await work(service, project)
    assert.equal(await contactsOf(service, project), {})
    const { body } = await getJob(service, 'import', id, project)
    assert.equal([body.state, body.failedReason], ['failed', 'Cancelled.'])
    assert.ok(body.completedAt)
    assert.is((await keptInput(service, id)).file, null)
  })

  test('stops an import under way: what is done stays done', async (service) => {
    const project = await service.newProject()
    const people = Array.from({ length: 1_200 }, (_, index) => `p${index}@example.org`)
    const id = jobIdOf(await postImport(service, `email\n${people.join('\n')}`, project))
    // The first chunk itself cancels, as the last thing before its commit.
    await service.sql(`create function cancel_job() returns trigger language plpgsql as $$ begin
      if new.position = 500 then new.state = 'failed'; new.failed_reason = 'Cancelled.'; end if; return new; end $$`)
    await service.sql(
      'create trigger cancels before update on contact_jobs for each row execute function cancel_job()',
    )
    await work(service, project)
    await service.sql('drop trigger cancels on contact_jobs')
    assert.is(Object.keys(await contactsOf(service, project)).length, 500)
    const { body } = await getJob(service, 'import', id, project)
    assert.equal([body.state, body.failedReason, body.progress], ['failed', 'Cancelled.', 41])
    assert.is(body.result.created, 500)
  })

  test('refuses a job that has ended, of another project, or that there is not', async (service) => {
    const { project } = service
    const cancel = (id: string, key = project.secret) => service.as(key).graphql(CANCEL, { id })
    const { id } = await imported(service, CSV)
    assertGraphQLRefused(await cancel(id), 409, 'CONFLICT')
    const waiting = jobIdOf(await postImport(service, CSV))
    const other = await service.newProject()
    assertGraphQLRefused(await cancel(waiting, other.secret), 404, 'RESOURCE_NOT_FOUND')
    assertGraphQLRefused(await cancel(randomUUID()), 404, 'RESOURCE_NOT_FOUND')
    assertGraphQLRefused(await cancel('x'), 404, 'RESOURCE_NOT_FOUND')
    assert.is((await getJob(service, 'import', waiting)).body.state, 'waiting')
    await cancel(waiting)
    assertGraphQLRefused(await cancel(waiting), 409, 'CONFLICT')
  })
})
