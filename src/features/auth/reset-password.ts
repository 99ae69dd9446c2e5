import type { Ctx } from '../../ctx.ts'
import { sendPasswordResetMail } from '../service-mail/service-mail.ts'
import { spendToken } from '../service-mail/tokens.ts'
import { dropCredentials, markVerified, setPassword } from '../users/users.ts'
import type { ChangePasswordInput } from './auth.input.ts'
import { checkOwnPassword, forgetWrongPasswords, requesterOf } from './sign-in.ts'

/** Mails a link when the address has an account; nothing in the answer or its time tells whether it has. */
export async function requestPasswordReset(ctx: Ctx, email: string): Promise<void> {
  requesterOf(ctx)
  await sendPasswordResetMail(ctx, email)
}

/**
 * Sets another password, which ends all sessions of the account, and verifies the address: the token was mailed to it. Throws
 * VALIDATION_ERROR when the token does not hold.
 */
export async function resetPassword(ctx: Ctx, token: string, password: string): Promise<void> {
  const passwordHash = await ctx.services.passwords.hash(password, requesterOf(ctx))
  await ctx.atomically(async (tx) => {
    const userId = await spendToken(tx, token, 'RESET_PASSWORD')
    const { email, emailVerifiedAt } = await tx.db.user.findUniqueOrThrow({ where: { id: userId } })
    // Whoever made an account of an address that was not theirs must not keep a second factor in it.
    if (!emailVerifiedAt) await dropCredentials(tx, userId)
    await setPassword(tx, userId, passwordHash)
    await forgetWrongPasswords(tx, email)
    await markVerified(tx, userId)
  })
}

/** Replaces the caller's password, which ends the caller's other sessions. Throws INVALID_CREDENTIALS. */
export async function changePassword(ctx: Ctx, input: ChangePasswordInput): Promise<void> {
  const { password, code, newPassword: next } = input
  const user = await checkOwnPassword(ctx, password, code)
  const passwordHash = await ctx.services.passwords.hash(next, requesterOf(ctx))
  const { actor } = ctx
  const keptSession = actor.kind === 'user' ? actor.sessionId : undefined
  await ctx.atomically((tx) => setPassword(tx, user.id, passwordHash, keptSession))
}
