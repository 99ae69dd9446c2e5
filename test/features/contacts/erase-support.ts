import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { sendBody } from '../../support/mailing.ts'
import type { Answer, Project, Service } from '../../support/service.ts'

/** A person, and everything that must not be found any more when the person is deleted. */
type Person = { email: string; secret: string; file: string; subject: string; name: string }

export const person = (): Person => {
  const mark = randomUUID().slice(0, 8)
  return {
    email: `p-${mark}@personal.example`,
    secret: `secret-${mark}`,
    file: `file-${mark}`,
    subject: `subject-${mark}`,
    name: `Name ${mark}`,
  }
}

export const textsOf = (of: Person): string[] => Object.values(of)

export const sendOf = (of: Person, more: object = {}) => ({
  to: { email: of.email, name: of.name },
  subject: `${of.subject} {{secret}}`,
  body: '<p>{{secret}} {{once}}</p>',
  data: { secret: of.secret, nested: { list: [of.secret] }, once: { value: of.secret, persistent: false } },
  headers: { 'X-Person': of.secret },
  attachments: [
    { filename: 'a.txt', contentType: 'text/plain', content: Buffer.from(of.file).toString('base64') },
  ],
  ...more,
})

const post = (
  { as }: Service,
  project: Project,
  path: '/v1/send' | '/v1/track',
  body: object,
  idempotencyKey: string,
): Promise<Answer> =>
  as(path === '/v1/send' ? project.secret : project.public).post(path, body, {
    headers: { 'idempotency-key': idempotencyKey, 'idempotency-replay': 'true' },
  })

export const keyOf = (of: Person, path: string) => `${of.secret.replace('secret', 'key')} ${path}`

export const send = (service: Service, of: Person, project = service.project, more: object = {}) =>
  post(service, project, '/v1/send', sendBody(project, sendOf(of, more)), keyOf(of, 'send'))

export const track = (service: Service, of: Person, project = service.project) =>
  post(
    service,
    project,
    '/v1/track',
    { email: of.email, event: 'bought', data: { secret: of.secret } },
    keyOf(of, 'track'),
  )

/** Leaves traces of a person wherever the service writes; returns the contact's id. */
export async function leaveTraces(service: Service, of: Person, project = service.project): Promise<string> {
  const answers = [await send(service, of, project), await track(service, of, project)]
  assert.equal(
    answers.map(({ status, text }) => [status, text]),
    answers.map(({ text }) => [200, text]),
  )
  const id = answers[1]?.body.data.contact
  const change = { subscribed: true, data: { more: of.secret, [of.secret.length]: of.secret } }
  assert.is((await service.as(project).patch(`/contacts/${id}`, change)).status, 200)
  const errors = [
    { row: 2, email: of.email, error: 'subscribed must be true or false' },
    { row: 3, email: 'not an address', error: 'email must be an email address' },
  ]
  await service.sql(
    `insert into contact_jobs (project_id, id, type, state, result, created_at)
     values ($1, gen_random_uuid(), 'IMPORT', 'completed', $2, now())`,
    [project.id, JSON.stringify({ totalRows: 2, failed: 2, errors })],
  )
  await startWorkflow(service, id, of, project)
  return id
}

/** An execution of a workflow, as the service would keep it. */
async function startWorkflow(
  { sql }: Service,
  contactId: string,
  of: Person,
  project: Project,
): Promise<void> {
  const [workflow, execution] = [randomUUID(), randomUUID()]
  await sql(
    `insert into workflows (project_id, id, name, trigger_config, created_at, updated_at)
     values ($1, $2, 'Test', '{}', now(), now())`,
    [project.id, workflow],
  )
  await sql(
    `insert into workflow_executions (project_id, id, workflow_id, contact_id, context, started_at)
     values ($1, $2, $3, $4, $5, now())`,
    [project.id, execution, workflow, contactId, JSON.stringify({ secret: of.secret, email: of.email })],
  )
}

/** Events of a contact, as if they had been tracked. */
export const addEvents = ({ sql }: Service, project: Project, contactId: string, count: number) =>
  sql(
    `insert into events (project_id, id, contact_id, name, created_at)
     select $1, gen_random_uuid(), $2, 'seen', now() from generate_series(1, $3::int)`,
    [project.id, contactId, count],
  )
