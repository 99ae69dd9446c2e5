import type { Ctx } from '../../ctx.ts'
import { AppError, conflict } from '../../errors.ts'
import type { User } from '../../generated/prisma/client.ts'
import { createUser, dropCredentials, markVerified, setPassword } from './users.ts'

// What the operator of the service does to accounts.

export type UserSummary = { id: string; email: string; emailVerified: boolean; createdAt: Date }

/** The operator vouches for the address. Throws CONFLICT when it has an account. */
export async function createVerifiedUser(ctx: Ctx, email: string, password: string): Promise<User> {
  const passwordHash = await ctx.services.passwords.hash(password, '')
  return ctx.atomically(async (tx) => {
    const user = await createUser(tx, { email, passwordHash, emailVerifiedAt: null })
    if (!user) throw conflict('There is an account with this address already.')
    return markVerified(tx, user.id)
  })
}

/** Leaves the new password as the only way to sign in. Throws RESOURCE_NOT_FOUND. */
export async function resetPasswordOf(ctx: Ctx, email: string, password: string): Promise<User> {
  const passwordHash = await ctx.services.passwords.hash(password, '')
  return ctx.atomically(async (tx) => {
    const user = await tx.db.user.findUnique({ where: { email } })
    if (!user) throw new AppError('RESOURCE_NOT_FOUND', `There is no account with the address ${email}.`)
    await dropCredentials(tx, user.id)
    await setPassword(tx, user.id, passwordHash)
    return user
  })
}

/** Newest first; at most `limit`. */
export async function listUsers(ctx: Ctx, limit: number): Promise<UserSummary[]> {
  const users = await ctx.db.user.findMany({ orderBy: { id: 'desc' }, take: limit })
  return users.map(({ id, email, emailVerifiedAt, createdAt }) => ({
    id,
    email,
    emailVerified: emailVerifiedAt !== null,
    createdAt,
  }))
}
