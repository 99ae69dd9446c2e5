import * as assert from 'uvu/assert'
import { changeContactsJob } from '../../../src/features/contact-jobs/change-contacts.job.ts'
import { type Answer, type Body, type Project, type Service, until } from '../../support/service.ts'
import { turnOf } from '../../support/work.ts'
import { bytesOf } from './csv-support.ts'

/** A form with one file, as a browser would send it. */
export function csvForm(file: string | Uint8Array, field = 'file'): FormData {
  const form = new FormData()
  form.append(field, new Blob([new Uint8Array(bytesOf(file))], { type: 'text/csv' }), 'contacts.csv')
  return form
}

export const postImport = (
  service: Service,
  file: string | Uint8Array,
  project: Project = service.project,
): Promise<Answer> => service.as(project).post('/contacts/import', csvForm(file))

export type BulkAction = 'bulk-subscribe' | 'bulk-unsubscribe' | 'bulk-delete'

export const postBulk = (
  service: Service,
  action: BulkAction,
  body: unknown,
  project: Project = service.project,
): Promise<Answer> => service.as(project).post(`/contacts/${action}`, body)

export const getJob = (
  service: Service,
  kind: 'import' | 'bulk',
  id: string,
  project: Project = service.project,
): Promise<Answer> => service.as(project).get(`/contacts/${kind}/${id}`)

/** The id of the job that was queued. */
export function jobIdOf({ status, body, text }: Answer): string {
  assert.is(status, 202, text)
  assert.equal(Object.keys(body).toSorted(), ['jobId', 'message'])
  assert.type(body.message, 'string')
  return body.jobId
}

/** Does what a worker does with the jobs of a project; the tests' services have none, so that nothing waits for it. */
export async function work(service: Service, project: Project = service.project): Promise<void> {
  const result = await changeContactsJob.slice(service.ctx(project.id), turnOf(project.id))
  assert.is(result, 'done')
}

/** Imports a file and returns the job as it is then. */
export async function imported(
  service: Service,
  file: string | Uint8Array,
  project: Project = service.project,
): Promise<Body> {
  const jobId = jobIdOf(await postImport(service, file, project))
  await work(service, project)
  return ended(service, 'import', jobId, project)
}

/** Changes many contacts and returns the job as it is then. */
export async function bulkChanged(
  service: Service,
  action: BulkAction,
  body: unknown,
  project: Project = service.project,
): Promise<Body> {
  const jobId = jobIdOf(await postBulk(service, action, body, project))
  await work(service, project)
  return ended(service, 'bulk', jobId, project)
}

/** Slices that run side by side do each other's jobs: the own one may still be in the hands of another. */
async function ended(
  service: Service,
  kind: 'import' | 'bulk',
  jobId: string,
  project: Project,
): Promise<Body> {
  await polled(service, kind, jobId, project)
  const answer = await getJob(service, kind, jobId, project)
  assert.is(answer.status, 200, answer.text)
  assert.is(answer.body.state, 'completed', answer.text)
  assert.is(answer.body.progress, 100)
  assert.is(answer.body.failedReason, null)
  assert.ok(answer.body.completedAt)
  if (kind === 'import') assertCounted(answer.body.result)
  return answer.body
}

/** Every row is counted once. */
export function assertCounted(result: Body): void {
  const { totalRows, created, updated, unchanged, failed } = result
  assert.is(created + updated + unchanged + failed, totalRows, JSON.stringify(result))
}

/** Polls a job until it has ended, as a caller would. */
export const polled = (
  service: Service,
  kind: 'import' | 'bulk',
  id: string,
  project: Project = service.project,
): Promise<Body> =>
  until(`the job ${id} to end`, async () => {
    const { body } = await getJob(service, kind, id, project)
    return body.state === 'completed' || body.state === 'failed' ? body : null
  })

/** Contacts of a project by their addresses, with all that is stored and nothing that is made up for them. */
export async function contactsOf(service: Service, project: Project = service.project): Promise<Body> {
  const rows = await service.sql<{ email: string }>(
    'select email, subscribed, data from contacts where project_id = $1 order by email',
    [project.id],
  )
  return Object.fromEntries(rows.map(({ email, ...rest }) => [email, rest]))
}

/** Names, sources and addresses of the events of a project, in their order. */
export const eventsOf = (service: Service, project: Project = service.project): Promise<Body[]> =>
  service.sql(
    `select c.email, e.name, e.data ->> 'source' as source from events e
     join contacts c on c.project_id = e.project_id and c.id = e.contact_id
     where e.project_id = $1 order by c.email, e.id`,
    [project.id],
  )

export const CANCEL =
  'mutation ($id: ID!) { cancelContactJob(jobId: $id) { __typename id type state progress failedReason } }'

/** What the row of a job still has of the request. */
export async function keptInput(service: Service, jobId: string): Promise<Body> {
  const [row] = await service.sql('select file, request, result from contact_jobs where id = $1', [jobId])
  return row
}
