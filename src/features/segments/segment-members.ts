import type { z } from 'zod'
import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { badRequest } from '../../errors.ts'
import type { Contact, Segment } from '../../generated/prisma/client.ts'
import { normalizeEmail } from '../../messages/email-address.rules.ts'
import { type OffsetPage, type PageRequest, readOffsetPage } from '../../paging/offset-page.ts'
import { audienceCondition } from '../contacts/contact-filter.ts'
import { contactRange, countExactly } from '../contacts/contact-list.ts'
import { ensureContacts } from '../contacts/contacts.ts'
import { audienceOf, move } from '../memberships/membership.ts'
import { getSegment, lockedSegment } from './find-segment.ts'
import type { addMembersInput, removeMembersInput } from './segment-members.input.ts'
import { contactsByEmail } from './segments.sql.ts'

export type AddedMembers = { added: number; created: number; notFound: string[] }
export type RemovedMembers = { removed: number; notFound: string[] }

async function lockedList(tx: Ctx, id: string): Promise<Segment> {
  const segment = await lockedSegment(tx, id)
  if (segment.type === 'STATIC') return segment
  throw badRequest('The members of a DYNAMIC segment follow from its condition.')
}

async function moveOnList(tx: Ctx, segment: Segment, contactIds: string[], enters: boolean) {
  const moves = contactIds.map((contactId) => ({ contactId, enters, segmentId: segment.id }))
  const how = { now: tx.now(), records: segment.trackMembership, isList: true }
  const moved = await move(tx, moves, how)
  wakeFollowers(tx, [moved])
  return moved
}

/** Puts contacts on the list of a STATIC segment, in one commit. */
export async function addSegmentMembers(
  ctx: Ctx,
  id: string,
  { emails: given, createMissing = false, subscribed = true }: z.output<typeof addMembersInput>,
): Promise<AddedMembers> {
  const addresses = [...new Set(given)]
  return ctx.atomically(async (tx) => {
    const segment = await lockedList(tx, id)
    const found = () => tx.sql(contactsByEmail, { projectId: projectIdOf(tx), emails: addresses })
    const missing = missingFrom(addresses, await found())
    const made = createMissing ? await ensureContacts(tx, missing, subscribed) : []
    // Read again, because a concurrent request may have created some of them at this moment.
    const known = await found()
    const ids = known.map((contact) => contact.id)
    const { entered } = await moveOnList(tx, segment, ids, true)
    const created = made.filter(({ outcome }) => outcome === 'created').length
    return { added: entered, created, notFound: missingFrom(addresses, known) }
  })
}

/** Takes contacts off the list of a STATIC segment, in one commit. */
export async function removeSegmentMembers(
  ctx: Ctx,
  id: string,
  { emails: given }: z.output<typeof removeMembersInput>,
): Promise<RemovedMembers> {
  const addresses = [...new Set(given)]
  return ctx.atomically(async (tx) => {
    const segment = await lockedList(tx, id)
    const known = await tx.sql(contactsByEmail, { projectId: projectIdOf(tx), emails: addresses })
    const ids = known.map((contact) => contact.id)
    const { departed } = await moveOnList(tx, segment, ids, false)
    return { removed: departed, notFound: missingFrom(addresses, known) }
  })
}

const missingFrom = (addresses: string[], known: { email: string }[]): string[] => {
  const found = new Set(known.map((contact) => normalizeEmail(contact.email)))
  return addresses.filter((address) => !found.has(address))
}

/**
 * The present members, the newest contacts first; those of a DYNAMIC segment are the contacts that fulfil its
 * condition.
 */
export async function listSegmentMembers(
  ctx: Ctx,
  id: string,
  request: PageRequest,
): Promise<OffsetPage<Contact>> {
  const segment = await getSegment(ctx, id)
  const condition =
    segment.type === 'DYNAMIC' ? audienceCondition(ctx, await audienceOf(ctx, segment)) : onList(segment)
  return readOffsetPage(request, {
    find: (range) => contactRange(ctx, [condition], range),
    count: () => countExactly(ctx, [condition]),
  })
}

const onList = ({ id }: Segment) => ({
  text: `exists (select from segment_members m
    where m.project_id = c.project_id and m.segment_id = :segmentId::uuid and m.contact_id = c.id)`,
  params: { segmentId: id },
})
