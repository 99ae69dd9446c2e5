import { createHash } from 'node:crypto'
import type { Services } from './ctx.ts'
import { type Statement, statement } from './db/sql.ts'
import { type AppError, invalidApiKey, missingAuth, projectDisabled } from './errors.ts'
import type { Tracking } from './generated/prisma/enums.ts'

/** Who may use an operation: `secretKey` resources and sending, `publicKey` tracking, `anyone` no key at all. */
export type Access = 'anyone' | 'publicKey' | 'secretKey'

/** What every request needs to know of its project, read in the statement that checks the key. */
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

export type KeyActor = {
  kind: 'key'
  keyKind: 'public' | 'secret'
  keyHash: Buffer
  project: ProjectIdentity
}

export type Actor =
  | { kind: 'anonymous' }
  | KeyActor
  /** The service itself, a worker or the CLI, for one project or for none. */
  | { kind: 'system'; projectId: string | null }

export const ANONYMOUS: Actor = { kind: 'anonymous' }
export const SYSTEM: Actor = { kind: 'system', projectId: null }
export const systemOf = (projectId: string): Actor => ({ kind: 'system', projectId })

const KEY = /^(pk|sk)_[0-9a-f]{64}$/

export const hashKey = (key: string): Buffer => createHash('sha256').update(key).digest()

const PROJECT_COLUMNS = `id, name, disabled, disabled_reason as "disabledReason", tracking, language,
  rate_limit_per_minute as "rateLimitPerMinute", send_rate_per_second as "sendRatePerSecond"`

/** Index: projects_public_key_hash_key. */
const byPublicKey: Statement<ProjectIdentity> = statement(
  'project-by-public-key',
  `select ${PROJECT_COLUMNS} from projects where public_key_hash = $1`,
)

/** Index: projects_secret_hash_key. */
const bySecretKey: Statement<ProjectIdentity> = statement(
  'project-by-secret-key',
  `select ${PROJECT_COLUMNS} from projects where secret_hash = $1`,
)

/** How long a key that was found is remembered, for the operations whose own statement checks it again. */
const REMEMBERED_MS = 5_000
const MAX_REMEMBERED = 10_000

type Remembered = { actor: Actor; until: number }

/**
 * Turns the Authorization header into an actor. Every request asks the database, so that a rotated key stops
 * at once on every process. Only an operation whose statement compares the key itself may start from what
 * this process remembers (`recheckedLater`).
 */
export class KeyRing {
  readonly #services: Pick<Services, 'database' | 'now'>
  readonly #remembered = new Map<string, Remembered>()

  constructor(services: Pick<Services, 'database' | 'now'>) {
    this.#services = services
  }

  async authenticate(authorization: string | undefined, recheckedLater: boolean): Promise<Actor> {
    if (!authorization) return ANONYMOUS
    const key = /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''
    if (!KEY.test(key)) throw invalidApiKey()
    const keyHash = hashKey(key)
    const now = this.#services.now().getTime()
    const known = recheckedLater ? this.#remembered.get(keyHash.toString('hex')) : undefined
    if (known && known.until > now) return known.actor
    const actor = await this.lookUp(key.startsWith('pk_') ? 'public' : 'secret', keyHash)
    if (!actor) throw invalidApiKey()
    return actor
  }

  /** Called when a statement finds that a remembered key is no longer the project's. */
  forget(actor: Actor): void {
    if (actor.kind === 'key') this.#remembered.delete(actor.keyHash.toString('hex'))
  }

  /** Asks the database whose key it is, and remembers the answer. */
  async lookUp(keyKind: 'public' | 'secret', keyHash: Buffer): Promise<KeyActor | null> {
    const find = keyKind === 'public' ? byPublicKey : bySecretKey
    const [project] = await this.#services.database.sql(find, [keyHash])
    const entry = keyHash.toString('hex')
    if (!project) {
      this.#remembered.delete(entry)
      return null
    }
    const actor: KeyActor = { kind: 'key', keyKind, keyHash, project }
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(entry, { actor, until: this.#services.now().getTime() + REMEMBERED_MS })
    return actor
  }
}

/** Refuses an actor that may not use the operation, or a disabled project that may not change anything. */
export function assertAccess(
  actor: Actor,
  operation: { access: Access; writes: boolean },
  trackAcceptsSecretKey: boolean,
): void {
  if (operation.access === 'anyone' || actor.kind === 'system') return
  if (actor.kind === 'anonymous') throw missingAuth()
  if (operation.access === 'secretKey' && actor.keyKind !== 'secret') {
    throw invalidApiKey('A public key may only track events.', 'Use the secret key (sk_…) on a server.')
  }
  if (operation.access === 'publicKey' && actor.keyKind !== 'public' && !trackAcceptsSecretKey) {
    throw invalidApiKey('Events are tracked with the public key.', 'Use the public key (pk_…).')
  }
  if (operation.writes && actor.project.disabled) throw projectDisabled(actor.project.disabledReason)
}

/**
 * What to tell a caller whose operation found, inside its own statement, that the remembered key or project
 * state is no longer true.
 */
export async function refusalOf(keyRing: KeyRing, actor: Actor): Promise<AppError> {
  if (actor.kind !== 'key') return missingAuth()
  keyRing.forget(actor)
  const current = await keyRing.lookUp(actor.keyKind, actor.keyHash)
  return current?.project.disabled ? projectDisabled(current.project.disabledReason) : invalidApiKey()
}
