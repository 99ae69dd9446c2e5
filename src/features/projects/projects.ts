import { randomBytes } from 'node:crypto'
import { hashKey } from '../../admission/access.ts'
import type { Ctx } from '../../ctx.ts'
import { AppError, conflict } from '../../errors.ts'
import type { Project } from '../../generated/prisma/client.ts'
import { newId } from '../../lib/ids.ts'
import { recordChange } from '../audit/audit-log.ts'

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

/** For a project that is being removed: whoever still has its keys has nothing. */
export const lostKeys = () => keyColumns(newKeys())

export function createProject(ctx: Ctx, { name }: { name: string }): Promise<NewProject> {
  return ctx.atomically(async (tx) => {
    const keys = newKeys()
    const now = tx.now()
    const id = newId(now)
    await tx.db.project.create({
      data: { id, name, ...keyColumns(keys), createdAt: now, updatedAt: now },
    })
    await recordChange(tx, id, { action: 'project.create', changes: { name } })
    return { id, name, ...keys }
  })
}

/** Replaces both keys; the old ones stop with this commit, on every process. */
export function rotateKeys(ctx: Ctx, projectId: string): Promise<ProjectKeys> {
  return ctx.atomically(async (tx) => {
    const keys = newKeys()
    const { count } = await tx.db.project.updateMany({
      where: { id: projectId, ...IS_KEPT },
      data: { ...keyColumns(keys), updatedAt: tx.now() },
    })
    if (count === 0) throw unknownProject(projectId)
    await recordChange(tx, projectId, {
      action: 'keys.rotate',
      changes: { public: `…${keys.public.slice(-4)}`, secret: `…${keys.secret.slice(-4)}` },
    })
    return keys
  })
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

/** Not of a project that is being removed: for callers it is gone. */
export const IS_KEPT = { OR: [{ wipe: null }, { wipe: { deletes: false } }] }

/** Throws RESOURCE_NOT_FOUND. */
export async function getProject(ctx: Ctx, id: string): Promise<ProjectSummary> {
  const project = await ctx.db.project.findUnique({ where: { id, ...IS_KEPT } })
  if (!project) throw unknownProject(id)
  return summaryOf(project)
}

/** Newest first; at most `limit`. */
export async function listProjects(ctx: Ctx, limit: number): Promise<ProjectSummary[]> {
  const projects = await ctx.db.project.findMany({ where: IS_KEPT, orderBy: { id: 'desc' }, take: limit })
  return projects.map(summaryOf)
}

/** A disabled project can be read, but not changed or sent from; its pending mail waits. */
export async function setProjectDisabled(ctx: Ctx, projectId: string, reason: string | null): Promise<void> {
  await ctx.atomically(async (tx) => {
    const { count } = await tx.db.project.updateMany({
      where: { id: projectId, OR: [{ wipe: null }, { wipe: { openedAt: { not: null }, deletes: false } }] },
      data: { disabled: reason !== null, disabledReason: reason, updatedAt: tx.now() },
    })
    if (count === 0) throw await unchangeable(tx, projectId)
    const action = reason === null ? 'project.enable' : 'project.disable'
    await recordChange(tx, projectId, { action, changes: { reason } })
    if (reason !== null) return
    await tx.db.suspension.updateMany({
      where: { projectId, liftedAt: null },
      data: { liftedAt: tx.now() },
    })
  })
}

/** Of a project that is being emptied the state is kept for afterwards. */
async function unchangeable(tx: Ctx, projectId: string): Promise<AppError> {
  const { name } = await getProject(tx, projectId)
  return conflict(`The project "${name}" is being reset. Try again when that is done.`)
}
