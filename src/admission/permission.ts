import { actingAs, type Ctx } from '../ctx.ts'
import {
  badRequest,
  emailVerificationRequired,
  invalidApiKey,
  missingAuth,
  noSuchProject,
  projectAccessDenied,
  projectDisabled,
  roleNeeded,
  sessionEnded,
} from '../errors.ts'
import type { KeyScope, Role } from '../generated/prisma/enums.ts'
import { isId } from '../lib/ids.ts'
import { type Access, type Actor, type KeyActor, projectOf, type UserActor } from './access.ts'

/** What an operation says of who may use it. */
export type Guarded = {
  access: Access
  /** The role that a signed-in user needs in the project at least. A secret key may do what an ADMIN may. */
  role: Role
  /** The argument that names the operation's project; null when X-Project-Id does, or there is none. */
  projectArgument: string | null
  /** The scope that lets a further key use it, besides FULL. */
  scope: KeyScope
  /** An account without a verified address may use it, though it changes something. */
  unverified: boolean
  /** It changes something: refused for a disabled project and to an account without a verified address. */
  writes: boolean
}

const RANK = { MEMBER: 0, ADMIN: 1, OWNER: 2 } satisfies Record<Role, number>

/**
 * The one place that decides who may use an operation. Returns the context to run it in, whose actor acts for the
 * project that the operation is about. Throws 401 for the wrong kind of caller, 404 for a project in the path that is not
 * the caller's, 403 for too low a role, an unverified account or a disabled project.
 */
export async function permitted(
  ctx: Ctx,
  operation: Guarded,
  argument: (name: string) => unknown,
): Promise<Ctx> {
  const { access, projectArgument, role } = operation
  const { actor, config } = ctx
  if (access === 'anyone' || actor.kind === 'system') return ctx
  if (actor.kind === 'anonymous') throw actor.refusal ?? notSignedIn(access)
  assertKind(actor, access, config.trackAcceptsSecretKey)
  if (actor.kind === 'key') assertScope(actor, operation)
  const acting = projectArgument === null ? actor : await inProject(ctx, actor, argument(projectArgument))
  if (acting.kind === 'user') {
    const { membership } = acting
    if (!membership && (access !== 'user' || projectArgument !== null)) throw withoutProject(acting)
    if (membership && RANK[membership.role] < RANK[role]) throw roleNeeded(role, membership.role)
    const needsVerified = operation.writes && !operation.unverified && config.serviceMail !== null
    if (needsVerified && !acting.user.verified) throw emailVerificationRequired()
  }
  const project = projectOf(acting)
  if (operation.writes && project?.disabled) throw projectDisabled(project.disabledReason)
  return acting === actor ? ctx : actingAs(ctx, acting)
}

const notSignedIn = (access: Access) =>
  access === 'user' ? missingAuth('You are not signed in.', 'Sign in with POST /auth/login.') : missingAuth()

const withoutProject = ({ namesProject }: UserActor) =>
  namesProject
    ? projectAccessDenied()
    : badRequest('The header X-Project-Id is missing: it names the project by its id.')

function assertKind(actor: KeyActor | UserActor, access: Access, trackAcceptsSecretKey: boolean): void {
  if (access === 'user' && actor.kind === 'key') {
    throw invalidApiKey('This takes a signed-in user, not an API key.', 'Sign in with POST /auth/login.')
  }
  if (access === 'secretKey' && actor.kind === 'key' && actor.keyKind !== 'secret') {
    throw invalidApiKey(
      'A public key may only track events.',
      'Use the secret key of the project (sk_…) here, on a server only.',
    )
  }
  const isPublic = actor.kind === 'key' && (actor.keyKind === 'public' || trackAcceptsSecretKey)
  if (access === 'publicKey' && !isPublic) {
    throw invalidApiKey(
      'Events are tracked with the public key.',
      'Use the public key of the project (pk_…) here, or POST /events/track with the secret one.',
    )
  }
}

/** A TRACK key is a public key, which `assertKind` has let in. */
function assertScope({ scope }: KeyActor, operation: Guarded): void {
  if (scope === null || scope === 'FULL' || scope === 'TRACK' || scope === operation.scope) return
  throw invalidApiKey(
    `This key has the scope ${scope}, which does not include this operation.`,
    scope === 'READ' ? 'A READ key may only read.' : 'A SEND key may only POST /v1/send.',
  )
}

/** The caller as one who acts for the project with this id. Throws RESOURCE_NOT_FOUND when it is not theirs. */
async function inProject(
  ctx: Ctx,
  actor: KeyActor | UserActor,
  given: unknown,
): Promise<KeyActor | UserActor> {
  const id = String(given).toLowerCase()
  if (actor.kind === 'key') {
    if (actor.project.id !== id) throw noSuchProject()
    return actor
  }
  if (!isId(id)) throw noSuchProject()
  if (actor.membership?.project.id === id) return actor
  const found = await ctx.services.sessions.lookUp(actor.sessionId, id)
  if (!found) throw sessionEnded()
  if (!found.membership) throw noSuchProject()
  return found
}

/** Refuses an actor whose key was rotated or whose session or membership has ended since it was looked up. */
export async function assertStillThere({ actor, services }: Ctx): Promise<void> {
  if (!(await isStillThere(actor, services))) {
    throw actor.kind === 'key' ? invalidApiKey() : sessionEnded()
  }
}

async function isStillThere(actor: Actor, { keyRing, sessions }: Ctx['services']): Promise<boolean> {
  if (actor.kind === 'key') return (await keyRing.lookUpAgain(actor)) !== null
  if (actor.kind !== 'user') return true
  const projectId = actor.membership?.project.id ?? null
  const found = await sessions.lookUp(actor.sessionId, projectId)
  return found !== null && (found.membership !== null || projectId === null)
}
