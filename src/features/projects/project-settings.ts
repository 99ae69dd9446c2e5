import { projectOf } from '../../admission/access.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { Tracking } from '../../generated/prisma/enums.ts'
import { given } from '../../lib/given.ts'
import type { Language } from '../../lib/text/languages.ts'
import { recordChange } from '../audit/audit-log.ts'
import { unknownProject } from './projects.ts'

export type ProjectSettings = {
  name?: string | undefined
  language?: Language | undefined
  tracking?: Tracking | undefined
  /** Messages a second; null: the service's setting; 0: no limit. */
  sendRatePerSecond?: number | null | undefined
  /** What footers of marketing mail say besides; null: nothing. */
  footerText?: string | null | undefined
}

/** Changes what is given of a project's settings. Throws RESOURCE_NOT_FOUND. */
export function changeSettings(ctx: Ctx, projectId: string, settings: ProjectSettings): Promise<void> {
  return ctx.atomically(async (tx) => {
    const { count } = await tx.db.project.updateMany({
      where: { id: projectId },
      data: { ...given(settings), updatedAt: tx.now() },
    })
    if (count === 0) throw unknownProject(projectId)
    await recordChange(tx, projectId, { action: 'project.update', changes: settings })
  })
}

/** How a project speaks to its contacts: the language (BCP 47) and its own words in footers. */
export type Voice = { language: string; footerText: string | null }

/** Of the caller's project. */
export async function projectVoice(ctx: Ctx): Promise<Voice> {
  const known = projectOf(ctx.actor)
  if (known) return { language: known.language, footerText: known.footerText }
  const project = await ctx.db.project.findUnique({
    where: { id: projectIdOf(ctx) },
    select: { language: true, footerText: true },
  })
  return project ?? { language: 'en', footerText: null }
}
