import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, forProject } from '../../ctx.ts'
import { notFound } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'
import { type LinkedContact, readLinkedContact, setSubscription } from './subscription.sql.ts'
import { isLinkOf, type Link, readLink } from './subscription-links.ts'

/** Whether the contact of a link in a mail is subscribed. Throws when the link is not one of the contact's address. */
export async function subscriptionOfLink(ctx: Ctx, token: string): Promise<boolean> {
  const { contact } = await openLink(ctx, token)
  return contact.subscribed
}

/**
 * Sets the state that a link asks for and records the event of the change, in one commit; no event when nothing changes.
 * Throws when the link is not one of the contact's address.
 */
export async function followLink(ctx: Ctx, token: string, subscribed: boolean): Promise<void> {
  const { link, contact } = await openLink(ctx, token)
  const { projectId, contactId } = link
  const now = ctx.now()
  const [changed] = await ctx.sql(setSubscription, {
    projectId,
    contactId,
    subscribed,
    eventId: newId(now),
    source: 'link',
    now,
    email: contact.email,
  })
  if (!changed?.known) throw notFound('The contact')
  wakeFollowers(forProject(ctx, projectId), [changed])
}

async function openLink(ctx: Ctx, token: string): Promise<{ link: Link; contact: LinkedContact }> {
  const link = readLink(token)
  if (!link) throw notFound('The link')
  const [contact] = await ctx.sql(readLinkedContact, link)
  if (!contact || !isLinkOf(ctx.config, link, contact)) throw notFound('The link')
  return { link, contact }
}
