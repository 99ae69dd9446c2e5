import type { KeyActor } from '../../admission/access.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { AuditEntry } from '../../generated/prisma/client.ts'
import type { AuditActor } from '../../generated/prisma/enums.ts'
import { given } from '../../lib/given.ts'
import { isId, newId } from '../../lib/ids.ts'
import type { JsonValue } from '../../lib/json.ts'
import { type CursorPage, cursorAfter, keyOfCursor, pageFrom, pageLimit } from '../../paging/cursor-page.ts'

export type AuditedChange = {
  /** What was changed and how, such as "member.remove". */
  action: string
  /** Which one of several: an address, a name or an id. */
  target?: string
  /** The fields that were changed with their new values. Secrets are left out by who calls. */
  changes?: Record<string, JsonValue | undefined>
}

/**
 * Notes who has changed what of a project, in the transaction of the change: both are there or neither. It is for what
 * the project is (settings, keys, members, domains, webhooks, billing), not for its contents.
 */
export async function recordChange(
  tx: Ctx,
  projectId: string,
  { action, target, changes = {} }: AuditedChange,
): Promise<void> {
  const createdAt = tx.now()
  await tx.db.auditEntry.create({
    data: {
      projectId,
      id: newId(createdAt),
      ...(await whoIs(tx)),
      action,
      target: target ?? null,
      changes: given(changes),
      createdAt,
    },
  })
}

type Who = { actorKind: AuditActor; userId?: string; actor: string }

async function whoIs(tx: Ctx): Promise<Who> {
  const { actor, requestId } = tx
  if (actor.kind === 'key') return { actorKind: 'KEY', actor: await lastFourOf(tx, actor) }
  if (actor.kind === 'user') return { actorKind: 'USER', userId: actor.user.id, actor: actor.user.email }
  return { actorKind: 'SYSTEM', actor: requestId === 'cli' ? 'cli' : 'service' }
}

/** The last characters of the key, by which people tell keys apart; `gone` when it has just been replaced. */
async function lastFourOf({ db }: Ctx, { keyHash }: KeyActor): Promise<string> {
  const hash = new Uint8Array(keyHash)
  const project = await db.project.findUnique({ where: { secretHash: hash } })
  const lastFour = project?.secretLastFour ?? (await db.apiKey.findUnique({ where: { hash } }))?.lastFour
  return lastFour ?? 'gone'
}

/** Names the list in its cursors. */
const ORDER = 'audit'

/** Changes of the caller's project, the newest first. */
export async function listChanges(
  ctx: Ctx,
  asked: { limit?: number | null | undefined; cursor?: string | null | undefined },
): Promise<CursorPage<AuditEntry> & { countTotal: () => Promise<number> }> {
  const limit = pageLimit(asked.limit)
  const before = asked.cursor ? keyOfCursor(asked.cursor, ORDER, isId) : null
  const projectId = projectIdOf(ctx)
  const rows = await ctx.db.auditEntry.findMany({
    where: { projectId, ...(before && { id: { lt: before } }) },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  const countTotal = async () => (before === null ? ctx.db.auditEntry.count({ where: { projectId } }) : 0)
  return { ...pageFrom(rows, limit, ({ id }) => cursorAfter(ORDER, id)), countTotal }
}
