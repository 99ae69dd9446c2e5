import { createHash } from 'node:crypto'
import type { Services } from '../ctx.ts'
import { type AppError, conflict, invalidApiKey, missingAuth, projectDisabled } from '../errors.ts'
import { type ProjectIdentity, projectByPublicKey, projectBySecretKey } from './access.sql.ts'

/**
 * The keys that an operation accepts: `secretKey` for resources and sending, `publicKey` for tracking too,
 * `anyone` for no key at all.
 */
export type Access = 'anyone' | 'publicKey' | 'secretKey'

export type KeyActor = {
  kind: 'key'
  keyKind: 'public' | 'secret'
  keyHash: Buffer
  project: ProjectIdentity
  /** Whether the process remembered this, so that it may be out of date. */
  isRemembered: boolean
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

  /**
   * Finds out who the caller is. `onGuess` is called before a key is looked up that this process has not
   * seen; it may throw, and the function that it returns is called when the key turns out to be valid.
   */
  async authenticate(
    authorization: string | undefined,
    recheckedLater: boolean,
    onGuess: () => () => void,
  ): Promise<Actor> {
    if (!authorization) return ANONYMOUS
    const key = /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''
    if (!KEY.test(key)) throw unreadableKey(authorization)
    const keyHash = hashKey(key)
    const known = this.#remembered.get(keyHash.toString('hex'))
    if (recheckedLater && known && known.until > this.#services.now().getTime()) return known.actor
    const wasNoGuess = known ? null : onGuess()
    const actor = await this.lookUp(key.startsWith('pk_') ? 'public' : 'secret', keyHash)
    if (!actor) throw invalidApiKey()
    wasNoGuess?.()
    return actor
  }

  /** Asks the database whose key it is. Only what lets a request in is remembered, never a refusal. */
  async lookUp(keyKind: 'public' | 'secret', keyHash: Buffer): Promise<KeyActor | null> {
    const find = keyKind === 'public' ? projectByPublicKey : projectBySecretKey
    const [project] = await this.#services.database.sql(find, { keyHash })
    const actor: KeyActor | null = project
      ? { kind: 'key', keyKind, keyHash, project, isRemembered: false }
      : null
    const entry = keyHash.toString('hex')
    if (!actor || actor.project.disabled) this.#remembered.delete(entry)
    else this.#remember(entry, actor)
    return actor
  }

  #remember(entry: string, actor: KeyActor): void {
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    const remembered = { ...actor, isRemembered: true }
    this.#remembered.set(entry, { actor: remembered, until: this.#services.now().getTime() + REMEMBERED_MS })
  }
}

/** Explains why a header Authorization holds no key. */
function unreadableKey(authorization: string): AppError {
  const [scheme = '', ...rest] = authorization.trim().split(/\s+/)
  if (/^basic$/i.test(scheme)) {
    return invalidApiKey('Keys are not sent as Basic authentication.', HOW_TO_SEND)
  }
  if (rest.length === 0 && /^[ps]k_/.test(scheme)) {
    return invalidApiKey('The word Bearer is missing before the API key.', HOW_TO_SEND)
  }
  if (!/^bearer$/i.test(scheme))
    return invalidApiKey('The header Authorization holds no API key.', HOW_TO_SEND)
  return invalidApiKey(
    'What follows Bearer is no API key: a key is pk_ or sk_ and 64 characters from 0-9 and a-f.',
    'Send the whole key, without quotation marks or brackets, as "Authorization: Bearer <API key>".',
  )
}

const HOW_TO_SEND = 'Send the header "Authorization: Bearer <API key>".'

/** Refuses an actor that may not use the operation, or a disabled project that may not change anything. */
export function assertAccess(
  actor: Actor,
  operation: { access: Access; writes: boolean },
  trackAcceptsSecretKey: boolean,
): void {
  if (operation.access === 'anyone' || actor.kind === 'system') return
  if (actor.kind === 'anonymous') throw missingAuth()
  if (operation.access === 'secretKey' && actor.keyKind !== 'secret') {
    throw invalidApiKey(
      'A public key may only track events.',
      'Use the secret key of the project (sk_…) here, on a server only.',
    )
  }
  if (operation.access === 'publicKey' && actor.keyKind !== 'public' && !trackAcceptsSecretKey) {
    throw invalidApiKey(
      'Events are tracked with the public key.',
      'Use the public key of the project (pk_…) here, or POST /events/track with the secret one.',
    )
  }
  if (operation.writes && actor.project.disabled) throw projectDisabled(actor.project.disabledReason)
}

/**
 * The error for a caller whose operation found, inside its own statement, that it may not go on: the
 * remembered key or project state is no longer true, or its Idempotency-Key belongs to a repeat of the
 * request by now.
 */
export async function refusalOf(keyRing: KeyRing, actor: Actor): Promise<AppError> {
  return (await staleness(keyRing, actor)) ?? conflict('A repeat of this request has overtaken it.')
}

/** Refuses an actor that was remembered and is no longer what the database says. */
export async function assertStillAdmitted(keyRing: KeyRing, actor: Actor): Promise<void> {
  const refusal = actor.kind === 'key' && actor.isRemembered && (await staleness(keyRing, actor))
  if (refusal) throw refusal
}

async function staleness(keyRing: KeyRing, actor: Actor): Promise<AppError | null> {
  if (actor.kind !== 'key') return null
  const current = await keyRing.lookUp(actor.keyKind, actor.keyHash)
  if (!current) return invalidApiKey()
  return current.project.disabled ? projectDisabled(current.project.disabledReason) : null
}
