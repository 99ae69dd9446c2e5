import type { Actor, KeyRing } from '../access.ts'
import { type RateLimiter, rateLimitHeaders } from '../limits.ts'
import type { Exchange } from './exchange.ts'

/**
 * Finds out who asks and counts the request against the project's limit, before anything else is done. The
 * state of the limit goes into the headers of whatever is answered.
 */
export async function admit(
  { request, response, bytes }: Exchange,
  keyRing: KeyRing,
  rateLimiter: RateLimiter,
  now: Date,
  rechecksKey: boolean,
): Promise<Actor> {
  const actor = await keyRing.authenticate(request.headers.authorization, rechecksKey)
  if (actor.kind !== 'key') return actor
  bytes.charge(actor)
  const state = await rateLimiter.count(actor.project, now)
  if (!state) return actor
  for (const [name, value] of Object.entries(rateLimitHeaders(state))) response.setHeader(name, value)
  return actor
}
