import pg from 'pg'
import type { LastEvent, Subject } from '../../src/audience/match.rules.ts'
import { newId } from '../../src/lib/ids.ts'
import type { Service } from '../support/service.ts'
import { NOW, type PersonSeed, STORED } from './arbitrary.ts'
import type { Person } from './naive.ts'

type Sql = Service['sql']

/** Puts contacts with their events and memberships into a project. Returns them as the database has them. */
export async function insertPeople(sql: Sql, projectId: string, seeds: PersonSeed[]): Promise<Person[]> {
  for (const [number, id] of STORED.entries()) {
    await sql(
      `insert into segments (project_id, id, name, slug, type, created_at, updated_at)
       values ($1, $2, 'Stored', 'stored-' || $4::int, 'STATIC', $3, $3)`,
      [projectId, id, NOW, number],
    )
  }
  for (const [index, seed] of seeds.entries()) await insertPerson(sql, projectId, seed, index)
  return readPeople(sql, projectId)
}

async function insertPerson(sql: Sql, projectId: string, seed: PersonSeed, index: number): Promise<void> {
  const id = newId(NOW)
  await sql(
    `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [projectId, id, emailOf(seed, index), seed.subscribed, seed.dataText, seed.createdAt, seed.updatedAt],
  )
  for (const { name, at, data } of seed.events) {
    await sql(
      'insert into events (project_id, id, contact_id, name, data, created_at) values ($1, $2, $3, $4, $5, $6)',
      [projectId, newId(NOW), id, name, JSON.stringify(data), at],
    )
  }
  for (const number of seed.memberOf) {
    await sql(
      'insert into segment_members (project_id, segment_id, contact_id, created_at) values ($1, $2, $3, $4)',
      [projectId, STORED[number], id, NOW],
    )
  }
}

/** Made different by a number, unless it is a whole address. */
const emailOf = ({ email }: PersonSeed, index: number): string =>
  email.includes('@') ? email : `${email}-${index}@example.org`

const readPeople = (sql: Sql, projectId: string): Promise<Person[]> =>
  sql<Omit<Person, 'events'> & { events: { name: string; at: string; data: object }[] }>(
    `select id, email, subscribed, created_at as "createdAt", updated_at as "updatedAt", data,
       array(select segment_id::text from segment_members m where m.project_id = c.project_id and m.contact_id = c.id)
         as "memberOf",
       (select coalesce(json_agg(json_build_object('name', name, 'at', created_at, 'data', data)), '[]') from events e
        where e.project_id = c.project_id and e.contact_id = c.id) as events
     from contacts c where project_id = $1 order by id`,
    [projectId],
  ).then((rows) =>
    rows.map((row) => ({
      ...row,
      events: row.events.map((event) => ({ ...event, at: new Date(event.at) })),
    })),
  )

/** The same contact as the matcher wants it. */
export function subjectOf(person: Person): Subject {
  const events = new Map<string, LastEvent>()
  for (const { name, at, data } of person.events) {
    const last = events.get(name)
    const byPerson = data.bot === true ? null : at
    events.set(name, { at: later(last?.at, at) ?? at, byPerson: later(last?.byPerson, byPerson) })
  }
  return { contact: person, events, segments: new Set(person.memberOf) }
}

const later = (one: Date | null | undefined, other: Date | null): Date | null =>
  !one ? other : !other || one > other ? one : other

/** Connections whose settings make Postgres read and write dates in another way than the service's own do. */
export const oddlySetPool = (service: Service): pg.Pool =>
  new pg.Pool({
    connectionString: service.databaseUrl,
    options: '-c timezone=America/New_York -c datestyle=SQL,DMY -c intervalstyle=sql_standard',
    max: 2,
  })
