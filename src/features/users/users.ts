import type { Ctx } from '../../ctx.ts'
import { internalError } from '../../errors.ts'
import type { User } from '../../generated/prisma/client.ts'
import { newId } from '../../lib/ids.ts'
import { acceptInvitations } from '../members/members.ts'

export type NewUser = { email: string; passwordHash: string | null; emailVerifiedAt: Date | null }

/** Returns null when the address has an account. */
export async function createUser(ctx: Ctx, user: NewUser): Promise<User | null> {
  const now = ctx.now()
  const data = { id: newId(now), ...user, createdAt: now, updatedAt: now }
  const [created] = await ctx.db.user.createManyAndReturn({ data, skipDuplicates: true })
  return created ?? null
}

/**
 * Notes that the address is the user's, who with that becomes a member of the projects that have invited it: not before,
 * since anyone can sign up with an address.
 */
export async function markVerified(tx: Ctx, userId: string): Promise<User> {
  const now = tx.now()
  const user = await tx.db.user.findUniqueOrThrow({ where: { id: userId } })
  await joinInvited(tx, user)
  if (user.emailVerifiedAt) return user
  return tx.db.user.update({ where: { id: userId }, data: { emailVerifiedAt: now, updatedAt: now } })
}

/** Makes the user a member of the projects that have invited the address. */
export const joinInvited = (tx: Ctx, { id, email }: User): Promise<void> =>
  acceptInvitations(tx, { id, email })

/**
 * Sets the password, and ends every session of the user, but one that is to go on, and the links in mails that would set
 * another one: whoever can read an old mail must not undo it.
 */
export async function setPassword(
  tx: Ctx,
  userId: string,
  passwordHash: string,
  keptSession?: string,
): Promise<void> {
  const now = tx.now()
  await tx.db.user.update({ where: { id: userId }, data: { passwordHash, updatedAt: now } })
  await tx.db.userToken.updateMany({
    where: { userId, purpose: 'RESET_PASSWORD', expiresAt: { gt: now } },
    data: { expiresAt: now },
  })
  const others = keptSession === undefined ? {} : { id: { not: keptSession } }
  await tx.db.session.deleteMany({ where: { userId, ...others } })
}

/** Takes away every way to sign in to the account, with its sessions. */
export async function dropCredentials(tx: Ctx, userId: string): Promise<void> {
  await tx.db.user.update({
    where: { id: userId },
    data: {
      ...{ passwordHash: null, githubId: null, googleId: null },
      ...{ totpSecret: null, totpEnabledAt: null, recoveryHashes: [] },
      updatedAt: tx.now(),
    },
  })
  await tx.db.session.deleteMany({ where: { userId } })
}

/** The signed-in caller's account. */
export async function ownUser(ctx: Ctx): Promise<User> {
  return ctx.db.user.findUniqueOrThrow({ where: { id: userOf(ctx).id } })
}

/** The signed-in caller; `access` has checked that there is one before a resolver runs. */
export function userOf({ actor }: Ctx): { id: string; email: string; verified: boolean } {
  if (actor.kind !== 'user') throw internalError()
  return actor.user
}
