import type { Actor, KeyRing } from '../access.ts'
import { type RateLimiter, rateLimitHeaders } from '../limits.ts'
import type { Exchange, Headers } from './exchange.ts'

export type Admission = { actor: Actor; headers: Headers }

/** Finds out who asks and counts the request against the project's limit, before anything else is done. */
export async function admit(
  exchange: Exchange,
  keyRing: KeyRing,
  rateLimiter: RateLimiter,
  now: Date,
  rechecksKey: boolean,
): Promise<Admission> {
  const actor = await keyRing.authenticate(exchange.request.headers.authorization, rechecksKey)
  if (actor.kind !== 'key') return { actor, headers: {} }
  const state = await rateLimiter.count(actor.project, now)
  return { actor, headers: state ? rateLimitHeaders(state) : {} }
}
