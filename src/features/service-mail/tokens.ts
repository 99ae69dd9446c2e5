import { createHash, randomBytes } from 'node:crypto'
import type { Ctx } from '../../ctx.ts'
import { fieldError } from '../../errors.ts'
import type { UserTokenPurpose } from '../../generated/prisma/enums.ts'
import { countTokens, lockUser, useToken } from './tokens.sql.ts'

const HOUR = 3_600_000
/** Mails to an account in an hour. */
const MAX_PER_HOUR = 3

const hashOf = (token: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(createHash('sha256').update(token).digest())

/**
 * Creates a token for the account with this address, valid for an hour. Null without such an account, when it has got
 * all its mails of this hour, and when there is nothing left to verify.
 */
export function createToken(ctx: Ctx, email: string, purpose: UserTokenPurpose): Promise<string | null> {
  const now = ctx.now()
  return ctx.atomically(async (tx) => {
    const [user] = await tx.sql(lockUser, { email })
    if (!user || (purpose === 'VERIFY_EMAIL' && user.verified)) return null
    const since = new Date(now.getTime() - HOUR)
    const [{ count } = { count: 0 }] = await tx.sql(countTokens, { userId: user.id, since })
    if (count >= MAX_PER_HOUR) return null
    const token = randomBytes(32).toString('base64url')
    const expiresAt = new Date(now.getTime() + HOUR)
    await tx.db.userToken.create({
      data: { hash: hashOf(token), userId: user.id, purpose, createdAt: now, expiresAt },
    })
    return token
  })
}

/** Forgets a token whose mail has not left. */
export async function dropToken(ctx: Ctx, token: string): Promise<void> {
  await ctx.db.userToken.deleteMany({ where: { hash: hashOf(token) } })
}

/** Uses the token up and returns whose it was. Throws VALIDATION_ERROR when it was used or has expired. */
export async function spendToken(tx: Ctx, token: string, purpose: UserTokenPurpose): Promise<string> {
  const [found] = await tx.sql(useToken, { hash: Buffer.from(hashOf(token)), purpose, now: tx.now() })
  if (!found) {
    throw fieldError('token', 'custom', 'was used, has expired or is not whole: ask for another mail')
  }
  return found.userId
}
