import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import type { Database } from '../db/database.ts'
import { type AppError, conflict, invalidApiKey, projectDisabled } from '../errors.ts'
import type { KeyScope, Role } from '../generated/prisma/enums.ts'
import {
  type FurtherKey,
  noteKeyUse,
  type ProjectIdentity,
  projectByFurtherKey,
  projectByPublicKey,
  projectBySecretKey,
} from './access.sql.ts'

/**
 * The callers that an operation accepts: `secretKey` for resources and sending, with the secret key of a project or as a
 * signed-in member of it; `publicKey` for tracking; `user` for signed-in users alone; `anyone` for all.
 */
export type Access = 'anyone' | 'publicKey' | 'secretKey' | 'user'

export type KeyActor = {
  kind: 'key'
  keyKind: 'public' | 'secret'
  keyHash: Buffer
  /** What a further key of the project may do; null for its two keys. */
  scope: KeyScope | null
  project: ProjectIdentity
  /** Whether the process remembered this, so that it may be out of date. */
  isRemembered: boolean
}

/** Who came with the cookie of a session. */
export type UserActor = {
  kind: 'user'
  user: { id: string; email: string; verified: boolean }
  sessionId: string
  /** The project that the request is about; null when it names none, or none that the user is a member of. */
  membership: { project: ProjectIdentity; role: Role } | null
  /** Whether the request names a project, by X-Project-Id or in its path. */
  namesProject: boolean
}

export type Actor =
  /** `refusal` says why a session was not accepted, to operations that need more than anyone. */
  | { kind: 'anonymous'; refusal?: AppError }
  | KeyActor
  | UserActor
  /** The service itself, a worker or the CLI, for one project or for none. */
  | { kind: 'system'; projectId: string | null }

export const ANONYMOUS: Actor = { kind: 'anonymous' }
export const SYSTEM: Actor = { kind: 'system', projectId: null }
export const systemOf = (projectId: string): Actor => ({ kind: 'system', projectId })

/** The project that a caller from outside acts for; null for none. */
export function projectOf(actor: Actor): ProjectIdentity | null {
  if (actor.kind === 'key') return actor.project
  return actor.kind === 'user' ? (actor.membership?.project ?? null) : null
}

const KEY = /^(pk|sk|ak)_[0-9a-f]{64}$/

export const hashKey = (key: string): Buffer => createHash('sha256').update(key).digest()

/** How long a key that was found is remembered, for the operations whose own statement checks it again. */
const REMEMBERED_MS = 5_000
const MAX_REMEMBERED = 10_000

/** Where a key is looked up: the public or the secret one of a project, or a further one. */
type KeyPlace = KeyActor['keyKind'] | 'further'

const PLACES: Record<string, KeyPlace> = { pk: 'public', sk: 'secret', ak: 'further' }

/** How often it is noted that a further key is used. */
const USE_NOTED_MS = 10 * 60_000

type Remembered = { actor: Actor; until: number }

type Parts = { database: Database; now: () => Date; log: Logger }

/** The caller with the end of the key. */
type Found = { actor: KeyActor; until: Date | null }

/**
 * Turns the Authorization header into an actor. Every request asks the database, so that a rotated key stops
 * at once on every process. Only an operation whose statement compares the key itself may start from what
 * this process remembers (`recheckedLater`).
 */
export class KeyRing {
  readonly #services: Parts
  readonly #remembered = new Map<string, Remembered>()

  constructor(services: Parts) {
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
    const actor = await this.lookUp(PLACES[key.slice(0, 2)] ?? 'secret', keyHash)
    if (!actor) throw invalidApiKey()
    wasNoGuess?.()
    return actor
  }

  /** Asks the database whose key it is. Only what lets a request in is remembered, never a refusal. */
  async lookUp(place: KeyPlace, keyHash: Buffer): Promise<KeyActor | null> {
    const entry = keyHash.toString('hex')
    const found = place === 'further' ? await this.#further(keyHash) : await this.#own(place, keyHash)
    if (!found || found.actor.project.disabled) this.#remembered.delete(entry)
    else this.#remember(entry, found)
    return found?.actor ?? null
  }

  /** The same for a caller who has been found before. */
  lookUpAgain({ scope, keyKind, keyHash }: KeyActor): Promise<KeyActor | null> {
    return this.lookUp(scope === null ? keyKind : 'further', keyHash)
  }

  async #own(keyKind: KeyActor['keyKind'], keyHash: Buffer): Promise<Found | null> {
    const find = keyKind === 'public' ? projectByPublicKey : projectBySecretKey
    const [project] = await this.#services.database.sql(find, { keyHash })
    if (!project) return null
    return {
      actor: { kind: 'key', keyKind, keyHash, scope: null, project, isRemembered: false },
      until: null,
    }
  }

  async #further(keyHash: Buffer): Promise<Found | null> {
    const now = this.#services.now()
    const [found] = await this.#services.database.sql(projectByFurtherKey, { keyHash, now })
    if (!found) return null
    this.#noteUse(found, now)
    const { scope, project, expiresAt } = found
    const keyKind = scope === 'TRACK' ? 'public' : 'secret'
    return { actor: { kind: 'key', keyKind, keyHash, scope, project, isRemembered: false }, until: expiresAt }
  }

  /** Nobody waits for it, and nothing depends on it. */
  #noteUse({ id, lastUsedAt, project }: FurtherKey & { project: ProjectIdentity }, now: Date): void {
    const before = new Date(now.getTime() - USE_NOTED_MS)
    if (lastUsedAt && lastUsedAt >= before) return
    const noted = this.#services.database.sql(noteKeyUse, { projectId: project.id, id, now, before })
    noted.catch((error: unknown) =>
      this.#services.log.debug({ err: error }, 'the use of a key was not noted'),
    )
  }

  #remember(entry: string, { actor, until }: Found): void {
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    const most = this.#services.now().getTime() + REMEMBERED_MS
    this.#remembered.set(entry, {
      actor: { ...actor, isRemembered: true },
      until: until ? Math.min(most, until.getTime()) : most,
    })
  }
}

/** Explains why a header Authorization holds no key. */
function unreadableKey(authorization: string): AppError {
  const [scheme = '', ...rest] = authorization.trim().split(/\s+/)
  if (/^basic$/i.test(scheme)) {
    return invalidApiKey('Keys are not sent as Basic authentication.', HOW_TO_SEND)
  }
  if (rest.length === 0 && /^[psa]k_/.test(scheme)) {
    return invalidApiKey('The word Bearer is missing before the API key.', HOW_TO_SEND)
  }
  if (!/^bearer$/i.test(scheme))
    return invalidApiKey('The header Authorization holds no API key.', HOW_TO_SEND)
  return invalidApiKey(
    'What follows Bearer is no API key: a key is pk_, sk_ or ak_ and 64 characters from 0-9 and a-f.',
    'Send the whole key, without quotation marks or brackets, as "Authorization: Bearer <API key>".',
  )
}

const HOW_TO_SEND = 'Send the header "Authorization: Bearer <API key>".'

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
  const current = await keyRing.lookUpAgain(actor)
  if (!current) return invalidApiKey()
  return current.project.disabled ? projectDisabled(current.project.disabledReason) : null
}
