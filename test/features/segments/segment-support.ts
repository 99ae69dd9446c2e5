import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { computeSegmentsJob } from '../../../src/features/memberships/compute-segments.job.ts'
import { followSegmentsJob } from '../../../src/features/memberships/follow-segments.job.ts'
import { noteInterests } from '../../support/interests.ts'
import {
  type Answer,
  type Body,
  type Project,
  type Service,
  until,
  withProject,
} from '../../support/service.ts'
import { turnOf, workThrough } from '../../support/work.ts'

export const FIELDS =
  'id projectId name slug description type condition trackMembership memberCount createdAt updatedAt'

/** A tree of one group. */
export const treeOf = (...filters: object[]) => ({ logic: 'AND', groups: [{ filters }] })

export const isPro = { field: 'data.plan', operator: 'equals', value: 'pro' }
export const PRO = treeOf(isPro)
export const memberOf = (id: string) => ({ field: `segment.${id}`, operator: 'memberOfSegment' })
export const triggered = (name: string) => ({ field: `event.${name}`, operator: 'triggered' })

/** A segment of all PRO contacts unless the fields say something else. */
export async function newSegment(
  service: Service,
  fields: object = {},
  project: Project = service.project,
): Promise<Body> {
  const answer = await service
    .as(project)
    .post('/segments', { name: 'Pro customers', condition: PRO, ...fields })
  assert.is(answer.status, 201, answer.text)
  return answer.body
}

export const newList = (service: Service, fields: object = {}, project?: Project): Promise<Body> =>
  newSegment(service, { name: 'By hand', type: 'STATIC', condition: undefined, ...fields }, project)

/** Tracked, and computed once, so that it follows. */
export async function newTracked(service: Service, fields: object = {}, project?: Project): Promise<Body> {
  const segment = await newSegment(service, { trackMembership: true, ...fields }, project)
  await computed(service, segment.id, project)
  return segment
}

export async function segmentOf(service: Service, id: string, project?: Project): Promise<Body> {
  const answer = await service.as(project).get(`/segments/${id}`)
  assert.is(answer.status, 200, answer.text)
  return answer.body
}

export async function computed(service: Service, id: string, project?: Project): Promise<Body> {
  return countsOf(service, id, await compute(service, id, project), project)
}

/** What a computation came to; it is waited for when it took longer than a request waits, as it may on a busy machine. */
export async function countsOf(
  service: Service,
  id: string,
  answer: Answer,
  project = service.project,
): Promise<Body> {
  const { status, ...counts } = answer.body
  if (answer.status !== 202) {
    assert.equal([answer.status, status], [200, 'completed'], answer.text)
    return counts
  }
  const ended = `select ended_added as added, ended_removed as removed, member_count as total from segments
    where project_id = $1 and id = $2 and pass_ended >= pass_asked`
  return until('the computation ends', async () => {
    await computeSegmentsJob.slice(service.ctx(project.id), turnOf(project.id))
    const [counts] = await service.sql(ended, [project.id, id])
    return counts
  })
}

/** Asks for a computation, and does the work until there is an answer, as a worker would. */
export const compute = (service: Service, id: string, project = service.project): Promise<Answer> =>
  whileComputing(service, service.as(project).post(`/segments/${id}/compute`), project)

export async function whileComputing(
  service: Service,
  request: Promise<Answer>,
  project = service.project,
): Promise<Answer> {
  const computing = { answered: false }
  const answer = request.finally(() => {
    computing.answered = true
  })
  await until('it has asked', async () => computing.answered || (await isDue(service, project.id)))
  while (!computing.answered) {
    await computeSegmentsJob.slice(service.ctx(project.id), turnOf(project.id))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return answer
}

const isDue = async ({ sql }: Service, projectId: string) =>
  (await sql(`select from segments where project_id = $1 and pass_asked > pass + 1`, [projectId])).length > 0

/** Nobody writes any more, in any test, who wrote before a segment listened: a pass would wait for him. */
export async function writersDone(service: Service): Promise<void> {
  const early = `select from segments where listening_xid >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint`
  await until('writers are done', async () => (await service.sql(early)).length === 0)
}

/** Does what is due for the segments of all projects, as a worker does. */
export async function computeDue(service: Service): Promise<void> {
  await writersDone(service)
  await workThrough(service, computeSegmentsJob)
}

/** Makes or changes a contact and returns it. */
export async function contact(
  service: Service,
  email: string,
  data: object = {},
  project: Project = service.project,
): Promise<Body> {
  const body = { email: email.includes('@') ? email : `${email}@example.org`, data }
  const answer = await service.as(project).post('/contacts', body)
  assert.ok(answer.status === 201 || answer.status === 200, answer.text)
  return answer.body
}

/** Many contacts, past the service: no segment hears of them. */
export async function manyContacts(
  { sql, project }: Service,
  count: number,
  data: object = { plan: 'pro' },
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID())
  await sql(
    `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
     select $1, id, id || '@example.org', true, $3, now(), now() from unnest($2::uuid[]) as made (id)`,
    [project.id, ids, JSON.stringify(data)],
  )
  return ids
}

