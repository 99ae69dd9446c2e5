import { mailboxRoutes } from './features/emails/mailbox.http.ts'
import { healthRoutes } from './features/operations/health.http.ts'
import { homeRoutes } from './features/operations/home.http.ts'
import { subscriptionRoutes } from './features/subscriptions/subscription.http.ts'
import { trackingRoutes } from './features/tracking/tracking.http.ts'
import { uploadRoutes } from './features/uploads/uploads.http.ts'
import type { HttpParts } from './http/http-parts.ts'
import type { ServerRoute } from './http/server.ts'

/** Every route that is not an operation of the schema. */
export const httpRoutes = (parts: HttpParts): ServerRoute[] => [
  ...healthRoutes(parts),
  ...homeRoutes(parts),
  ...mailboxRoutes(parts),
  ...subscriptionRoutes(parts),
  ...trackingRoutes(parts),
  ...uploadRoutes(parts),
]
