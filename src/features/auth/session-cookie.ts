import { SESSION_COOKIE } from '../../admission/accounts/sessions.ts'
import type { Config } from '../../config.ts'

/**
 * The header Set-Cookie of a session. A dashboard on another site gets the cookie with its requests only with SameSite=None,
 * which browsers take over https alone.
 */
export function sessionCookie(config: Config, token: string, maxAgeSeconds: number): string {
  const { apiUrl, dashboardUrl, basePath } = config
  const isHttps = apiUrl.startsWith('https:')
  const crossSite =
    isHttps && dashboardUrl?.startsWith('https:') === true && !isSameSite(apiUrl, dashboardUrl)
  return [
    `${SESSION_COOKIE}=${token}`,
    `Path=${basePath || '/'}`,
    `Max-Age=${maxAgeSeconds}`,
    'HttpOnly',
    `SameSite=${crossSite ? 'None' : 'Lax'}`,
    ...(isHttps ? ['Secure'] : []),
  ].join('; ')
}

/**
 * Whether both are surely one site: the same host, or one below the other, or beside it with two names in common that
 * are not all of it. What is not sure counts as another site: Origin is checked in either case.
 */
function isSameSite(one: string, other: string): boolean {
  const [a, b] = [one, other].map((url) => new URL(url).hostname.split('.').toReversed())
  if (!a || !b) return false
  const differs = a.findIndex((label, index) => label !== b[index])
  const common = differs === -1 ? a.length : differs
  return common === Math.min(a.length, b.length) || common >= 3
}
