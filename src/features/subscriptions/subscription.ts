import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, forProject } from '../../ctx.ts'
import { AppError } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'
import { chosenLanguage, type Language } from '../../lib/text/languages.ts'
import { type LinkedContact, readLinkedContact, setSubscription } from './subscription.sql.ts'
import { isLinkOf, type Link, readLink } from './subscription-links.ts'
import { SUBSCRIPTION_TEXTS } from './subscription-texts.ts'

export type Subscription = {
  email: string
  subscribed: boolean
  /** When the state last changed; null when it never did. */
  since: Date | null
  /**
   * The name is the one of the mail with the link, else the project's; the address is null when the mail is not
   * known.
   */
  sender: { name: string; address: string | null }
  /** The language of the pages for this contact. */
  language: Language
}

/**
 * Counts a look at a link that nobody has verified yet; it may throw. What it returns is called when the link turns
 * out to be one.
 */
export type OnGuess = () => () => void

/**
 * Returns who writes to whom behind a link in a mail. Throws when the link does not belong to the contact's address.
 */
export async function subscriptionOfLink(ctx: Ctx, token: string, onGuess: OnGuess): Promise<Subscription> {
  const { contact } = await openLink(ctx, token, onGuess)
  return subscriptionOf(contact)
}

/**
 * Sets the state that a link asks for and records the event of the change, in one commit; no event when nothing
 * changes. An unsubscription counts for the campaign of the mail with the link. Throws when the link does not belong
 * to the contact's address.
 */
export async function followLink(
  ctx: Ctx,
  token: string,
  subscribed: boolean,
  onGuess: OnGuess,
): Promise<Subscription> {
  const { link, contact } = await openLink(ctx, token, onGuess)
  const { projectId, contactId, emailId } = link
  const now = ctx.now()
  const [result] = await ctx.sql(setSubscription, {
    projectId,
    contactId,
    emailId,
    subscribed,
    eventId: newId(now),
    tallyId: newId(now),
    now,
    email: contact.email,
  })
  if (!result?.known) throw deadLink()
  wakeFollowers(forProject(ctx, projectId), [result])
  return subscriptionOf({ ...contact, subscribed, since: result.changed ? now : contact.since })
}

const subscriptionOf = (contact: LinkedContact): Subscription => ({
  email: contact.email,
  subscribed: contact.subscribed,
  since: contact.since,
  sender: { name: contact.fromName || contact.projectName, address: contact.fromEmail },
  language: chosenLanguage(contact.locale, contact.language),
})

const deadLink = () => {
  const { heading, advice } = SUBSCRIPTION_TEXTS.en.deadLink
  return new AppError('RESOURCE_NOT_FOUND', heading, { suggestion: advice })
}

async function openLink(
  ctx: Ctx,
  token: string,
  onGuess: OnGuess,
): Promise<{ link: Link; contact: LinkedContact }> {
  const link = readLink(token)
  if (!link) throw deadLink()
  const wasNoGuess = onGuess()
  const [contact] = await ctx.sql(readLinkedContact, link)
  if (!contact || !isLinkOf(ctx.config, link, contact)) throw deadLink()
  wasNoGuess()
  return { link, contact }
}
