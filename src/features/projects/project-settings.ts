import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { Tracking } from '../../generated/prisma/enums.ts'
import type { Language } from '../../lib/text/languages.ts'
import { unknownProject } from './projects.ts'

export type ProjectSettings = { language?: Language; tracking?: Tracking }

/** Changes what is given of a project's settings. Throws RESOURCE_NOT_FOUND. */
export async function changeSettings(ctx: Ctx, projectId: string, settings: ProjectSettings): Promise<void> {
  const { count } = await ctx.db.project.updateMany({
    where: { id: projectId },
    data: { ...settings, updatedAt: ctx.now() },
  })
  if (count === 0) throw unknownProject(projectId)
}

/** BCP 47 tag of the language in which the caller's project speaks to its contacts. */
export async function projectLanguage(ctx: Ctx): Promise<string> {
  if (ctx.actor.kind === 'key') return ctx.actor.project.language
  const project = await ctx.db.project.findUnique({
    where: { id: projectIdOf(ctx) },
    select: { language: true },
  })
  return project?.language ?? 'en'
}
