import { createHash, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import type { Ctx } from '../../ctx.ts'
import { AppError, conflict, fieldError } from '../../errors.ts'
import type { User } from '../../generated/prisma/client.ts'
import { useRecoveryCode, useStep } from './second-factor.sql.ts'

/** RFC 6238: codes of six digits for 30 s each; one period before and after is taken as well (5.2). */
const PERIOD_MS = 30_000
const WINDOW = 1
const SECRET_BYTES = 20
const RECOVERY_CODES = 10
const RECOVERY_BYTES = 10

/** What an authenticator app has to be told, as text and as the address in a QR code. */
export type SecondFactorSecret = { secret: string; uri: string }

const totpOf = (email: string, secret: string) =>
  new TOTP({ issuer: 'Mailwright', label: email, secret: Secret.fromBase32(secret) })

/** Makes a secret, which counts once a code of it is confirmed. Throws CONFLICT when there is a second factor. */
export async function beginSecondFactor(ctx: Ctx, user: User): Promise<SecondFactorSecret> {
  const secret = new Secret({ buffer: new Uint8Array(randomBytes(SECRET_BYTES)).buffer }).base32
  const totpSecret = ctx.config.sealing.seal(secret)
  const { count } = await ctx.db.user.updateMany({
    where: { id: user.id, totpEnabledAt: null },
    data: { totpSecret, updatedAt: ctx.now() },
  })
  if (count === 0) throw conflict('The account has a second factor already; remove it first.')
  return { secret, uri: totpOf(user.email, secret).toString() }
}

/** Turns the second factor on and returns the recovery codes, each good for one sign-in; they are shown here only. */
export async function confirmSecondFactor(ctx: Ctx, user: User, code: string): Promise<string[]> {
  if (user.totpEnabledAt) throw conflict('The account has a second factor already.')
  if (!(await isCodeOf(ctx, user, code))) throw fieldError('code', 'custom', 'is not the code of this moment')
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode)
  const now = ctx.now()
  const { count } = await ctx.db.user.updateMany({
    where: { id: user.id, totpEnabledAt: null, totpSecret: user.totpSecret },
    data: {
      totpEnabledAt: now,
      updatedAt: now,
      recoveryHashes: codes.map((one) => new Uint8Array(hashOf(one))),
    },
  })
  if (count === 0) throw conflict('Another secret was made meanwhile.')
  return codes
}

export async function removeSecondFactor(ctx: Ctx, user: User): Promise<void> {
  await ctx.db.user.update({
    where: { id: user.id },
    data: { totpSecret: null, totpEnabledAt: null, recoveryHashes: [], updatedAt: ctx.now() },
  })
}

/** Whether the text is a code of this moment, or a recovery code; it is used up then. */
export async function passesSecondFactor(ctx: Ctx, user: User, code: string): Promise<boolean> {
  if (await isCodeOf(ctx, user, code)) return true
  const used = await ctx.sql(useRecoveryCode, { userId: user.id, hash: hashOf(code) })
  return used.length > 0
}

async function isCodeOf(ctx: Ctx, { id, email, totpSecret }: User, code: string): Promise<boolean> {
  if (!totpSecret) return false
  const timestamp = ctx.now().getTime()
  const token = code.replaceAll(' ', '')
  const delta = totpOf(email, ctx.config.sealing.open(totpSecret)).validate({
    token,
    timestamp,
    window: WINDOW,
  })
  if (delta === null) return false
  const step = Math.floor(timestamp / PERIOD_MS) + delta
  return (await ctx.sql(useStep, { userId: id, step })).length > 0
}

/** Four groups of four characters that are hard to confuse (base32). */
function newRecoveryCode(): string {
  const text = new Secret({ buffer: new Uint8Array(randomBytes(RECOVERY_BYTES)).buffer }).base32.toLowerCase()
  return text.match(/.{4}/g)?.join('-') ?? text
}

const hashOf = (code: string): Buffer =>
  createHash('sha256').update(code.toLowerCase().replaceAll(/[\s-]/g, '')).digest()

/** The details by which callers know that the password was right. */
export const NEEDS_CODE = { reason: 'second_factor_needed' }

/** The password was right; the answer says what is needed next. */
export const codeNeeded = () =>
  new AppError('INVALID_CREDENTIALS', 'The account has a second factor: a code is needed.', {
    details: NEEDS_CODE,
    suggestion: 'Send the request again with "code": the one of your authenticator app, or a recovery code.',
  })
