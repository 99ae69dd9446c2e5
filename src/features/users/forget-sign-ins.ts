import type { Ctx } from '../../ctx.ts'

/** Removes sessions and mailed tokens that ended, and failed sign-ins that happened, before `before`. */
export async function forgetSignIns(ctx: Ctx, before: Date): Promise<void> {
  await ctx.db.session.deleteMany({ where: { expiresAt: { lt: before } } })
  await ctx.db.userToken.deleteMany({ where: { createdAt: { lt: before } } })
  await ctx.db.signInFailure.deleteMany({ where: { windowStart: { lt: before } } })
}
