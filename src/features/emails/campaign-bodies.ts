import { type Ctx, projectIdOf } from '../../ctx.ts'
import { earliestId } from '../../lib/ids.ts'
import { compose } from './compose.ts'
import { campaignMail, campaignSources } from './emails.sql.ts'

const DAY_MS = 86_400_000

/** The id before which the content of messages has expired. */
export const firstKeptId = (ctx: Ctx): string =>
  earliestId(new Date(ctx.now().getTime() - ctx.config.emailBodyRetentionDays * DAY_MS))

/**
 * The bodies of messages of campaigns, rendered again from the campaign and the values that were kept of the contact. A
 * message that was not sent, or whose retention has ended, or whose campaign was deleted, has none.
 */
export async function campaignBodies(ctx: Ctx, ids: string[]): Promise<Map<string, string>> {
  const projectId = projectIdOf(ctx)
  const mail = await ctx.sql(campaignMail, { projectId, ids, firstKept: firstKeptId(ctx) })
  if (mail.length === 0) return new Map()
  const campaignIds = [...new Set(mail.map(({ campaignId }) => campaignId))]
  const sources = await ctx.sql(campaignSources, { projectId, ids: campaignIds })
  const sourceOf = new Map(sources.map(({ id, ...source }) => [id, source]))
  const bodies = new Map<string, string>()
  for (const { id, campaignId, contactId, toEmail, subscribed, variables } of mail) {
    const source = sourceOf.get(campaignId)
    if (!source) continue
    const { from: email, fromName, ...content } = source
    const { html } = await compose(
      ctx,
      { ...content, from: { email, name: fromName ?? undefined } },
      { projectId, contactId, emailId: id, email: toEmail, subscribed, data: variables ?? {} },
    )
    bodies.set(id, html)
  }
  return bodies
}
