import type { Services } from '../ctx.ts'
import type { MailboxReader } from '../mail/mailbox.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Admission } from './admission.ts'
import type { StrangerLimit } from './budgets/stranger-limit.ts'

/** The parts that routes beside the operations work with. `mailbox` is null when mail really leaves. */
export type HttpParts = {
  services: Services
  metrics: Metrics
  strangers: StrangerLimit
  admission: Admission
  mailbox: MailboxReader | null
  /** Returns the waiting work of each kind of background work, by its name. */
  workStates: () => Promise<Map<string, { pending: number; oldestSeconds: number | null }>>
}
