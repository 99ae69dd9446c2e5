import * as assert from 'uvu/assert'
import { eventCtes } from '../../../src/changes/changes.sql.ts'
import { newId } from '../../../src/lib/ids.ts'
import type { Body, Project, Service } from '../../support/service.ts'

/** The answer to a GET that succeeds. */
export async function read(service: Service, path: string, project = service.project): Promise<Body> {
  const answer = await service.as(project).get(path)
  assert.is(answer.status, 200, `${path}: ${answer.text}`)
  return answer.body
}

export async function asked(service: Service, query: string, project = service.project): Promise<Body> {
  const answer = await service.as(project).graphql(query)
  assert.is(answer.body.errors, undefined, answer.text)
  return answer.body.data
}

export type MailEvent = { emailId: string; name: string; data: object; at: Date }

/** Records events of mail by the parts of a statement that every writer of events uses. */
export async function happened(service: Service, events: MailEvent[]): Promise<void> {
  await service.sql(
    `with mail_event as (
       select e.project_id, h.id, e.contact_id, h.name, e.id as email_id,
         jsonb_build_object('emailId', e.id, 'campaignId', e.campaign_id, 'sourceType', e.source_type) || h.data as data, h.at
       from unnest($1::uuid[], $2::uuid[], $3::text[], $4::jsonb[], $5::timestamptz[]) h (id, email_id, name, data, at)
       join emails e on e.id = h.email_id
     ),
     ${eventCtes('select * from mail_event')}
     select count(*) from event`,
    [
      events.map(({ at }) => newId(at)),
      events.map(({ emailId }) => emailId),
      events.map(({ name }) => name),
      events.map(({ data }) => JSON.stringify(data)),
      events.map(({ at }) => at),
    ],
  )
}

/** Counts mail that is not there, as of now. */
export const countMail = (
  { sql, clock }: Service,
  { id }: Project,
  { sent = 0, bounced = 0, softBounced = 0, complained = 0 },
) =>
  sql(
    `insert into mail_tallies (project_id, id, quarter, provider, sent, bounced, soft_bounced, complained)
     values ($1, gen_random_uuid(), date_bin('15 minutes', $2::timestamptz, '2000-01-01 00:00Z'), 'OTHER', $3, $4, $5, $6)`,
    [id, clock.now(), sent, bounced, softBounced, complained],
  )

const PERSON = `not coalesce((data ->> 'bot')::boolean, false)`
const FIRST = `(data ->> 'isFirst')::boolean`
const SOFT = `data ->> 'bounceType' = 'Transient'`

const DAY_COUNTS = {
  sent: `name = 'email.sent'`,
  delivered: `name = 'email.delivery'`,
  opens: `name = 'email.open' and ${FIRST}`,
  clicks: `name = 'email.click' and ${FIRST}`,
  bounces: `name = 'email.bounce' and not ${SOFT}`,
  complaints: `name = 'email.complaint'`,
  totalOpens: `name = 'email.open' and ${PERSON}`,
  totalClicks: `name = 'email.click' and ${PERSON}`,
  botOpens: `name = 'email.open' and not ${PERSON}`,
  botClicks: `name = 'email.click' and not ${PERSON}`,
}

const OF_PROJECT = `from events where project_id = $1 and name like 'email.%' and data ->> 'sourceType' <> 'TEST'`

const counted = Object.entries(DAY_COUNTS)
  .map(([name, where]) => `(count(*) filter (where ${where}))::int as "${name}"`)
  .join(', ')

/** What the time series has to say of days with mail: by looking at every event. */
export const recountDays = ({ sql }: Service, { id }: Project, timeZone: string): Promise<Body[]> =>
  sql(
    `select (created_at at time zone $2)::date::text as date, ${counted} ${OF_PROJECT} group by 1 order by 1`,
    [id, timeZone],
  )

/** Opens and clicks by the hour of the day, by looking at every event. */
export const recountHours = ({ sql }: Service, { id }: Project, timeZone: string): Promise<Body[]> =>
  sql(
    `select extract(hour from created_at at time zone $2)::int as hour, ${counted} ${OF_PROJECT} group by 1 order by 1`,
    [id, timeZone],
  )
