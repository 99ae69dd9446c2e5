import { type Ctx, projectIdOf } from '../../ctx.ts'
import { AppError, conflict, noSuchProject, notFound, roleNeeded } from '../../errors.ts'
import type { Invitation } from '../../generated/prisma/client.ts'
import type { Role } from '../../generated/prisma/enums.ts'
import { earliestId, isId } from '../../lib/ids.ts'
import { recordChange } from '../audit/audit-log.ts'
import { sendInvitationMail } from '../service-mail/service-mail.ts'
import type { AssignedRole, InviteMemberInput } from './members.input.ts'
import { type Refusal, refusalToChange, refusalToRemove } from './members.rules.ts'
import { lockAddress, lockMembers } from './members.sql.ts'

/** `userId` is null while an invitation waits for its account. */
export type MemberView = { userId: string | null; email: string; role: Role; createdAt: Date }

/** Invitations of a project within a day: each of them is a mail to somebody who has not asked for it. */
const MAX_A_DAY = 50
/** The action of the audit log. */
const INVITE = 'member.invite'
const DAY_MS = 24 * 3_600_000

const WITH_EMAIL = { user: { select: { email: true } } } as const

const shown = (member: {
  userId: string
  role: Role
  createdAt: Date
  user: { email: string }
}): MemberView => ({
  userId: member.userId,
  email: member.user.email,
  role: member.role,
  createdAt: member.createdAt,
})

const pending = ({ email, role, createdAt }: Invitation): MemberView => ({
  userId: null,
  email,
  role,
  createdAt,
})

/** Members of the caller's project, the oldest first. */
export async function listMembers(ctx: Ctx): Promise<MemberView[]> {
  const members = await ctx.db.member.findMany({
    where: { projectId: projectIdOf(ctx) },
    include: WITH_EMAIL,
    orderBy: [{ createdAt: 'asc' }, { userId: 'asc' }],
  })
  return members.map(shown)
}

/** Invitations of the caller's project that wait for their accounts, the oldest first. */
export async function listInvitations(ctx: Ctx): Promise<MemberView[]> {
  const invitations = await ctx.db.invitation.findMany({
    where: { projectId: projectIdOf(ctx) },
    orderBy: [{ createdAt: 'asc' }, { email: 'asc' }],
  })
  return invitations.map(pending)
}

/**
 * Makes the user with the address a member, or, when there is none or the address is not verified, notes an invitation
 * that signing up with it and verifying it accepts.
 * Throws CONFLICT for a member, and for somebody who is invited already.
 */
export function inviteMember(ctx: Ctx, { email, role }: InviteMemberInput): Promise<MemberView> {
  return changing(ctx, async (tx, projectId) => {
    await assertFew(tx, projectId)
    await tx.sql(lockAddress, { email })
    const user = await tx.db.user.findUnique({ where: { email } })
    // Anyone can sign up with an address: it counts once it is verified, where that is possible.
    const member =
      user && (user.emailVerifiedAt || !tx.config.serviceMail)
        ? await addMember(tx, { projectId, userId: user.id, role })
        : await addInvitation(tx, { projectId, email, role })
    await recordChange(tx, projectId, { action: INVITE, target: email, changes: { role } })
    const { name } = await tx.db.project.findUniqueOrThrow({
      where: { id: projectId },
      select: { name: true },
    })
    await sendInvitationMail(tx, email, name)
    return member
  })
}

/** Also those count that have been withdrawn since. */
async function assertFew(tx: Ctx, projectId: string): Promise<void> {
  const since = earliestId(new Date(tx.now().getTime() - DAY_MS))
  const count = await tx.db.auditEntry.count({ where: { projectId, action: INVITE, id: { gte: since } } })
  if (count < MAX_A_DAY) return
  throw new AppError('RATE_LIMIT_EXCEEDED', `A project invites at most ${MAX_A_DAY} people within a day.`, {
    suggestion: 'Invite the others tomorrow.',
    headers: { 'retry-after': '3600' },
  })
}

type NewMember = { projectId: string; userId: string; role: AssignedRole }

async function addMember(tx: Ctx, { projectId, userId, role }: NewMember): Promise<MemberView> {
  const known = await tx.db.member.count({ where: { projectId, userId } })
  if (known > 0) throw conflict('This person is a member of the project already.')
  const member = await tx.db.member.create({
    data: { projectId, userId, role, createdAt: tx.now() },
    include: WITH_EMAIL,
  })
  return shown(member)
}

type NewInvitation = { projectId: string; email: string; role: AssignedRole }

