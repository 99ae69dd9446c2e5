import { secondsUntil, tooManyRequests } from '../../admission/limits.ts'
import type { Ctx } from '../../ctx.ts'
import { AppError } from '../../errors.ts'
import type { User } from '../../generated/prisma/client.ts'
import { userOf } from '../users/users.ts'
import type { Credentials } from './auth.input.ts'
import { codeNeeded, passesSecondFactor } from './second-factor.ts'
import { startSession } from './sessions.ts'
import { noteAttempt } from './sign-in.sql.ts'

const MAX_FAILURES = 10
const WINDOW_MS = 15 * 60_000

export const invalidCredentials = () =>
  new AppError('INVALID_CREDENTIALS', 'The address, the password or the code is wrong.', {
    suggestion: 'POST /auth/request-password-reset sends a link to set another password.',
  })

/**
 * Signs in with a password. Throws INVALID_CREDENTIALS, the same and after the same work for an unknown address, and
 * RATE_LIMIT_EXCEEDED after too many failures of a network address with the account.
 */
export async function signIn(ctx: Ctx, credentials: Credentials): Promise<User> {
  const user = await checkPassword(ctx, credentials)
  await startSession(ctx, user.id)
  return user
}

/** The user whose password it is, with the code of a second factor where there is one. Throws as `signIn`. */
export async function checkPassword(ctx: Ctx, { email, password, code }: Credentials): Promise<User> {
  const address = requesterOf(ctx)
  await countAttempt(ctx, address, email)
  const user = await ctx.db.user.findUnique({ where: { email } })
  const isRight = await ctx.services.passwords.verify(password, user?.passwordHash ?? null, address)
  if (!user || !isRight) throw invalidCredentials()
  if (user.totpEnabledAt) await checkCode(ctx, user, code)
  await ctx.db.signInFailure.deleteMany({ where: { address: { in: [address, ANYWHERE] }, email } })
  return user
}

/** Wrong codes are counted wherever they come from: who tries them knows the password. */
const ANYWHERE = '*'

async function checkCode(ctx: Ctx, user: User, code: string | undefined): Promise<void> {
  if (code === undefined) throw codeNeeded()
  await countAttempt(ctx, ANYWHERE, user.email)
  if (!(await passesSecondFactor(ctx, user, code))) throw invalidCredentials()
}

/** The caller's account, once more proven to be theirs. Throws as `signIn`. */
export const checkOwnPassword = (ctx: Ctx, password: string, code: string | undefined): Promise<User> =>
  checkPassword(ctx, { email: userOf(ctx).email, password, code })

/** The network address that asks for work that strangers may ask for; its limit counts it. */
export function requesterOf({ caller }: Ctx): string {
  caller?.countAsStranger()
  return caller?.address ?? ''
}

async function countAttempt(ctx: Ctx, address: string, email: string): Promise<void> {
  const now = ctx.now()
  const expired = new Date(now.getTime() - WINDOW_MS)
  const [row] = await ctx.sql(noteAttempt, { address, email, now, expired, most: MAX_FAILURES })
  if (!row || row.failures <= MAX_FAILURES) return
  const resetSeconds = secondsUntil(row.windowStart.getTime() + WINDOW_MS, now)
  const isOfCodes = address === ANYWHERE
  const later = `Try again in ${Math.ceil(resetSeconds / 60)} minutes`
  throw tooManyRequests(
    isOfCodes
      ? 'Too many wrong codes for this account.'
      : 'Too many failed sign-ins with this account from this address.',
    { limit: MAX_FAILURES, remaining: 0, resetSeconds },
    isOfCodes ? `${later}.` : `${later}, or set another password with POST /auth/request-password-reset.`,
  )
}

/** Another password may be tried at once; who has only that is still kept from guessing codes. */
export async function forgetWrongPasswords(tx: Ctx, email: string): Promise<void> {
  await tx.db.signInFailure.deleteMany({ where: { email, address: { not: ANYWHERE } } })
}
