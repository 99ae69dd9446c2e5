import { type Ctx, projectIdOf } from '../../ctx.ts'
import { notFound } from '../../errors.ts'
import type { CampaignStatus } from '../../generated/prisma/enums.ts'
import { isId } from '../../lib/ids.ts'

export type TemplateUsage = {
  campaigns: { id: string; name: string; status: CampaignStatus }[]
  workflowSteps: { id: string; name: string; workflowId: string }[]
  /** Messages that were handed over to the mail provider. */
  emailsSent: number
}

/** The workflow steps that use a template. Campaigns hold a copy of what they send, so none refers to it. */
export async function templateUsage(ctx: Ctx, id: string): Promise<TemplateUsage> {
  const projectId = projectIdOf(ctx)
  if (!isId(id)) throw notFound('The template')
  const steps = { select: { id: true, name: true, workflowId: true }, orderBy: { id: 'asc' } } as const
  const [template, emailsSent] = await Promise.all([
    ctx.db.template.findUnique({
      where: { projectId_id: { projectId, id } },
      select: { workflowSteps: steps },
    }),
    ctx.db.email.count({ where: { projectId, templateId: id, sentAt: { not: null } } }),
  ])
  if (!template) throw notFound('The template', 'TEMPLATE_NOT_FOUND')
  return { campaigns: [], workflowSteps: template.workflowSteps, emailsSent }
}