async function addInvitation(tx: Ctx, { projectId, email, role }: NewInvitation): Promise<MemberView> {
  const where = { projectId }
  if ((await tx.db.invitation.count({ where: { ...where, email } })) > 0) {
    throw conflict('This address is invited already; signing up with it accepts the invitation.')
  }
  const { actor } = tx
  const invitedBy = actor.kind === 'user' ? actor.user.id : null
  return pending(
    await tx.db.invitation.create({ data: { projectId, email, role, invitedBy, createdAt: tx.now() } }),
  )
}

/** Withdraws an invitation that waits. Throws RESOURCE_NOT_FOUND. */
export function withdrawInvitation(ctx: Ctx, email: string): Promise<void> {
  return changing(ctx, async (tx, projectId) => {
    await tx.sql(lockAddress, { email })
    const { count } = await tx.db.invitation.deleteMany({ where: { projectId, email } })
    if (count === 0) throw notFound('The invitation')
    await recordChange(tx, projectId, { action: 'member.withdraw', target: email })
  })
}

/**
 * Makes a user a member of the projects that have invited the address. It is called in the commit by which the address is
 * known to be the user's.
 */
export async function acceptInvitations(
  tx: Ctx,
  { id, email }: { id: string; email: string },
): Promise<void> {
  await tx.sql(lockAddress, { email })
  const invitations = await tx.db.invitation.findMany({ where: { email } })
  if (invitations.length === 0) return
  const members = invitations.map(({ projectId, role }) => ({
    projectId,
    userId: id,
    role,
    createdAt: tx.now(),
  }))
  await tx.db.member.createMany({ data: members, skipDuplicates: true })
  await tx.db.invitation.deleteMany({ where: { email } })
  for (const { projectId, role } of invitations) {
    await recordChange(tx, projectId, { action: 'member.join', target: email, changes: { role } })
  }
}

/** Gives a member another role. Throws RESOURCE_NOT_FOUND, and FORBIDDEN for the owner. */
export function changeRole(ctx: Ctx, userId: string, role: AssignedRole): Promise<MemberView> {
  return changing(ctx, async (tx, projectId) => {
    const member = await findMember(tx, projectId, userId)
    assertAllowed(refusalToChange(member))
    await tx.db.member.update({ where: { projectId_userId: { projectId, userId } }, data: { role } })
    const { email } = member
    await recordChange(tx, projectId, { action: 'member.update', target: email, changes: { role } })
    return { ...member, role }
  })
}

/** Takes a member out of the project, whose next request is refused. Throws RESOURCE_NOT_FOUND, and FORBIDDEN for the owner and oneself. */
export function removeMember(ctx: Ctx, userId: string): Promise<void> {
  return changing(ctx, async (tx, projectId) => {
    const member = await findMember(tx, projectId, userId)
    assertAllowed(refusalToRemove(member, tx.actor.kind === 'user' ? tx.actor.user.id : null))
    await tx.db.member.delete({ where: { projectId_userId: { projectId, userId } } })
    await recordChange(tx, projectId, { action: 'member.remove', target: member.email })
  })
}

async function findMember(
  tx: Ctx,
  projectId: string,
  userId: string,
): Promise<MemberView & { userId: string }> {
  if (!isId(userId)) throw notFound('The member')
  const member = await tx.db.member.findUnique({
    where: { projectId_userId: { projectId, userId } },
    include: WITH_EMAIL,
  })
  if (!member) throw notFound('The member')
  return { ...shown(member), userId: member.userId }
}

function assertAllowed(refusal: Refusal): void {
  if (refusal === 'owner') {
    throw new AppError('FORBIDDEN', 'The owner of a project stays its owner.', {
      suggestion: 'Only the roles of other members can be changed.',
    })
  }
  if (refusal === 'self') {
    throw new AppError('FORBIDDEN', 'You cannot remove yourself from a project.', {
      suggestion: 'Ask another administrator or the owner to do it.',
    })
  }
}

/** One change at a time, by somebody who still may: the role may have been taken since the request was let in. */
function changing<Result>(ctx: Ctx, work: (tx: Ctx, projectId: string) => Promise<Result>): Promise<Result> {
  return ctx.atomically(async (tx) => {
    const projectId = projectIdOf(tx)
    await tx.sql(lockMembers, { projectId })
    await assertStillAdmin(tx, projectId)
    return work(tx, projectId)
  })
}

async function assertStillAdmin({ db, actor }: Ctx, projectId: string): Promise<void> {
  if (actor.kind !== 'user') return
  const userId = actor.user.id
  const member = await db.member.findUnique({ where: { projectId_userId: { projectId, userId } } })
  if (!member) throw noSuchProject()
  if (member.role === 'MEMBER') throw roleNeeded('ADMIN', member.role)
}
