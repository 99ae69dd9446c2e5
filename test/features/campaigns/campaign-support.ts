import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { type Body, type Project, type Service, until } from '../../support/service.ts'

/** The body of a request that creates a campaign of the project. */
export const campaignBody = (project: Project, fields: object = {}) => ({
  name: 'Spring sale',
  subject: 'Spring is here, {{name ?? friend}}',
  body: '<p>Hello {{name ?? friend}}, everything is 20 % off.</p>',
  from: `news@${project.domain}`,
  audienceType: 'ALL',
  ...fields,
})

/** Creates a campaign and returns it. */
export async function newCampaign(
  service: Service,
  fields: object = {},
  project = service.project,
): Promise<Body> {
  const answer = await service.as(project).post('/campaigns', campaignBody(project, fields))
  assert.is(answer.status, 201, answer.text)
  return answer.body.data
}

/** Creates so many contacts, `c0@<domain>` and so on, and returns their ids in that order. */
export async function newContacts(
  service: Service,
  count: number,
  fields: { subscribed?: boolean; data?: object; prefix?: string } = {},
  project: Project = service.project,
): Promise<string[]> {
  const { subscribed = true, data = {}, prefix = `c-${randomUUID().slice(0, 6)}-` } = fields
  const rows = await service.sql<{ id: string }>(
    `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
     select $1, (lpad(to_hex(floor(extract(epoch from $2::timestamptz) * 1000)::bigint - $3 + n), 12, '0')
         || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid,
       $4 || n || '@example.org', $5, $6::jsonb || jsonb_build_object('number', n), $2, $2
     from generate_series(0, $3::int - 1) as n order by n returning id`,
    [project.id, service.app.services.now(), count, prefix, subscribed, JSON.stringify(data)],
  )
  return rows.map(({ id }) => id)
}

/** Sends a campaign at once. */
export async function sendNow(service: Service, id: string, project = service.project): Promise<void> {
  const answer = await service.as(project).post(`/campaigns/${id}/send`, {})
  assert.is(answer.status, 200, answer.text)
}

export async function stats(service: Service, id: string, project = service.project): Promise<Body> {
  // A machine that is busy with other tests may say 503 for a while.
  const answer = await until('the numbers are told', async () => {
    const told = await service.as(project).get(`/campaigns/${id}/stats`)
    return told.status !== 503 && told
  })
  assert.is(answer.status, 200, answer.text)
  return answer.body.data
}

/** Waits until a campaign has a state, and returns its numbers. */
export const reached = (
  service: Service,
  id: string,
  status: string,
  project = service.project,
): Promise<Body> =>
  until(`the campaign is ${status}`, async () => {
    const found = await stats(service, id, project)
    return found.status === status && found.pendingCount + found.sendingCount === 0 && found
  })

const STATES = ['pending', 'sending', 'sent', 'failed', 'suppressed', 'skipped', 'cancelled']

/** The seven counters by the names of the states, and the ledger counted again, which must be the same. */
export async function assertAddsUp(service: Service, id: string, project = service.project): Promise<void> {
  const found = await stats(service, id, project)
  const counted = await service.sql<{ status: string; count: number }>(
    'select lower(status::text) as status, count(*)::int as count from campaign_recipients where campaign_id = $1 group by 1',
    [id],
  )
  const counts = Object.fromEntries(counted.map(({ status, count }) => [status, count]))
  for (const state of STATES) assert.is(found[`${state}Count`], counts[state] ?? 0, state)
  assert.is(
    found.totalRecipients,
    counted.reduce((sum, { count }) => sum + count, 0),
  )
}

/** What has arrived in the mailbox for addresses with a beginning. */
export async function mailOf(service: Service, prefix: string, limit = 1000): Promise<Body[]> {
  const { body } = await service.call('GET', `/mailbox/messages?limit=${limit}`)
  return body.data.filter((message: Body) => message.to.startsWith(prefix))
}
