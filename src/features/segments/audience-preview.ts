import type { z } from 'zod'
import { compileTree } from '../../audience/compile.sql.ts'
import { describeTree } from '../../audience/describe.rules.ts'
import { loadAudience, loadSubject } from '../../audience/load.ts'
import { type Explanation, explainTree } from '../../audience/match.rules.ts'
import { parseTree } from '../../audience/parsing/parse.ts'
import { takeSearch } from '../../audience/take-search.ts'
import type { FilterTree } from '../../audience/tree.rules.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { notFound } from '../../errors.ts'
import type { Contact } from '../../generated/prisma/client.ts'
import { isId } from '../../lib/ids.ts'
import { audienceCondition } from '../contacts/contact-filter.ts'
import { contactRange } from '../contacts/contact-list.ts'
import { contactNotFound } from '../contacts/contacts.ts'
import { audienceOf } from '../memberships/membership.ts'
import type { previewAudienceInput } from './audience-preview.input.ts'
import { type AudienceCount, audienceCount } from './audience-preview.sql.ts'
import { getSegment, listSegments } from './find-segment.ts'

/** Contacts that are shown. */
const SAMPLE = 10

export type AudiencePreview = AudienceCount & { description: string; sample: Contact[] }

/** How many contacts an audience has, how many of them would get the mail, and some of them. */
export async function previewAudience(
  ctx: Ctx,
  { condition, segmentId, type = 'MARKETING' }: z.output<typeof previewAudienceInput>,
): Promise<AudiencePreview> {
  const tree = segmentId
    ? await memberOf(ctx, segmentId)
    : condition
      ? parseTree(condition, 'condition')
      : null
  const audience = tree && (await loadAudience(ctx, tree, segmentId ? 'segmentId' : 'condition'))
  const predicate = audience ? compileTree(audience, ctx.now()) : { text: 'true', params: {} }
  const [[count], sample] = await Promise.all([
    ctx.sql(audienceCount(predicate), { projectId: projectIdOf(ctx), type, ...predicate.params }),
    contactRange(ctx, audience ? [audienceCondition(ctx, audience)] : [], { skip: 0, take: SAMPLE }),
  ])
  if (!count) throw new Error('a count has one row')
  const names = new Map((await listSegments(ctx)).map(({ id, name }) => [id, name]))
  const description = tree ? describeTree(tree, { segmentName: (id) => names.get(id) }) : 'all contacts'
  return { ...count, sample, description }
}

async function memberOf(ctx: Ctx, segmentId: string): Promise<FilterTree> {
  const { id } = await getSegment(ctx, segmentId)
  const filter = { field: `segment.${id}`, operator: 'memberOfSegment' }
  return parseTree({ logic: 'AND', groups: [{ filters: [filter] }] }, 'segmentId')
}

export type Membership = { isMember: boolean; explanation: Explanation | null }

/**
 * Why a contact is in a segment or not: for a DYNAMIC one its tree with what came of each node, and the value
 * that decided. A STATIC one is a list, about which there is nothing to explain.
 */
export async function explainMembership(
  ctx: Ctx,
  { contactId, segmentId }: { contactId: string; segmentId: string },
): Promise<Membership> {
  const segment = await getSegment(ctx, segmentId)
  if (!isId(contactId)) throw notFound('The contact')
  const isDynamic = segment.type === 'DYNAMIC'
  const audience = isDynamic
    ? await audienceOf(ctx, segment)
    : await loadAudience(ctx, await memberOf(ctx, segmentId), 'segmentId')
  const subject = await loadSubject(ctx, contactId, audience)
  if (!subject) throw contactNotFound()
  await takeSearch(ctx, audience, subject)
  const explanation = explainTree(audience, subject, ctx.now())
  return { isMember: explanation.matches, explanation: isDynamic ? explanation : null }
}
