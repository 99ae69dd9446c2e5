import { createHmac, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from './listen.ts'

export const STRIPE_KEY = 'sk_test_51Mailwright'
export const WEBHOOK_SECRET = 'whsec_0123456789abcdef'
/** Of a price that is metered, and of one that is not. */
export const METERED_PRICE = 'price_metered'
export const FLAT_PRICE = 'price_flat'

/** A customer that there is from the beginning. */
export const KNOWN_CUSTOMER = 'cus_known'

export type MeterEvent = {
  event_name: string
  identifier: string
  timestamp: number
  customer: string
  value: number
}
type Subscription = { id: string; status: string }
type Call = { method: string; path: string; form: URLSearchParams }
type Answer = { status: number; body: object }

/** Never comes. */
const stalled = new Promise<Answer>(() => {})

class Refused extends Error {
  readonly answer: Answer
  constructor(status: number, message: string, type = 'invalid_request_error') {
    super(message)
    this.answer = { status, body: { error: { type, message } } }
  }
}

export type StripeApi = Awaited<ReturnType<typeof startStripeApi>>

/**
 * Stands in for Stripe's API on loopback: checks the key, the version, the encoding of forms and idempotency keys, refuses in
 * its words, and keeps what it accepts.
 */
export async function startStripeApi() {
  const calls: Call[] = []
  const customers = new Map<string, { id: string; metadata: Record<string, string> }>([
    [KNOWN_CUSTOMER, { id: KNOWN_CUSTOMER, metadata: {} }],
  ])
  const subscriptions = new Map<string, Subscription[]>()
  const invoices = new Map<string, object[]>()
  const meterEvents: MeterEvent[] = []
  const keys = new Map<string, { request: string; answer: Answer }>()
  const behaviour: { fails: number; hangsUp: 'never' | 'after'; stalls: 'never' | 'before' | 'after' } = {
    ...{ fails: 0, hangsUp: 'never', stalls: 'never' },
  }

  function act({ method, path, form }: Call): object {
    const [, price] = /^\/v1\/prices\/(\w+)$/.exec(path) ?? []
    if (method === 'GET' && price) return priceOf(price)
    switch (`${method} ${path}`) {
      case 'POST /v1/customers': {
        const customer = { id: `cus_${randomUUID().slice(0, 8)}`, metadata: mapIn(form, 'metadata') }
        customers.set(customer.id, customer)
        return { object: 'customer', ...customer }
      }
      case 'POST /v1/checkout/sessions':
        assertKnown(form)
        checkItems(form)
        return {
          object: 'checkout.session',
          id: 'cs_1',
          url: `https://checkout.stripe.com/c/${form.get('customer')}`,
        }
      case 'POST /v1/billing_portal/sessions':
        assertKnown(form)
        return { object: 'billing_portal.session', id: 'bps_1', url: 'https://billing.stripe.com/p/1' }
      case 'GET /v1/subscriptions':
        return list(path, subscriptions.get(assertKnown(form)) ?? [])
      case 'GET /v1/invoices':
        return list(path, invoices.get(assertKnown(form)) ?? [])
      case 'POST /v1/invoices/create_preview':
        return invoiceOf({ id: 'upcoming_in_1', amount_due: 4_200, next_payment_attempt: 1_900_000_000 })
      case 'POST /v1/billing/meter_events':
        return take(form)
      default:
        throw new Refused(404, `Unrecognized request URL (${method}: ${path}).`)
    }
  }

  function assertKnown(form: URLSearchParams): string {
    const id = form.get('customer') ?? ''
    if (!customers.has(id)) throw new Refused(400, `No such customer: '${id}'`)
    return id
  }

  function take(form: URLSearchParams): object {
    const payload = mapIn(form, 'payload')
    const event = {
      event_name: form.get('event_name') ?? '',
      identifier: form.get('identifier') ?? '',
      timestamp: Number(form.get('timestamp')),
      customer: payload.stripe_customer_id ?? '',
      value: Number(payload.value),
    }
    if (event.identifier.length > 100)
      throw new Refused(400, 'Invalid string: identifier; must be at most 100 characters')
    if (!Number.isInteger(event.value)) throw new Refused(400, 'The value has to be a whole number')
    if (meterEvents.some(({ identifier }) => identifier === event.identifier)) {
      throw new Refused(400, `An event already exists with identifier ${event.identifier}.`)
    }
    meterEvents.push(event)
    return { object: 'billing.meter_event', ...event, payload, livemode: false, created: event.timestamp }
  }

  async function respond(request: IncomingMessage): Promise<Answer> {
    const body = await text(request)
    const { method = '', headers } = request
    const { pathname: path, searchParams } = new URL(request.url ?? '/', 'http://stripe')
    if (headers.authorization !== `Bearer ${STRIPE_KEY}`)
      throw new Refused(401, 'Invalid API Key provided: sk_test_***')
    if (!/^\d{4}-\d\d-\d\d\.\w+$/.test(String(headers['stripe-version'])))
      throw new Refused(400, 'No API version')
    if (method === 'POST' && headers['content-type'] !== 'application/x-www-form-urlencoded') {
      throw new Refused(400, 'Invalid request: not form-encoded')
    }
    const form = method === 'POST' ? new URLSearchParams(body) : searchParams
    calls.push({ method, path, form })
    if (behaviour.stalls === 'before') return stalled
    if (behaviour.fails > 0) {
      behaviour.fails -= 1
      throw new Refused(503, 'secret internals of Stripe', 'api_error')
    }
    const key = method === 'POST' ? headers['idempotency-key']?.toString() : undefined
    const known = key === undefined ? undefined : keys.get(key)
    if (known && known.request !== path + body) {
      throw new Refused(
        400,
        'Keys for idempotent requests can only be used with the same parameters',
        'idempotency_error',
      )
    }
    const answer = known?.answer ?? { status: 200, body: act({ method, path, form }) }
    if (key !== undefined) keys.set(key, { request: path + body, answer })
    return answer
  }

  const server = createServer((request, response) => {
    void respond(request)
      .catch((error: unknown) => {
        if (error instanceof Refused) return error.answer
        throw error
      })
      .then(({ status, body }) => {
        if (behaviour.stalls === 'after') return
        if (behaviour.hangsUp === 'after') return response.destroy()
        response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_1' })
        return response.end(JSON.stringify(body))
      })
  })
  const port = await listen(server)
  return {
    /** The variables of a service that is billed through it. */
    env: {
      STRIPE_SECRET_KEY: STRIPE_KEY,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      STRIPE_PRICES: `${METERED_PRICE},${FLAT_PRICE}`,
      STRIPE_API_URL: `http://127.0.0.1:${port}`,
    },
    calls,
    customers,
    subscriptions,
    invoices,
    meterEvents,
    /**
     * `fails`: so many calls are answered with 503; `hangsUp`: calls are carried out, and the connection ends; `stalls`: calls
     * get no answer at all, whether they are carried out or not.
     */
    behaviour,
    stop: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** The header Stripe-Signature of a body. */
export function stripeSignature(body: string, at: Date, secret = WEBHOOK_SECRET): string {
  const t = Math.floor(at.getTime() / 1_000)
  return `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`
}

export const invoiceOf = (given: object): object => ({
  object: 'invoice',
  id: 'in_1',
  number: 'MW-0001',
  status: 'paid',
  amount_due: 1_000,
  amount_paid: 1_000,
  currency: 'eur',
  created: 1_800_000_000,
  period_start: 1_797_000_000,
  period_end: 1_800_000_000,
  hosted_invoice_url: 'https://invoice.stripe.com/i/1',
  invoice_pdf: 'https://pay.stripe.com/invoice/1/pdf',
  next_payment_attempt: null,
  ...given,
})

const list = (url: string, data: object[]) => ({ object: 'list', url, has_more: false, data })

function priceOf(id: string): object {
  if (id !== METERED_PRICE && id !== FLAT_PRICE) throw new Refused(404, `No such price: '${id}'`)
  const usage_type = id === METERED_PRICE ? 'metered' : 'licensed'
  return { object: 'price', id, recurring: { interval: 'month', interval_count: 1, usage_type } }
}

/** A map in a form: `name[key]=value`. */
const mapIn = (form: URLSearchParams, name: string): Record<string, string> =>
  Object.fromEntries(
    [...form].flatMap(([field, value]) => {
      const [, key] = new RegExp(`^${name}\\[(\\w+)\\]$`).exec(field) ?? []
      return key === undefined ? [] : [[key, value]]
    }),
  )

function checkItems(form: URLSearchParams): void {
  if (form.get('mode') !== 'subscription') throw new Refused(400, 'Missing required param: mode')
  const has = (index: number, field: string) => form.get(`line_items[${index}][${field}]`)
  if (has(0, 'price') === null) throw new Refused(400, 'Missing required param: line_items')
  for (let index = 0; has(index, 'price') !== null; index += 1) {
    const isMetered = has(index, 'price') === METERED_PRICE
    if (isMetered && has(index, 'quantity') !== null) {
      throw new Refused(400, 'Quantity should not be specified where usage_type is metered')
    }
    if (!isMetered && has(index, 'quantity') === null) throw new Refused(400, 'Quantity is required')
  }
}
