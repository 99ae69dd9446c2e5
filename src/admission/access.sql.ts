import { shortStatement } from '../db/sql.ts'
import type { KeyScope, Tracking } from '../generated/prisma/enums.ts'

/** Facts about its project that every request needs, read in the statement that checks the key. */
export type ProjectIdentity = {
  id: string
  name: string
  disabled: boolean
  disabledReason: string | null
  tracking: Tracking
  language: string
  footerText: string | null
  rateLimitPerMinute: number | null
  sendRatePerSecond: number | null
}

/** For statements in which no other table has columns of these names. */
const PROJECT_COLUMNS = `id, name, disabled, disabled_reason as "disabledReason", tracking, language,
  footer_text as "footerText", rate_limit_per_minute as "rateLimitPerMinute", send_rate_per_second as "sendRatePerSecond"`

/** The same of `p`, beside other tables. */
export const PROJECT_OF_P = `json_build_object('id', p.id, 'name', p.name, 'disabled', p.disabled,
  'disabledReason', p.disabled_reason, 'tracking', p.tracking, 'language', p.language, 'footerText', p.footer_text,
  'rateLimitPerMinute', p.rate_limit_per_minute, 'sendRatePerSecond', p.send_rate_per_second)`

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

/** What a further key of a project may do, and until when. */
export type FurtherKey = { id: string; scope: KeyScope; expiresAt: Date | null; lastUsedAt: Date | null }

/** Index: api_keys_hash_key. */
export const projectByFurtherKey = shortStatement<
  { keyHash: Buffer; now: Date },
  FurtherKey & { project: ProjectIdentity }
>(
  'project-by-further-key',
  `select k.id, k.scope, k.expires_at as "expiresAt", k.last_used_at as "lastUsedAt", ${PROJECT_OF_P} as project
   from api_keys k join projects p on p.id = k.project_id
   where k.hash = :keyHash and (k.expires_at is null or k.expires_at > :now::timestamptz)`,
)

/** Notes that a further key is used, unless it was noted a short while ago. */
export const noteKeyUse = shortStatement<{ projectId: string; id: string; now: Date; before: Date }>(
  'note-key-use',
  `update api_keys set last_used_at = :now::timestamptz where project_id = :projectId::uuid and id = :id::uuid
     and (last_used_at is null or last_used_at < :before::timestamptz)`,
)

/** That a further key of the project `project` is the one of `:keyHash`. */
export const isFurtherKey = (project: string): string =>
  `exists (select from api_keys k where k.hash = :keyHash and k.project_id = ${project})`
