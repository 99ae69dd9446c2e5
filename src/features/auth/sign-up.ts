import type { Ctx } from '../../ctx.ts'
import { AppError, conflict } from '../../errors.ts'
import type { User } from '../../generated/prisma/client.ts'
import { sendVerificationMail } from '../service-mail/service-mail.ts'
import { createUser, joinInvited } from '../users/users.ts'
import type { NewCredentials } from './auth.input.ts'
import { startSession } from './sessions.ts'
import { lockFirstUser } from './sign-in.sql.ts'
import { requesterOf } from './sign-in.ts'

/**
 * Creates an account and signs it in. Throws CONFLICT when the address has one, and FORBIDDEN when nobody may sign up: the
 * first user always may.
 */
export async function signUp(ctx: Ctx, { email, password }: NewCredentials): Promise<User> {
  const address = requesterOf(ctx)
  // Before the hash, which costs more than the answer is worth.
  if (ctx.config.signupsDisabled && (await ctx.db.user.count()) > 0) throw signupsDisabled()
  const passwordHash = await ctx.services.passwords.hash(password, address)
  const user = await ctx.atomically(async (tx) => {
    await assertMaySignUp(tx)
    const created = await createUser(tx, { email, passwordHash, emailVerifiedAt: null })
    if (created && tx.config.serviceMail) await sendVerificationMail(tx, email)
    // Where no mail can be sent nobody can show whose an address is.
    else if (created) await joinInvited(tx, created)
    return created
  })
  if (!user) throw conflict('There is an account with this address already. Sign in, or reset its password.')
  await startSession(ctx, user.id)
  return user
}

/** Throws FORBIDDEN when nobody may sign up, but the first user. */
export async function assertMaySignUp(tx: Ctx): Promise<void> {
  if (!tx.config.signupsDisabled) return
  await tx.sql(lockFirstUser, {})
  if ((await tx.db.user.count()) > 0) throw signupsDisabled()
}

const signupsDisabled = () =>
  new AppError('FORBIDDEN', 'Nobody can create an account here (DISABLE_SIGNUPS).', {
    suggestion: 'Ask the operator of the service: "npm run -s cli -- user create" creates one.',
  })
