import { type Ctx, projectIdOf } from '../../ctx.ts'
import { conflict } from '../../errors.ts'
import type { Project } from '../../generated/prisma/client.ts'
import type { Role } from '../../generated/prisma/enums.ts'
import { changeSettings } from '../projects/project-settings.ts'
import { createProject, IS_KEPT, type ProjectKeys, rotateKeys } from '../projects/projects.ts'
import { userOf } from '../users/users.ts'
import { deleteProject, resetProject } from '../wipes/wipes.ts'
import type { UpdateProjectInput } from './own-projects.input.ts'
import { lockOwner } from './own-projects.sql.ts'

/** A project, and what the asking user is in it. */
export type OwnProject = Project & { role: Role }

/** With the secret key in the clear, this once. */
export type CreatedProject = OwnProject & Pick<ProjectKeys, 'secret'>

/** Projects that one user may own: creating them costs nothing. */
const MAX_OWNED = 100

/** The projects of the signed-in user, the newest first. */
export async function listOwnProjects(ctx: Ctx): Promise<OwnProject[]> {
  const members = await ctx.db.member.findMany({
    where: { userId: userOf(ctx).id, project: IS_KEPT },
    include: { project: true },
    orderBy: { projectId: 'desc' },
  })
  return members.map(({ project, role }) => ({ ...project, role }))
}

/** The project that the caller acts for. */
export async function ownProject(ctx: Ctx): Promise<OwnProject> {
  const projectId_userId = { projectId: projectIdOf(ctx), userId: userOf(ctx).id }
  const { project, role } = await ctx.db.member.findUniqueOrThrow({
    where: { projectId_userId },
    include: { project: true },
  })
  return { ...project, role }
}

/** Creates a project, whose owner the signed-in user is. Throws CONFLICT when that user has too many. */
export function createOwnProject(ctx: Ctx, input: { name: string }): Promise<CreatedProject> {
  return ctx.atomically(async (tx) => {
    const userId = userOf(tx).id
    await tx.sql(lockOwner, { userId })
    if ((await tx.db.member.count({ where: { userId, role: 'OWNER' } })) >= MAX_OWNED) {
      throw conflict(`A user owns at most ${MAX_OWNED} projects. Delete one that is not needed.`)
    }
    const keys = await createProject(tx, input)
    const { id: projectId } = keys
    const { project } = await tx.db.member.create({
      data: { projectId, userId, role: 'OWNER', createdAt: tx.now() },
      include: { project: true },
    })
    return { ...project, role: 'OWNER', secret: keys.secret }
  })
}

export async function updateOwnProject(ctx: Ctx, input: UpdateProjectInput): Promise<OwnProject> {
  await changeSettings(ctx, projectIdOf(ctx), input)
  return ownProject(ctx)
}

/** Replaces the keys of the project that the caller acts for. */
export const rotateOwnKeys = (ctx: Ctx): Promise<ProjectKeys> => rotateKeys(ctx, projectIdOf(ctx))

export const resetOwnProject = (ctx: Ctx): Promise<void> => resetProject(ctx, projectIdOf(ctx))

export const deleteOwnProject = (ctx: Ctx): Promise<void> => deleteProject(ctx, projectIdOf(ctx))
