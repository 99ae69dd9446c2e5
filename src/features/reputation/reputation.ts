import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { ReputationLevel, Suspension } from '../../generated/prisma/client.ts'
import { newId } from '../../lib/ids.ts'
import { isJsonObject } from '../../lib/json.ts'
import { setProjectDisabled } from '../projects/projects.ts'
import { notifyAdmins } from '../service-mail/service-mail.ts'
import {
  isWorse,
  type Levels,
  levelsOf,
  type MailCounts,
  since,
  type Windows,
  worstOf,
} from './reputation.rules.ts'
import { lockReputation, readMailWindows } from './reputation.sql.ts'

const DAY_MS = 86_400_000
/** The reason of a project that was disabled because of its rates. */
export const REPUTATION = 'EMAIL_REPUTATION'
const SHOWN = 20

/** How mail of the project was received: of six whole days (UTC) and the present one, and of all time. */
export async function mailWindows(ctx: Ctx): Promise<Windows & { from: Date }> {
  const from = new Date(Math.floor(ctx.now().getTime() / DAY_MS - 6) * DAY_MS)
  const [windows] = await ctx.sql(readMailWindows, { projectId: projectIdOf(ctx), from })
  if (!windows) throw new Error('the sums of counted mail are always one row')
  return { ...windows, from }
}

/** The counts of a project when it was last disabled: they do not count against it again once it is enabled. */
function countsAt(suspension: Suspension | null): MailCounts | null {
  const counts = isJsonObject(suspension?.details) ? suspension.details.allTime : null
  if (!isJsonObject(counts)) return null
  const { sent, bounced, complained } = counts
  return { sent: Number(sent), bounced: Number(bounced), complained: Number(complained) }
}

export type Security = {
  status: ReputationLevel
  levels: Levels
  rates: Windows
  suspensions: Suspension[]
  isDisabled: boolean
}

/** How the mail of the project is received, as far as that decides whether it may go on sending. */
export async function securityOf(ctx: Ctx): Promise<Security> {
  const projectId = projectIdOf(ctx)
  const suspensions = await ctx.db.suspension.findMany({
    where: { projectId },
    orderBy: { id: 'desc' },
    take: SHOWN,
  })
  const { disabled } = await ctx.db.project.findUniqueOrThrow({ where: { id: projectId } })
  const { from: _, ...rates } = await mailWindows(ctx)
  const lifted = suspensions.find(({ liftedAt }) => liftedAt !== null) ?? null
  const levels = levelsOf(since(rates, countsAt(disabled ? null : lifted)))
  return { status: worstOf(levels), levels, rates, suspensions, isDisabled: disabled }
}

/** Looks at the rates of the project: at a critical one it is disabled. Its people are told when the level gets worse. */
export const checkReputation = (ctx: Ctx): Promise<void> =>
  ctx.atomically(async (tx) => {
    const projectId = projectIdOf(tx)
    const [last] = await tx.sql(lockReputation, { projectId })
    if (!last) return
    const security = await securityOf(tx)
    const { status, isDisabled } = security
    const suspends = !isDisabled && status === 'CRITICAL' && tx.config.autoProjectDisable
    // Once the project is enabled again, its people are told of every level anew.
    const level = isDisabled || suspends ? 'HEALTHY' : status
    // Mail grows old, so a level gets better without anything happening.
    const dueAt = level === 'HEALTHY' ? null : new Date(tx.now().getTime() + DAY_MS)
    await tx.db.reputationState.update({ where: { projectId }, data: { level, dueAt } })
    if (suspends) await suspend(tx, security)
    else if (isWorse(level, last.level)) await tellPeople(tx, security)
  })

async function suspend(tx: Ctx, security: Security): Promise<void> {
  const projectId = projectIdOf(tx)
  const now = tx.now()
  const { levels, rates } = security
  await tx.db.suspension.create({
    data: {
      projectId,
      id: newId(now),
      reason: REPUTATION,
      details: { levels, ...rates },
      createdAt: now,
    },
  })
  await setProjectDisabled(tx, projectId, REPUTATION)
  await tellPeople(tx, { ...security, isDisabled: true })
}

/** Tells the operator by the log, and owner and admins by mail. */
async function tellPeople(tx: Ctx, { status, levels, rates, isDisabled }: Security): Promise<void> {
  const projectId = projectIdOf(tx)
  const message = isDisabled
    ? 'a project is disabled: too much of its mail bounces or is complained of'
    : 'much mail of a project bounces or is complained of'
  tx.log.warn({ projectId, status, levels, ...rates }, message)
  const { name } = await tx.db.project.findUniqueOrThrow({ where: { id: projectId } })
  await notifyAdmins(tx, projectId, {
    subject: isDisabled
      ? `${name} is disabled: too much of its mail bounces or is complained of`
      : `Much mail of ${name} bounces or is complained of`,
    paragraphs: [
      isDisabled
        ? `Mailbox providers would refuse all mail of this service before long, so the project ${name} can be read but not send until the operator of the service enables it again.`
        : `If the rates go on rising, the project ${name} will be disabled.`,
      'Remove addresses that bounce, and send only to people who have asked for it. The rates are in the security view of the project.',
    ],
  })
}
