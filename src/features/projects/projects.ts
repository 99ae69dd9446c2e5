import { randomBytes } from 'node:crypto'
import { hashKey } from '../../admission/access.ts'
import type { Ctx } from '../../ctx.ts'
import { AppError } from '../../errors.ts'
import type { Project } from '../../generated/prisma/client.ts'
import { newId } from '../../lib/ids.ts'

/** Both keys in the clear; the secret one is shown here and never again. */
export type ProjectKeys = { public: string; secret: string }
export type NewProject = ProjectKeys & { id: string; name: string }

const newKey = (prefix: 'pk' | 'sk') => `${prefix}_${randomBytes(32).toString('hex')}`

const newKeys = (): ProjectKeys => ({ public: newKey('pk'), secret: newKey('sk') })

const keyColumns = (keys: ProjectKeys) => ({
  publicKey: keys.public,
  publicKeyHash: new Uint8Array(hashKey(keys.public)),
  secretHash: new Uint8Array(hashKey(keys.secret)),
  secretLastFour: keys.secret.slice(-4),
})

export async function createProject(ctx: Ctx, input: { name: string }): Promise<NewProject> {
  const keys = newKeys()
  const now = ctx.now()
  const id = newId(now)
  await ctx.db.project.create({
    data: { id, name: input.name, ...keyColumns(keys), createdAt: now, updatedAt: now },
  })
  return { id, name: input.name, ...keys }
}

/** Replaces both keys; the old ones stop with this commit, on every process. */
export async function rotateKeys(ctx: Ctx, projectId: string): Promise<ProjectKeys> {
  const keys = newKeys()
  const { count } = await ctx.db.project.updateMany({
    where: { id: projectId },
    data: { ...keyColumns(keys), updatedAt: ctx.now() },
  })
  if (count === 0) throw unknownProject(projectId)
  return keys
}

export const unknownProject = (id: string) => new AppError('RESOURCE_NOT_FOUND', `There is no project ${id}.`)

export type ProjectSummary = {
  id: string
  name: string
  public: string
  disabled: boolean
  disabledReason: string | null
  /** BCP 47 tag of the language in which contacts are spoken to. */
  language: string
  createdAt: Date
}

const summaryOf = ({
  id,
  name,
  publicKey,
  disabled,
  disabledReason,
  language,
  createdAt,
}: Project): ProjectSummary => ({
  id,
  name,
  public: publicKey,
  disabled,
  disabledReason,
  language,
  createdAt,
})

/** Throws RESOURCE_NOT_FOUND. */
export async function getProject(ctx: Ctx, id: string): Promise<ProjectSummary> {
  const project = await ctx.db.project.findUnique({ where: { id } })
  if (!project) throw unknownProject(id)
  return summaryOf(project)
}

/** Newest first; at most `limit`. */
export async function listProjects(ctx: Ctx, limit: number): Promise<ProjectSummary[]> {
  const projects = await ctx.db.project.findMany({ orderBy: { id: 'desc' }, take: limit })
  return projects.map(summaryOf)
}

/** A disabled project can be read, but not changed or sent from; its pending mail waits. */
export async function setProjectDisabled(ctx: Ctx, projectId: string, reason: string | null): Promise<void> {
  const { count } = await ctx.db.project.updateMany({
    where: { id: projectId },
    data: { disabled: reason !== null, disabledReason: reason, updatedAt: ctx.now() },
  })
  if (count === 0) throw unknownProject(projectId)
}
