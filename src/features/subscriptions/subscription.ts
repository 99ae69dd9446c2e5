import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, forProject } from '../../ctx.ts'
import { AppError } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'
import { type LinkedContact, readLinkedContact, setSubscription } from './subscription.sql.ts'
import { isLinkOf, type Link, readLink } from './subscription-links.ts'

export type Subscription = {
  email: string
  subscribed: boolean
  /** By the name that the mail with the link had, or that of the project; the address when the mail is known. */
  sender: { name: string; address: string | null }
}

/** Who writes to whom behind a link in a mail. Throws when the link is not one of the contact's address. */
export async function subscriptionOfLink(ctx: Ctx, token: string): Promise<Subscription> {
  const { contact } = await openLink(ctx, token)
  return subscriptionOf(contact, contact.subscribed)
}

/**
 * Sets the state that a link asks for and records the event of the change, in one commit; no event when nothing changes.
 * Throws when the link is not one of the contact's address.
 */
export async function followLink(ctx: Ctx, token: string, subscribed: boolean): Promise<Subscription> {
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
  if (!changed?.known) throw deadLink()
  wakeFollowers(forProject(ctx, projectId), [changed])
  return subscriptionOf(contact, subscribed)
}

const subscriptionOf = (
  { email, projectName, fromName, fromEmail }: LinkedContact,
  subscribed: boolean,
): Subscription => ({ email, subscribed, sender: { name: fromName || projectName, address: fromEmail } })

const deadLink = () =>
  new AppError('RESOURCE_NOT_FOUND', 'This link does not work.', {
    suggestion:
      'A part of it may be missing, or the address that the email went to is not known here any more. Open the link from the email again, or copy the whole of it. If that does not help, answer the email and ask its sender.',
  })

async function openLink(ctx: Ctx, token: string): Promise<{ link: Link; contact: LinkedContact }> {
  const link = readLink(token)
  if (!link) throw deadLink()
  const [contact] = await ctx.sql(readLinkedContact, link)
  if (!contact || !isLinkOf(ctx.config, link, contact)) throw deadLink()
  return { link, contact }
}
