import { type Ctx, projectIdOf } from '../../ctx.ts'
import { listContacts } from '../contacts/contact-list.ts'
import { keepsMail } from '../domains/sender.ts'
import { setupFacts } from './own-projects.sql.ts'

export type SetupState = {
  hasVerifiedDomain: boolean
  contactCount: number
  hasSentEmail: boolean
  hasEnabledWorkflow: boolean
  lastCampaignSentAt: Date | null
}

/** How far the caller's project is set up, for a dashboard that guides newcomers. */
export async function setupState(ctx: Ctx): Promise<SetupState> {
  const params = { projectId: projectIdOf(ctx), keepsMail: keepsMail(ctx.config) }
  const [facts] = await ctx.sql(setupFacts, params)
  if (!facts) throw new Error('setup-facts returned no row')
  const { countTotal } = await listContacts(ctx, { limit: 1 })
  return { ...facts, contactCount: await countTotal() }
}
