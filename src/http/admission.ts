import { type Actor, type KeyRing, projectOf } from '../admission/access.ts'
import type { Sessions } from '../admission/accounts/sessions.ts'
import { type RateLimiter, type RateLimitState, rateLimitHeaders } from '../admission/limits.ts'
import type { Caller } from '../ctx.ts'
import type { StrangerLimit } from './budgets/stranger-limit.ts'
import type { Exchange } from './exchange.ts'

type Parts = {
  keyRing: KeyRing
  sessions: Sessions
  rateLimiter: RateLimiter
  strangers: StrangerLimit
  now: () => Date
}

/** Finds out who asks and counts requests against the limits: of the project, or of the address of who acts for none. */
export class Admission {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Finds out who the caller is, and counts the request of a project, before anything else is done. The state
   * of the limit goes into the headers of every answer. A key that this process has not seen is a guess, and
   * an address has a limited number of guesses; a key that it has seen is looked up even when others have
   * used up the guesses of the address. A key goes before a cookie, which browsers send unasked.
   */
  async admit(exchange: Exchange, rechecksKey: boolean): Promise<Actor> {
    const { keyRing, sessions, strangers, now } = this.#parts
    const { request } = exchange
    const guess = () => strangers.count(request, now())
    const { authorization } = request.headers
    const session = authorization ? null : await sessions.authenticate(request, guess)
    const actor = session ?? (await keyRing.authenticate(authorization, rechecksKey, guess))
    if (actor.kind === 'anonymous' || actor.kind === 'system') return actor
    exchange.bytes.charge(actor)
    await this.charge(exchange, actor, 1)
    return actor
  }

  /** Counts the request as `cost` more; throws RATE_LIMIT_EXCEEDED. */
  async charge({ request, response }: Exchange, actor: Actor, cost: number): Promise<void> {
    const { rateLimiter, strangers, now } = this.#parts
    const project = projectOf(actor)
    if (!project) return void strangers.count(request, now(), cost)
    const keyKind = actor.kind === 'key' ? actor.keyKind : 'secret'
    const state = await rateLimiter.count(project, now(), { keyKind, cost })
    for (const [name, value] of headersOf(state)) response.setHeader(name, value)
  }

  callerOf({ request, response }: Exchange): Caller {
    const { strangers, now } = this.#parts
    return {
      address: strangers.addressOf(request),
      countAsStranger: () => void strangers.count(request, now()),
      setCookie: (cookie) => void response.appendHeader('set-cookie', cookie),
    }
  }
}

const headersOf = (state: RateLimitState | null) => Object.entries(state ? rateLimitHeaders(state) : {})
