import { randomUUID } from 'node:crypto'
import type { Role } from '../../src/generated/prisma/enums.ts'
import { type Answer, type CallOptions, type Project, requestTo, type Service } from './service.ts'

export const PASSWORD = 'correct horse battery staple'

/** Requests as a page of the service makes them: with Origin, with the cookie that was set, and of one project. */
export type BrowserSession = {
  email: string
  /** The header Cookie; empty when signed out. */
  cookie: string
  headers: (projectId?: string) => Record<string, string>
  call: (method: string, path: string, body?: unknown, projectId?: string) => Promise<Answer>
  graphql: (query: string, variables?: object, projectId?: string) => Promise<Answer>
}

/** The value of the cookie that an answer sets; undefined when it sets none. */
export const cookieSetBy = ({ headers }: Answer): string | undefined =>
  headers
    .getSetCookie()
    .find((cookie) => cookie.startsWith('token='))
    ?.split(';')[0]

/** A browser at the service of this address, which has the cookie or none. */
export function browserAt(url: string, email = '', cookie = ''): BrowserSession {
  const session: BrowserSession = {
    email,
    cookie,
    headers: (projectId) => ({
      origin: url,
      ...(session.cookie && { cookie: session.cookie }),
      ...(projectId && { 'x-project-id': projectId }),
    }),
    call: async (method, path, body, projectId) => {
      const options: CallOptions = {
        headers: session.headers(projectId),
        ...(body !== undefined && { body }),
      }
      const answer = await requestTo(`${url}${path}`, method, options)
      session.cookie = cookieSetBy(answer) ?? session.cookie
      return answer
    },
    graphql: (query, variables, projectId) =>
      session.call('POST', '/graphql', { query, variables }, projectId),
  }
  return session
}

/** Someone who has signed up, with a verified address unless it says otherwise. */
export async function signedUp(service: Service, { verified = true } = {}): Promise<BrowserSession> {
  const email = `u${randomUUID().slice(0, 8)}@example.org`
  const browser = browserAt(service.url, email)
  const answer = await browser.call('POST', '/auth/signup', { email, password: PASSWORD })
  if (answer.status !== 201) throw new Error(`POST /auth/signup failed: ${answer.text}`)
  if (verified) await service.sql('update users set email_verified_at = now() where email = $1', [email])
  return browser
}

/** Makes the user a member of the project. */
export async function join(
  service: Service,
  { email }: BrowserSession,
  { id }: Project,
  role: Role,
): Promise<void> {
  await service.sql(
    `insert into members (project_id, user_id, role, created_at) select $1, id, $2::role, now() from users where email = $3
     on conflict (project_id, user_id) do update set role = excluded.role`,
    [id, role, email],
  )
}

/** Someone who has signed up and has the role in the project. */
export async function member(
  service: Service,
  role: Role,
  project = service.project,
): Promise<BrowserSession> {
  const browser = await signedUp(service)
  await join(service, browser, project, role)
  return browser
}
