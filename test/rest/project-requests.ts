import { randomUUID } from 'node:crypto'
import { member, signedUp } from '../support/browser-session.ts'
import type { Service } from '../support/service.ts'
import type { Case } from './openapi-requests.ts'

type Cases = Record<string, (service: Service) => Promise<Case> | Case>

const newAddress = () => `${randomUUID()}@example.org`

/** The project of the service, whose owner asks. */
const own = ({ project }: Service) => ({ params: { id: project.id } })

async function userOf({ sql }: Service, email: string): Promise<string> {
  const [row] = await sql<{ id: string }>('select id from users where email = $1', [email])
  return row?.id ?? ''
}

/** Somebody in the project of the service. */
async function someMember(service: Service): Promise<{ id: string; userId: string }> {
  const { email } = await member(service, 'MEMBER')
  return { id: service.project.id, userId: await userOf(service, email) }
}

/** The first owner of the project, who makes the requests. */
async function theOwner({ sql, project }: Service): Promise<{ id: string; userId: string }> {
  const [row] = await sql<{ id: string }>(
    `select user_id as id from members where project_id = $1 and role = 'OWNER'`,
    [project.id],
  )
  return { id: project.id, userId: row?.id ?? '' }
}

/** A project that may go, with the owner of all of them. */
async function spare(service: Service): Promise<Case> {
  const project = await service.newProject()
  const { userId } = await theOwner(service)
  await service.sql(
    `insert into members (project_id, user_id, role, created_at) values ($1, $2, 'OWNER', now())`,
    [project.id, userId],
  )
  return { params: { id: project.id } }
}

/** The same, disabled. */
async function disabledSpare(service: Service): Promise<Case> {
  const made = await spare(service)
  await service.sql('update projects set disabled = true where id = $1', [made.params?.id])
  return made
}

const invitation = (email: string) => ({ email, role: 'MEMBER' })

export const SUCCEEDING_PROJECTS: Cases = {
  projects: () => ({}),
  createProject: () => ({ body: { name: 'My shop' } }),
  updateProject: (service) => ({ ...own(service), body: { name: 'My shop', language: 'de' } }),
  deleteProject: spare,
  regenerateKeys: spare,
  resetProject: spare,
  setupState: own,
  members: own,
  inviteMember: async (service) => ({
    ...own(service),
    body: invitation((await signedUp(service)).email),
  }),
  changeMemberRole: async (service) => ({ params: await someMember(service), body: { role: 'ADMIN' } }),
  removeMember: async (service) => ({ params: await someMember(service) }),
}

export const FAILING_PROJECTS: Cases = {
  'deleteProject 403 PROJECT_DISABLED': disabledSpare,
  'regenerateKeys 403 PROJECT_DISABLED': disabledSpare,
  'resetProject 403 PROJECT_DISABLED': disabledSpare,
  'createProject 409 CONFLICT': async (service) => {
    const { userId } = await theOwner(service)
    await service.sql(
      `with made as (insert into projects (id, name, public_key, public_key_hash, secret_hash, secret_last_four,
         created_at, updated_at)
       select gen_random_uuid(), 'p', n::text, convert_to('p' || n, 'UTF8'), convert_to('s' || n, 'UTF8'), 'abcd', now(),
         now() from generate_series(1, 100) n returning id)
       insert into members (project_id, user_id, role, created_at) select id, $1, 'OWNER', now() from made`,
      [userId],
    )
    return { body: { name: 'One too many' } }
  },
  'inviteMember 409 CONFLICT': async (service) => {
    const { email } = await member(service, 'MEMBER')
    return { ...own(service), body: invitation(email) }
  },
  'changeMemberRole 403 FORBIDDEN': async (service) => ({
    params: await theOwner(service),
    body: { role: 'MEMBER' },
  }),
  'removeMember 403 FORBIDDEN': async (service) => ({ params: await theOwner(service) }),
  'inviteMember 422 VALIDATION_ERROR': (service) => ({
    ...own(service),
    body: { email: newAddress(), role: 1 },
  }),
}
