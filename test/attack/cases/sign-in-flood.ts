import { setTimeout as pause } from 'node:timers/promises'
import type { Attack } from '../define-attack.ts'

const UNDER_WAY = 250
const FLOOD_MS = 20_000

/** Each attempt costs 19 MiB and some 50 ms of a core: unbounded, 250 of them take 4.8 GB. */
export const signInFlood: Attack = {
  name: 'sign-in: hundreds of passwords at the same time, of as many accounts and addresses',
  before: 'would hold 19 MiB for each of them',
  // What a network of many addresses gets past.
  env: { STRANGER_RATE_LIMIT_PER_MINUTE: '0' },
  run: async ({ url, signal }) => {
    const counts = new Map<number, number>()
    const over = AbortSignal.any([signal, AbortSignal.timeout(FLOOD_MS)])
    const attempt = async (account: number) => {
      const response = await fetch(`${url}/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': `198.51.${account % 250}.7` },
        body: JSON.stringify({ email: `u${account}@example.org`, password: 'a guess' }),
        signal: over,
      })
      await response.arrayBuffer()
      counts.set(response.status, (counts.get(response.status) ?? 0) + 1)
      if (response.status === 503) await pause(100)
    }
    const attacker = async (first: number) => {
      for (let account = first; !over.aborted; account += UNDER_WAY) {
        await attempt(account).catch(() => pause(100))
      }
    }
    await Promise.all(Array.from({ length: UNDER_WAY }, (_, index) => attacker(index)))
    return `answers: ${[...counts].map(([status, count]) => `${count} × ${status}`).join(', ')}`
  },
}
