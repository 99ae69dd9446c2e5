import { shortStatement } from '../db/sql.ts'
import type { Tracking } from '../generated/prisma/enums.ts'

/** Facts about its project that every request needs, read in the statement that checks the key. */
export type ProjectIdentity = {
  id: string
  name: string
  disabled: boolean
  disabledReason: string | null
  tracking: Tracking
  language: string
  rateLimitPerMinute: number | null
  sendRatePerSecond: number | null
}

const PROJECT_COLUMNS = `id, name, disabled, disabled_reason as "disabledReason", tracking, language,
  rate_limit_per_minute as "rateLimitPerMinute", send_rate_per_second as "sendRatePerSecond"`

/** Index: projects_public_key_hash_key. */
export const projectByPublicKey = shortStatement<{ keyHash: Buffer }, ProjectIdentity>(
  'project-by-public-key',
  `select ${PROJECT_COLUMNS} from projects where public_key_hash = :keyHash`,
)

/** Index: projects_secret_hash_key. */
export const projectBySecretKey = shortStatement<{ keyHash: Buffer }, ProjectIdentity>(
  'project-by-secret-key',
  `select ${PROJECT_COLUMNS} from projects where secret_hash = :keyHash`,
)