/** Follows all changes, as a worker does. */
export const follow = (service: Service): Promise<void> => workThrough(service, followSegmentsJob)

/** Stored members by the local parts of their addresses. */
export async function members(service: Service, id: string): Promise<string[]> {
  const rows = await service.sql<{ name: string }>(
    `select split_part(c.email, '@', 1) as name from segment_members m
     join contacts c on c.project_id = m.project_id and c.id = m.contact_id
     where m.segment_id = $1 order by 1`,
    [id],
  )
  return rows.map(({ name }) => name)
}

/** Entries and exits of a segment, oldest first: "ada entry". */
export async function moves(service: Service, id: string): Promise<string[]> {
  const rows = await service.sql<{ move: string }>(
    `select split_part(c.email, '@', 1) || ' ' || substring(e.name from '[^.]*$') as move from events e
     join contacts c on c.project_id = e.project_id and c.id = e.contact_id
     where e.data ->> 'segmentId' = $1 order by e.created_at, 1`,
    [id],
  )
  return rows.map(({ move }) => move)
}

/** Changes that wait for the segments of a project. */
export async function waiting({ sql, project }: Service, projectId: string = project.id): Promise<number> {
  const [row] = await sql<{ count: number }>(
    'select count(*)::int as count from changes where project_id = $1',
    [projectId],
  )
  return row?.count ?? 0
}

/** Another project of the service, with nothing in it, to be used like the first one. */
export async function elsewhere(service: Service): Promise<Service> {
  return withProject(service, await service.newProject())
}

export async function newCampaign(
  service: Service,
  {
    status,
    segmentId = null,
    condition = null,
  }: { status: string; segmentId?: string | null; condition?: unknown },
): Promise<string> {
  const id = randomUUID()
  const { project } = service
  await service.sql(
    `insert into campaigns (project_id, id, name, subject, body, "from", status, audience_type, segment_id,
       audience_condition, created_at, updated_at)
     values ($1, $2, 'News', 'News', '<p>News</p>', 'a@example.org', $3::campaign_status, $4::audience_type, $5, $6,
       now(), now())`,
    [
      project.id,
      id,
      status,
      segmentId ? 'SEGMENT' : 'FILTERED',
      segmentId,
      condition && JSON.stringify(condition),
    ],
  )
  await noteInterests(service, project.id)
  return id
}

/** A workflow, enabled or not, with a trigger or a condition step. */
export async function newWorkflow(
  service: Service,
  { trigger = {}, type = 'EVENT', condition }: { trigger?: object; type?: string; condition?: object },
): Promise<string> {
  const id = randomUUID()
  const { project } = service
  await service.sql(
    `insert into workflows (project_id, id, name, enabled, trigger_type, trigger_config, created_at, updated_at)
     values ($1, $2, 'Onboarding', false, $3::trigger_type, $4, now(), now())`,
    [project.id, id, type, JSON.stringify(trigger)],
  )
  if (condition) {
    await service.sql(
      `insert into workflow_steps (project_id, id, workflow_id, type, name, config, created_at, updated_at)
       values ($1, $2, $3, 'CONDITION', 'Is it?', $4, now(), now())`,
      [project.id, randomUUID(), id, JSON.stringify({ condition })],
    )
  }
  await noteInterests(service, project.id)
  return id
}
