import type { Actor, KeyRing } from '../admission/access.ts'
import { type RateLimiter, type RateLimitState, rateLimitHeaders } from '../admission/limits.ts'
import type { StrangerLimit } from './budgets/stranger-limit.ts'
import type { Exchange } from './exchange.ts'

type Parts = { keyRing: KeyRing; rateLimiter: RateLimiter; strangers: StrangerLimit; now: () => Date }

/** Finds out who asks and counts requests against the limits: of the project, or of the address of who has no key. */
export class Admission {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Finds out who the caller is, and counts the request of a project, before anything else is done. The state
   * of the limit goes into the headers of every answer. A key that this process has not seen is a guess, and
   * an address has a limited number of guesses; a key that it has seen is looked up even when others have
   * used up the guesses of the address.
   */
  async admit(exchange: Exchange, rechecksKey: boolean): Promise<Actor> {
    const { keyRing, strangers, now } = this.#parts
    const { request } = exchange
    const guess = () => strangers.count(request, now())
    const actor = await keyRing.authenticate(request.headers.authorization, rechecksKey, guess)
    if (actor.kind !== 'key') return actor
    exchange.bytes.charge(actor)
    await this.charge(exchange, actor, 1)
    return actor
  }

  /** Counts the request as `cost` more; throws RATE_LIMIT_EXCEEDED. */
  async charge({ request, response }: Exchange, actor: Actor, cost: number): Promise<void> {
    const { rateLimiter, strangers, now } = this.#parts
    if (actor.kind !== 'key') return void strangers.count(request, now(), cost)
    const state = await rateLimiter.count(actor.project, now(), { keyKind: actor.keyKind, cost })
    for (const [name, value] of headersOf(state)) response.setHeader(name, value)
  }
}

const headersOf = (state: RateLimitState | null) => Object.entries(state ? rateLimitHeaders(state) : {})
