import type { Services } from '../ctx.ts'
import type { MailboxReader } from '../mail/mailbox.ts'
import type { Metrics } from '../metrics.ts'

/** What routes that are no operations work with. `mailbox` is null when mail really leaves. */
export type HttpParts = { services: Services; metrics: Metrics; mailbox: MailboxReader | null }
