import PostalMime from 'postal-mime'
import * as assert from 'uvu/assert'
import { sendBody } from '../../support/mailing.ts'
import type { Answer, Body, Service } from '../../support/service.ts'
import { until } from '../../support/service.ts'

type Fields = Record<string, unknown>

/** Sends through REST as the service's own project, or as another one. */
export const send = (service: Service, fields: Fields = {}, project = service.project): Promise<Answer> =>
  service.as(project).post('/v1/send', sendBody(project, fields))

const SEND_EMAIL = `mutation ($input: SendEmailInput!) {
  sendEmail(input: $input) { emails { contact { id email } email } timestamp }
}`

/** Sends through GraphQL. */
export const sendByGraphQL = (
  service: Service,
  fields: Fields = {},
  project = service.project,
): Promise<Answer> => service.as(project).graphql(SEND_EMAIL, { input: sendBody(project, fields) })

/** The contact and the email of a request with one recipient, as they are stored. */
export async function sent(
  service: Service,
  fields: Fields = {},
  project = service.project,
): Promise<{ contact: Body; email: Body }> {
  const answer = await send(service, fields, project)
  assert.is(answer.status, 200, answer.text)
  return stored(service, answer.body.data.emails[0].email)
}

/** An email with its `html` and `headers` (name to value), and its contact. */
export async function stored(service: Service, emailId: string): Promise<{ contact: Body; email: Body }> {
  const [email] = await service.sql<Body>(
    `select e.*, c.html, c.headers from emails e
     join email_contents c on c.project_id = e.project_id and c.email_id = e.id where e.id = $1`,
    [emailId],
  )
  assert.ok(email, 'the email is stored')
  const [contact] = await service.sql<Body>('select * from contacts where id = $1', [email.contact_id])
  const headers = email.headers.map(({ name, value }: Body) => [name, value])
  return { contact, email: { ...email, headers: Object.fromEntries(headers) } }
}

/** The message of an email as its receiver gets it. */
export async function delivered(service: Service, emailId: string) {
  const raw = await until(`${emailId} is delivered`, async () => {
    const { status, text } = await service.call('GET', `/mailbox/messages/${emailId}/raw`)
    return status === 200 && text
  })
  return { raw, message: await PostalMime.parse(raw) }
}

/** Names and data of the events of a contact, oldest first. */
export const eventsOf = (service: Service, contactId: string) =>
  service.sql<{ name: string; data: Body }>(
    'select name, data from events where contact_id = $1 order by created_at, id',
    [contactId],
  )

/** A template of the project; returns its id. */
export async function templateOf(
  service: Service,
  fields: Fields = {},
  project = service.project,
): Promise<string> {
  const { status, body, text } = await service.as(project).post('/templates', {
    name: 'Test',
    subject: 'Template subject',
    body: '<p>Template body</p>',
    from: `template@${project.domain}`,
    type: 'TRANSACTIONAL',
    ...fields,
  })
  assert.is(status, 201, text)
  return body.id
}

/** Rows of every table, by name. */
export async function rowCounts({ sql }: Service): Promise<Record<string, number>> {
  const tables = await sql<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  const counts = tables.map(({ name }) => `select '${name}' as name, count(*)::int as rows from "${name}"`)
  const rows = await sql<{ name: string; rows: number }>(counts.join(' union all '))
  return Object.fromEntries(rows.map(({ name, rows }) => [name, rows]))
}

/** Runs what must leave no trace: no table may have another number of rows afterwards. */
export async function withoutTrace<Result>(service: Service, work: () => Promise<Result>): Promise<Result> {
  const before = await rowCounts(service)
  const result = await work()
  await assertNothingStored(service, before)
  return result
}

/** No table has another number of rows than it had, but for those of `except`. */
export async function assertNothingStored(
  service: Service,
  before: Record<string, number>,
  except: string[] = [],
): Promise<void> {
  const changed = Object.entries(await rowCounts(service))
    .filter(([table, rows]) => rows !== before[table] && !except.includes(table))
    .map(([table, rows]) => `${table}: ${before[table]}, then ${rows}`)
  assert.equal(changed, [], `nothing is stored, but ${changed.join('; ')}`)
}

/** Field and code of each error of a 422. */
export function fieldErrors(answer: Answer): [field: string, code: string][] {
  assert.is(answer.status, 422, answer.text)
  assert.is(answer.body.error.code, 'VALIDATION_ERROR')
  return answer.body.error.errors.map(({ field, code }: Body) => [field, code])
}
