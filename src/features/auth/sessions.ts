import type { Ctx } from '../../ctx.ts'
import { AppError } from '../../errors.ts'
import type { Session } from '../../generated/prisma/client.ts'
import { isId, newId } from '../../lib/ids.ts'
import { userOf } from '../users/users.ts'
import { sessionCookie } from './session-cookie.ts'

const SESSION_DAYS = 7
const DAY_SECONDS = 86_400
/** Sessions that are listed. */
const MAX_LISTED = 100

/** Creates a session of the user, always a new one, and sets its cookie when there is a browser to set it in. */
export async function startSession(ctx: Ctx, userId: string): Promise<void> {
  const now = ctx.now()
  const id = newId(now)
  const expiresAt = new Date(now.getTime() + SESSION_DAYS * DAY_SECONDS * 1000)
  await ctx.db.session.create({ data: { id, userId, createdAt: now, expiresAt } })
  const token = await ctx.services.sessions.token(id, userId, expiresAt)
  ctx.caller?.setCookie(sessionCookie(ctx.config, token, SESSION_DAYS * DAY_SECONDS))
}

/** The sessions of the caller that have not ended, the newest ones first. */
export const ownSessions = (ctx: Ctx): Promise<Session[]> =>
  ctx.db.session.findMany({
    where: { userId: userOf(ctx).id, expiresAt: { gt: ctx.now() } },
    orderBy: { id: 'desc' },
    take: MAX_LISTED,
  })

/** Ends a session of the caller, on every process at once. Throws RESOURCE_NOT_FOUND. */
export async function revokeSession(ctx: Ctx, id: string): Promise<void> {
  const where = { id, userId: userOf(ctx).id }
  const { count } = isId(id) ? await ctx.db.session.deleteMany({ where }) : { count: 0 }
  if (count === 0) throw new AppError('RESOURCE_NOT_FOUND', 'You have no such session.')
}

/** Ends the session of the caller, if there is one, and removes the cookie. */
export async function endOwnSession(ctx: Ctx): Promise<void> {
  const { actor } = ctx
  if (actor.kind === 'user') await ctx.db.session.deleteMany({ where: { id: actor.sessionId } })
  ctx.caller?.setCookie(sessionCookie(ctx.config, '', 0))
}
