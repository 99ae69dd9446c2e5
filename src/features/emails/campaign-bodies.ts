import { type Ctx, projectIdOf } from '../../ctx.ts'
import { earliestId } from '../../lib/ids.ts'
import { campaignSources, contentKey } from './campaign-sources.ts'
import { compose } from './compose.ts'
import { campaignMail } from './emails.sql.ts'

const DAY_MS = 86_400_000

/** The id before which the content of messages has expired. */
export const firstKeptId = (ctx: Ctx): string =>
  earliestId(new Date(ctx.now().getTime() - ctx.config.emailBodyRetentionDays * DAY_MS))

/**
 * The bodies of messages of campaigns, rendered again from the campaign and the values that were kept of the contact. Tracking,
 * the footer's language and own text and whether the contact is subscribed are those of the present. A message that was not sent, or whose retention has ended, or whose campaign was deleted, has none.
 */
export async function campaignBodies(ctx: Ctx, ids: string[]): Promise<Map<string, string>> {
  const projectId = projectIdOf(ctx)
  const mail = await ctx.sql(campaignMail, { projectId, ids, firstKept: firstKeptId(ctx) })
  if (mail.length === 0) return new Map()
  const sources = await campaignSources(ctx.sql, projectId, mail)
  const bodies = new Map<string, string>()
  for (const { id, contactId, toEmail, subscribed, variables, ...content } of mail) {
    const source = sources.get(contentKey(content))
    if (!source) continue
    const data = variables ?? {}
    const contact = { projectId, contactId, emailId: id, email: toEmail, subscribed, data }
    const { html } = await compose(ctx, source, contact, { tracking: source.tracking })
    bodies.set(id, html)
  }
  return bodies
}
