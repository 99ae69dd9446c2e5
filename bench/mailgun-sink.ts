import { startMailgunApi } from '../test/support/mailgun-api.ts'
import { countArrivals } from './arrivals.ts'

/**
 * Stands in for Mailgun: it checks every call as the tests do, and keeps none. Run as a process of its own; see
 * `countArrivals`.
 */
const { port } = await startMailgunApi({
  keeps: false,
  answer: (to) => arrivals.take(to).then(() => undefined),
})

const arrivals = countArrivals({ port })
