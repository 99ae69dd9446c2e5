import type { Ctx } from '../../ctx.ts'
import { AppError } from '../../errors.ts'
import type { User } from '../../generated/prisma/client.ts'
import { createUser, dropCredentials, markVerified } from '../users/users.ts'
import { startSession } from './sessions.ts'
import { assertMaySignUp } from './sign-up.ts'

/** Who a provider says that someone is. `email` is null when it has not verified an address. */
export type Identity = { column: 'githubId' | 'googleId'; id: string; email: string | null }

/**
 * Signs in with the identity at a provider: the account that it is linked to, the account of the address that the provider has
 * verified, which it is linked to then, or a new one. Throws FORBIDDEN without a verified address, for an account that asks
 * for a second factor and is not linked, and when nobody may sign up.
 */
export async function signInThrough(ctx: Ctx, identity: Identity): Promise<void> {
  const user = await ctx.atomically((tx) => accountOf(tx, identity))
  await startSession(ctx, user.id)
}

async function accountOf(tx: Ctx, { column, id, email }: Identity): Promise<User> {
  const linked = await tx.db.user.findFirst({ where: { [column]: id } })
  if (linked) return linked
  if (email === null) throw addressNotVerified()
  const known = await tx.db.user.findUnique({ where: { email } })
  if (!known) await assertMaySignUp(tx)
  const user = known ?? (await createUser(tx, { email, passwordHash: null, emailVerifiedAt: null }))
  // Somebody has signed up with the address meanwhile.
  if (!user) return accountOf(tx, { column, id, email })
  if (user.totpEnabledAt && user.emailVerifiedAt) throw secondFactorFirst()
  // Whoever made an account of an address that was not theirs must not keep a way in.
  if (!user.emailVerifiedAt) await dropCredentials(tx, user.id)
  await tx.db.user.update({ where: { id: user.id }, data: { [column]: id, updatedAt: tx.now() } })
  return markVerified(tx, user.id)
}

const secondFactorFirst = () =>
  new AppError('FORBIDDEN', 'Your account has a second factor: sign in with the password and a code.')

const addressNotVerified = () =>
  new AppError('FORBIDDEN', 'The provider has not verified an address of yours.', {
    suggestion: 'Verify your address there, or sign up with a password here.',
  })
