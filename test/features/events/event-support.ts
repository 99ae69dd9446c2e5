import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import type { Ctx } from '../../../src/ctx.ts'
import { countEvents } from '../../../src/features/event-statistics/event-counts.ts'
import { newId } from '../../../src/lib/ids.ts'
import { HOUR } from '../../support/clock.ts'
import { noteInterests } from '../../support/interests.ts'
import type { Body, Project, Service } from '../../support/service.ts'

/** Every field of an event, for GraphQL. */
export const EVENT = 'id name contactId emailId data createdAt'

export const DAY = 24 * HOUR

/** The body of an answer that has to be 200. */
export async function got(service: Service, path: string, project: Project = service.project): Promise<Body> {
  const { status, text, body } = await service.as(project).get(`/events${path}`)
  assert.is(status, 200, text)
  return body
}

/** Makes contacts past the API; returns their ids. */
export async function newContacts(
  { sql }: Service,
  count: number,
  project: Project,
): Promise<[string, ...string[]]> {
  const rows = await sql<{ id: string }>(
    `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
     select $1, gen_random_uuid(), gen_random_uuid() || '@example.org', true, now(), now()
     from generate_series(1, $2) returning id`,
    [project.id, count],
  )
  const [first = '', ...others] = rows.map(({ id }) => id)
  return [first, ...others]
}

export type NewEvent = { name: string; contactId: string; at: Date; id?: string }

/** The statement that records events at any time, with ids of that time, and its values. */
export const eventRows = (events: NewEvent[], project: Project): [text: string, values: unknown[]] => [
  `insert into events (project_id, id, contact_id, name, created_at)
   select $1, * from unnest($2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[])`,
  [
    project.id,
    events.map(({ id, at }) => id ?? newId(at)),
    events.map(({ contactId }) => contactId),
    events.map(({ name }) => name),
    events.map(({ at }) => at),
  ],
]

export const record = async (service: Service, events: NewEvent[], project: Project): Promise<void> => {
  await service.sql(...eventRows(events, project))
}

/** Does the background's counting, in a process whose clock is that many milliseconds ahead of the service's. */
export async function recount(service: Service, project: Project, ahead = 0): Promise<void> {
  await countEvents(skewed(service.ctx(project.id), ahead), { hasTime: () => true })
}

/** The same in a process whose clock is ahead. */
export const skewed = (ctx: Ctx, ahead: number): Ctx => ({
  ...ctx,
  now: () => new Date(ctx.now().getTime() + ahead),
})

/** Makes a dynamic segment whose condition names the event; returns what usage shows of it. */
export async function usedInSegment(service: Service, name: string, project: Project) {
  const segment = { id: randomUUID(), name: 'Those who did' }
  const filter = { field: `event.${name}`, operator: 'triggered' }
  await service.sql(
    `insert into segments (project_id, id, name, slug, type, condition, created_at, updated_at)
     values ($1, $2, $3, $2::uuid::text, 'DYNAMIC', $4, now(), now())`,
    [project.id, segment.id, segment.name, JSON.stringify({ logic: 'AND', groups: [{ filters: [filter] }] })],
  )
  await noteInterests(service, project.id)
  return segment
}
