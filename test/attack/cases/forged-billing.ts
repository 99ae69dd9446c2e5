import { createHmac } from 'node:crypto'
import { query } from '../../support/query.ts'
import type { Attack } from '../define-attack.ts'

const LASTING_MS = 15_000
const AT_ONCE = 64
const KB = 1_024

const EVENT = { object: 'event', type: 'invoice.paid', data: { object: { customer: 'cus_1' } } }

/** The header of a signature with another secret than the service's, over and over. */
function signatures(body: string, count: number): string {
  const t = Math.floor(Date.now() / 1_000)
  const forged = createHmac('sha256', 'whsec_guess').update(`${t}.${body}`).digest('hex')
  return `t=${t}${`,v1=${forged}`.repeat(count)}`
}

type Forgery = { body: string; signature: string }

/** As large as it may be, larger, deep, no JSON, and with as many signatures as a header holds. */
const FORGERIES: ((id: string) => Forgery)[] = [
  (id) => signed(JSON.stringify({ ...EVENT, id, padding: 'x'.repeat(1_000 * KB) })),
  (id) => signed(JSON.stringify({ ...EVENT, id, padding: 'x'.repeat(1_200 * KB) })),
  (id) => signed(JSON.stringify({ ...EVENT, id }), 400),
  () => signed('['.repeat(900 * KB)),
  () => ({ body: 'x', signature: `t=${'9'.repeat(20 * KB)},v1=` }),
]

const signed = (body: string, count = 1): Forgery => ({ body, signature: signatures(body, count) })

/** A stranger tells of payments that nobody made. */
export const forgedBilling: Attack = {
  name: 'billing: large forged notifications of payments without end',
  before: 'each of them would be read, hashed and parsed, and their bodies would fill the memory',
  env: {
    ...{
      STRIPE_SECRET_KEY: 'sk_test_attack',
      STRIPE_WEBHOOK_SECRET: 'whsec_attack',
      STRIPE_PRICES: 'price_1',
    },
    STRIPE_API_URL: 'http://127.0.0.1:9',
    // What a network of many addresses gets past.
    STRANGER_RATE_LIMIT_PER_MINUTE: '0',
  },
  run: async ({ url, databaseUrl, signal }) => {
    const until = performance.now() + LASTING_MS
    const answers = new Map<number, number>()
    const attacker = async (first: number) => {
      for (let next = first; performance.now() < until && !signal.aborted; next += 1) {
        const forgery = FORGERIES[next % FORGERIES.length]?.(`evt_${next}`)
        const headers = {
          'content-type': 'application/json',
          'stripe-signature': forgery?.signature ?? '',
        }
        const request = { method: 'POST', headers, body: forgery?.body ?? '', signal }
        const answer = await fetch(`${url}/webhooks/incoming/stripe`, request).catch(() => null)
        await answer?.arrayBuffer().catch(() => null)
        if (answer) answers.set(answer.status, (answers.get(answer.status) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => attacker(index)))
    const [row] = await query<{ rows: number }>(
      databaseUrl,
      'select count(*)::int as rows from billing_events',
    )
    if (row?.rows !== 0 || answers.has(200)) {
      throw new Error(`${row?.rows} rows, ${answers.get(200)} accepted`)
    }
    return [...answers].map(([status, count]) => `${count} × ${status}`).join(', ')
  },
}
