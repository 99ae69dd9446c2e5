import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { secondsUntil, tooManyRequests } from '../../admission/limits.ts'
import { networksOf, subscriberOf } from '../../lib/net/networks.ts'

const MINUTE = 60_000
/** Of some 200 bytes each. Above, the oldest are forgotten: only a network of many addresses can use that. */
const MAX_WINDOWS = 20_000

type Window = { used: number; resetAt: number }

type Options = {
  /** Requests of an address in a minute; 0 = any number. */
  perMinute: number
  /** Addresses and networks whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[]
}

/**
 * How many requests without a valid key an address may make, and how many may come with the same link from a mail. The
 * count is that of this process.
 */
export class StrangerLimit {
  readonly #perMinute: number
  readonly #isProxy: (address: string) => boolean
  readonly #addresses = new Map<string, Window>()
  readonly #links = new Map<string, Window>()

  constructor({ perMinute, trustedProxies }: Options) {
    this.#perMinute = perMinute
    this.#isProxy = networksOf(trustedProxies)
  }

  /** The caller's address, of IPv6 the /64: what one subscriber of a network has. */
  addressOf(request: IncomingMessage): string {
    return subscriberOf(clientAddress(request, this.#isProxy))
  }

  /** Counts a request, as one or as `cost`; throws RATE_LIMIT_EXCEEDED. The function it returns takes that back. */
  count(request: IncomingMessage, now: Date, cost = 1): () => void {
    return this.countAddress(clientAddress(request, this.#isProxy), now, cost)
  }

  /** The same for who comes from this address, through another door. */
  countAddress(address: string, now: Date, cost = 1): () => void {
    if (this.#perMinute === 0 || cost === 0) return () => {}
    const window = windowOf(this.#addresses, subscriberOf(address), now.getTime())
    if (window.used + cost > this.#perMinute) throw this.#exceeded(window, now, OF_ADDRESS)
    window.used += cost
    return () => {
      window.used -= cost
    }
  }

  /**
   * Counts a request with a link from a mail. The function it returns is called when the link turns out to be one: then
   * it is not counted for the address, since mail providers follow the links of many people from a few.
   */
  countLink(request: IncomingMessage, link: string, now: Date): () => void {
    if (this.#perMinute === 0) return () => {}
    const wasNoGuess = this.count(request, now)
    const window = windowOf(this.#links, link, now.getTime())
    if (window.used >= this.#perMinute) throw this.#exceeded(window, now, OF_LINK)
    window.used += 1
    return wasNoGuess
  }

  #exceeded({ used, resetAt }: Window, now: Date, { whose, wayOut }: Wording) {
    const limit = this.#perMinute
    const resetSeconds = secondsUntil(resetAt, now)
    return tooManyRequests(
      `More than ${limit} requests in a minute ${whose}.`,
      { limit, remaining: limit - used, resetSeconds },
      `${wayOut} again in ${resetSeconds} seconds.`,
    )
  }
}

type Wording = { whose: string; wayOut: string }

const OF_ADDRESS: Wording = {
  whose: 'without a valid API key from this address',
  wayOut: 'Send the header "Authorization: Bearer <API key>", or try',
}
const OF_LINK: Wording = { whose: 'with this link', wayOut: 'Try' }

function windowOf(windows: Map<string, Window>, holder: string, now: number): Window {
  const known = windows.get(holder)
  // A time far ahead comes from a clock that has been set back since.
  if (known && known.resetAt > now && known.resetAt <= now + MINUTE) return known
  windows.delete(holder)
  const [oldest] = windows.size >= MAX_WINDOWS ? windows.keys() : []
  if (oldest !== undefined) windows.delete(oldest)
  const window = { used: 0, resetAt: now + MINUTE }
  windows.set(holder, window)
  return window
}

/** The caller: the peer or, when that is a trusted proxy, the nearest address before it that is not one. */
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
