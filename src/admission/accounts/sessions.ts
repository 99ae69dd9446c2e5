import type { IncomingHttpHeaders } from 'node:http'
import { errors, jwtVerify, SignJWT } from 'jose'
import type { Config } from '../../config.ts'
import type { Database } from '../../db/database.ts'
import { originNotAllowed, sessionEnded } from '../../errors.ts'
import { isId } from '../../lib/ids.ts'
import { cookieNamed } from '../../lib/net/cookies.ts'
import type { Actor, UserActor } from '../access.ts'
import { sessionById } from './sessions.sql.ts'

export const SESSION_COOKIE = 'token'
const ALGORITHM = 'HS256'

type Parts = { config: Config; database: Database; now: () => Date }

/** The head of a request, as far as it tells who asks. */
type RequestHead = { method?: string | undefined; headers: IncomingHttpHeaders }

/**
 * Turns the session cookie into an actor. The cookie's token only names a session: every request asks the
 * database for it, so that logging out ends it at once on every process.
 */
export class Sessions {
  readonly #parts: Parts
  readonly #origins: Set<string>

  constructor(parts: Parts) {
    this.#parts = parts
    const { apiUrl, dashboardUrl } = parts.config
    this.#origins = new Set(
      [apiUrl, ...(dashboardUrl ? [dashboardUrl] : [])].map((url) => new URL(url).origin),
    )
  }

  /** The value of the cookie, a JWT (RFC 7519) that is valid until the session ends. */
  token(sessionId: string, userId: string, expiresAt: Date): Promise<string> {
    return new SignJWT()
      .setProtectedHeader({ alg: ALGORITHM })
      .setJti(sessionId)
      .setSubject(userId)
      .setIssuedAt(this.#parts.now())
      .setExpirationTime(expiresAt)
      .sign(this.#parts.config.sessionKey)
  }

  /**
   * Finds out who has sent the cookie; null without one. A cookie of an ended session is an anonymous caller, who is
   * told so where an operation needs more. `onStranger` is called for each such session that had to be looked up. Throws
   * FORBIDDEN when another site may have made the browser send the request.
   */
  async authenticate(request: RequestHead, onStranger: () => void): Promise<Actor | null> {
    const token = cookieNamed(SESSION_COOKIE, request.headers.cookie)
    if (!token) return null
    if (this.#mayBeForged(request)) throw originNotAllowed()
    const sessionId = await this.#sessionIn(token)
    if (sessionId === null) return { kind: 'anonymous', refusal: sessionEnded() }
    const named = request.headers['x-project-id']?.toString().toLowerCase()
    const actor = await this.lookUp(sessionId, named ?? null)
    if (actor) return actor
    onStranger()
    return { kind: 'anonymous', refusal: sessionEnded() }
  }

  /**
   * The signed-in user who looks at a page of the service, with links from anywhere; null when there is none. Nothing that
   * such a request asks for may change anything.
   */
  async visitor({ headers }: RequestHead): Promise<UserActor | null> {
    const token = cookieNamed(SESSION_COOKIE, headers.cookie)
    const sessionId = token ? await this.#sessionIn(token) : null
    return sessionId === null ? null : this.lookUp(sessionId, null)
  }

  /** Throws FORBIDDEN when another site may have made the browser send a form, with a cookie or without. */
  assertOwnPage(request: RequestHead): void {
    if (this.#mayBeForged(request)) throw originNotAllowed()
  }

  /** The user of a session, in a project when one is named; null when the session has ended. */
  async lookUp(sessionId: string, projectId: string | null): Promise<UserActor | null> {
    const { database, now } = this.#parts
    const params = {
      sessionId,
      projectId: projectId !== null && isId(projectId) ? projectId : null,
      now: now(),
    }
    const [row] = await database.sql(sessionById, params)
    if (!row) return null
    const { userId, email, verified, project, role } = row
    return {
      kind: 'user',
      user: { id: userId, email, verified },
      sessionId,
      membership: project && role && { project, role },
      namesProject: projectId !== null,
    }
  }

  async #sessionIn(token: string): Promise<string | null> {
    const { config, now } = this.#parts
    try {
      const options = { algorithms: [ALGORITHM], currentDate: now(), requiredClaims: ['jti', 'exp'] }
      const { payload } = await jwtVerify(token, config.sessionKey, options)
      return payload.jti && isId(payload.jti) ? payload.jti : null
    } catch (error) {
      if (error instanceof errors.JOSEError) return null
      throw error
    }
  }

  /**
   * A browser names the page's origin in all that may change something (Fetch, 3.1), and says of the rest whether
   * another site has caused it (Fetch Metadata). A link that a person follows to look at something is not refused.
   */
  #mayBeForged({ method = 'GET', headers }: RequestHead): boolean {
    const { origin, host } = headers
    if (origin !== undefined) return !this.#isAllowed(origin, host)
    return (method !== 'GET' && method !== 'HEAD') || headers['sec-fetch-site'] === 'cross-site'
  }

  /** In development the service has several names, such as localhost. */
  #isAllowed(origin: string, host: string | undefined): boolean {
    const { environment } = this.#parts.config
    return this.#origins.has(origin) || (environment !== 'production' && URL.parse(origin)?.host === host)
  }
}
