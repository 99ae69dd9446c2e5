import type { Ctx } from '../../ctx.ts'
import type { User } from '../../generated/prisma/client.ts'
import { sendVerificationMail } from '../service-mail/service-mail.ts'
import { spendToken } from '../service-mail/tokens.ts'
import { markVerified, userOf } from '../users/users.ts'

/** Verifies the address that the token was mailed to. Throws VALIDATION_ERROR when the token does not hold. */
export function verifyEmail(ctx: Ctx, token: string): Promise<User> {
  return ctx.atomically(async (tx) => markVerified(tx, await spendToken(tx, token, 'VERIFY_EMAIL')))
}

/** Mails the caller another link, unless the address is verified or three mails went to it within the hour. */
export const requestVerification = (ctx: Ctx): Promise<void> => sendVerificationMail(ctx, userOf(ctx).email)
