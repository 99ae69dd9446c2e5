import type { Services } from './ctx.ts'
import { subscriptionRoutes } from './features/contacts/subscription.http.ts'
import { mailboxRoutes } from './features/emails/mailbox.http.ts'
import { healthRoutes } from './features/operations/health.http.ts'
import type { ServerRoute } from './http/server.ts'
import type { MailboxReader } from './mail/mailbox.ts'
import type { Metrics } from './metrics.ts'

export type HttpParts = { services: Services; metrics: Metrics; mailbox: MailboxReader | null }

/** Every route that is not an operation of the schema. */
export const httpRoutes = (parts: HttpParts): ServerRoute[] => [
  ...healthRoutes(parts),
  ...mailboxRoutes(parts),
  ...subscriptionRoutes(parts),
]
