import { accountPageRoutes } from './features/account-pages/account-pages.http.ts'
import { oauthRoutes } from './features/auth/oauth.http.ts'
import { billingRoutes } from './features/billing/notifications.http.ts'
import { mailboxRoutes } from './features/emails/mailbox.http.ts'
import { takeOverMail } from './features/inbound/take-over-mail.ts'
import { notificationRoutes } from './features/notifications/notifications.http.ts'
import { healthRoutes } from './features/operations/health.http.ts'
import { homeRoutes } from './features/operations/home.http.ts'
import { subscriptionRoutes } from './features/subscriptions/subscription.http.ts'
import { trackingRoutes } from './features/tracking/tracking.http.ts'
import { uploadRoutes } from './features/uploads/uploads.http.ts'
import type { HttpParts } from './http/http-parts.ts'
import type { ServerRoute } from './http/server.ts'

/** Every route that is not an operation of the schema. */
export const httpRoutes = (parts: HttpParts): ServerRoute[] => [
  ...accountPageRoutes(parts),
  ...billingRoutes(parts),
  ...healthRoutes(parts),
  ...homeRoutes(parts),
  ...mailboxRoutes(parts),
  ...oauthRoutes(parts),
  ...notificationRoutes(parts, takeOverMail),
  ...subscriptionRoutes(parts),
  ...trackingRoutes(parts),
  ...uploadRoutes(parts),
]
