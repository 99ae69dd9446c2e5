import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, forProject } from '../../ctx.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { notFound } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'
import { setSubscription } from './subscription.sql.ts'

/** What changed a subscription; it stands in the event's data. */
export type SubscriptionSource = 'link' | 'api'

export type SubscriptionOwner = { projectId: string; contactId: string }

export async function isSubscribed(ctx: Ctx, owner: SubscriptionOwner): Promise<boolean> {
  const { projectId, contactId } = owner
  const contact = await ctx.db.contact.findUnique({
    where: { projectId_id: { projectId, id: contactId } },
    select: { subscribed: true, email: true },
  })
  if (!contact || contact.email.startsWith(ERASED)) throw notFound('The contact')
  return contact.subscribed
}

/** Sets the state and records the event of the change, in one commit; no event when nothing changes. */
export async function changeSubscription(
  ctx: Ctx,
  { projectId, contactId }: SubscriptionOwner,
  subscribed: boolean,
  source: SubscriptionSource,
): Promise<void> {
  const now = ctx.now()
  const values = [projectId, contactId, subscribed, newId(now), source, now]
  const [contact] = await ctx.sql(setSubscription, values)
  if (!contact?.known) throw notFound('The contact')
  wakeFollowers(forProject(ctx, projectId), [contact])
}
