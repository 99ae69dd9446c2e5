import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { secondsUntil, tooManyRequests } from '../../admission/limits.ts'
import { networksOf, subscriberOf } from '../../lib/net/networks.ts'

const MINUTE = 60_000
/** Of some 200 bytes each. Above, the oldest make room: to use that takes a network of many addresses. */
const MAX_ADDRESSES = 20_000

type Window = { used: number; resetAt: number }

type Options = {
  /** Requests of an address in a minute; 0 = any number. */
  perMinute: number
  /** Addresses and networks whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[]
}

/** How many requests without a valid key an address may make. The count is that of this process. */
export class StrangerLimit {
  readonly #perMinute: number
  readonly #isProxy: (address: string) => boolean
  readonly #windows = new Map<string, Window>()

  constructor({ perMinute, trustedProxies }: Options) {
    this.#perMinute = perMinute
    this.#isProxy = networksOf(trustedProxies)
  }

  /** Counts a request, as one or as `cost`; throws RATE_LIMIT_EXCEEDED. The function it returns takes that back. */
  count(request: IncomingMessage, now: Date, cost = 1): () => void {
    if (this.#perMinute === 0 || cost === 0) return () => {}
    const window = this.#windowOf(subscriberOf(clientAddress(request, this.#isProxy)), now.getTime())
    if (window.used + cost > this.#perMinute) throw this.#exceeded(window, now)
    window.used += cost
    return () => {
      window.used -= cost
    }
  }

  #windowOf(address: string, now: number): Window {
    const known = this.#windows.get(address)
    // Far ahead it was made by a clock that has been set back since.
    if (known && known.resetAt > now && known.resetAt <= now + MINUTE) return known
    this.#windows.delete(address)
    const [oldest] = this.#windows.size >= MAX_ADDRESSES ? this.#windows.keys() : []
    if (oldest !== undefined) this.#windows.delete(oldest)
    const window = { used: 0, resetAt: now + MINUTE }
    this.#windows.set(address, window)
    return window
  }

  #exceeded({ used, resetAt }: Window, now: Date) {
    const limit = this.#perMinute
    const resetSeconds = secondsUntil(resetAt, now)
    return tooManyRequests(
      `More than ${limit} requests in a minute without a valid API key from this address.`,
      { limit, remaining: limit - used, resetSeconds },
      `Send the header "Authorization: Bearer <API key>", or try again in ${resetSeconds} seconds.`,
    )
  }
}

/** Who asks: the peer or, when that is a proxy that is trusted, the nearest address before it that is none. */
function clientAddress({ socket, headers }: IncomingMessage, isProxy: (address: string) => boolean): string {
  const hops = String(headers['x-forwarded-for'] ?? '').split(',')
  let address = socket.remoteAddress ?? ''
  while (isProxy(address)) {
    const before = hops.pop()?.trim() ?? ''
    if (isIP(before) === 0) return address
    address = before
  }
  return address
}
