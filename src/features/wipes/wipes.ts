import { BEING_DELETED, BEING_RESET } from '../../admission/project-states.ts'
import { type Ctx, forProject } from '../../ctx.ts'
import { isDatabaseUnavailable } from '../../db/sql.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { recordChange } from '../audit/audit-log.ts'
import { lostKeys, unknownProject } from '../projects/projects.ts'
import { advanceWipe, wipeWork } from './advance-wipe.ts'
import { holdProject } from './wipes.sql.ts'

/** How long a request goes on itself. */
const REQUEST_MS = 5_000

/**
 * Removes all contents of a project for good: as much as some seconds allow at once, the rest in the background. Until all
 * of it is gone the project refuses writes, so what is accepted later stays and what was accepted before does not. Domains,
 * members and keys stay. Throws RESOURCE_NOT_FOUND.
 */
export async function resetProject(ctx: Ctx, projectId: string): Promise<void> {
  await begin(ctx, { projectId, deletes: false })
  await goOn(ctx, projectId)
}

/**
 * Removes a project with everything. Its keys stop, its members lose it and its domains are free with this commit; its
 * contents follow as those of a reset do. Throws RESOURCE_NOT_FOUND.
 */
export async function deleteProject(ctx: Ctx, projectId: string): Promise<void> {
  await begin(ctx, { projectId, deletes: true })
  await goOn(ctx, projectId)
}

type Wipe = { projectId: string; deletes: boolean }

/** A wipe that is under way already begins anew, for what has been written since it opened the project. */
function begin(ctx: Ctx, { projectId, deletes }: Wipe): Promise<void> {
  return ctx.atomically(async (tx) => {
    const [project] = await tx.sql(holdProject, { projectId })
    const known = await tx.db.projectWipe.findUnique({ where: { projectId } })
    if (!project || known?.deletes) throw unknownProject(projectId)
    const was =
      known && !known.openedAt
        ? { wasDisabled: known.wasDisabled, wasReason: known.wasReason }
        : { wasDisabled: project.disabled, wasReason: project.reason }
    const wipe = { deletes, ...was, step: 0, requestedAt: tx.now(), openedAt: null }
    await tx.db.projectWipe.upsert({ where: { projectId }, create: { projectId, ...wipe }, update: wipe })
    const now = tx.now()
    const disabled = { disabled: true, disabledReason: deletes ? BEING_DELETED : BEING_RESET, updatedAt: now }
    await tx.db.project.update({
      where: { id: projectId },
      data: deletes ? { ...disabled, ...lostKeys() } : disabled,
    })
    if (deletes) await leaveAlone(tx, projectId)
    else await recordChange(tx, projectId, { action: 'project.reset' })
  })
}

/** Nobody reaches the project any more, and others may have its domains. */
async function leaveAlone(tx: Ctx, projectId: string): Promise<void> {
  const where = { projectId }
  await tx.db.member.deleteMany({ where })
  await tx.db.invitation.deleteMany({ where })
  await tx.db.apiKey.deleteMany({ where })
  await tx.db.domain.deleteMany({ where })
}

/** What the request cannot do is done by workers, which find it in any case. */
async function goOn(ctx: Ctx, projectId: string): Promise<void> {
  const deadline = performance.now() + REQUEST_MS
  const own = forProject(ctx, projectId)
  ctx.services.rememberedNames.forgetProject(projectId)
  const left = await advanceWipe(own, () => performance.now() < deadline).catch((error: unknown) => {
    if (!isDatabaseUnavailable(error)) ctx.log.error({ err: error, projectId }, 'a project was not emptied')
    return true
  })
  if (left) own.requestWork(wipeWork, PRIORITIES.maintenance)
}
