import { z } from 'zod'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { ContactJob as ContactJobRow } from '../../generated/prisma/client.ts'
import { jsonObject, optional } from '../../lib/fields.ts'
import { earliestId, isId, newId } from '../../lib/ids.ts'
import { isJsonObject } from '../../lib/json.ts'
import { type Outcome, readBulkResult, withOutcome } from './bulk.rules.ts'
import { matchingIds, subscribeMany } from './bulk.sql.ts'
import { filterCondition } from './contact-filter.ts'
import { advance, type BulkType, type ContactJob, createJob } from './contact-jobs.ts'
import { countContacts } from './contact-list.ts'
import { eraseContacts } from './erase-contacts.ts'

const MAX_IDS = 1_000
/** Of a filter's exclusions. */
const MAX_EXCLUDED = 10_000
const MAX_ID_LENGTH = 64
const contactId = z.string().max(MAX_ID_LENGTH)

export const bulkContactsInput = z
  .object({
    contactIds: optional(z.array(contactId).min(1).max(MAX_IDS)).describe(`1 to ${MAX_IDS} ids.`),
    filter: optional(jsonObject).describe(
      'Instead of ids: a filter tree. It is evaluated when the job runs, for contacts that were there when it was asked for.',
    ),
    excludeIds: optional(z.array(contactId).max(MAX_EXCLUDED)).describe('Contacts that `filter` leaves out.'),
  })
  .refine(({ contactIds, filter }) => (contactIds === undefined) !== (filter === undefined), {
    error: 'must be given, or a filter, and not both',
    path: ['contactIds'],
    params: { code: 'custom' },
  })
  .meta({
    description: 'Which contacts to change.',
    examples: [{ contactIds: ['0197a3c2-5e00-7000-8000-4d61696c7772'] }],
  })

/** Queues a change of many contacts. Returns the id of the job. */
export async function startBulk(
  ctx: Ctx,
  type: BulkType,
  { contactIds, filter, excludeIds = [] }: z.output<typeof bulkContactsInput>,
): Promise<string> {
  if (contactIds) {
    const ids = [...new Set(contactIds.map((id) => id.toLowerCase()))]
    return createJob(ctx, { type, request: { contactIds: ids }, total: ids.length })
  }
  // A bad filter is told now, not by the job.
  const condition = await filterCondition(ctx, filter, 'filter')
  const total = await countContacts(ctx, [condition])
  return createJob(ctx, { type, request: { filter: filter ?? {}, excludeIds }, total })
}

/** Contacts of one commit. Deleting one takes its mail and events along, which may be many. */
const CHUNK = 500
const DELETED_CHUNK = 50

const chunkOf = ({ type }: ContactJob): number => (type === 'DELETE' ? DELETED_CHUNK : CHUNK)

/** How far the job is, in memory; its row has the same after every commit. */
type Run = { job: ContactJob; position: number; lastContact: string | null }

/** Changes what is left of the contacts, a commit per chunk. */
export async function runBulk(ctx: Ctx, job: ContactJob): Promise<void> {
  const run: Run = { job, position: job.position, lastContact: job.lastContact }
  const { contactIds, filter } = readRequest(job.request)
  if (filter) await runFilter(ctx, run, filter)
  else await runIds(ctx, run, contactIds)
}

async function runIds(ctx: Ctx, run: Run, ids: string[]): Promise<void> {
  while (run.position < ids.length) {
    const chunk = ids.slice(run.position, run.position + chunkOf(run.job))
    await commitChunk(ctx, run, chunk, () => ids.length, { count: chunk.length, last: null })
  }
}

/** Goes on by id, so that no contact is met twice although the change may decide whether the filter matches. */
async function runFilter(ctx: Ctx, run: Run, { tree, excluded }: BulkFilter): Promise<void> {
  const end = earliestId(new Date(run.job.createdAt.getTime() + 1))
  for (;;) {
    const condition = await filterCondition(ctx, tree, 'filter')
    const range = { after: run.lastContact, last: end, limit: chunkOf(run.job) }
    const { statement, values } = matchingIds(projectIdOf(ctx), condition, range)
    const found = (await ctx.sql(statement, values)).map(({ id }) => id)
    const last = found.at(-1)
    if (last === undefined) return
    const ids = found.filter((id) => !excluded.has(id))
    await commitChunk(ctx, run, ids, (before) => before + ids.length, { count: found.length, last })
  }
}

type BulkFilter = { tree: unknown; excluded: Set<string> }

function readRequest(request: ContactJobRow['request']): { contactIds: string[]; filter: BulkFilter | null } {
  const { contactIds, filter, excludeIds } = z
    .object({
      contactIds: z.array(z.string()).default([]),
      filter: z.unknown().optional(),
      excludeIds: z.array(z.string()).default([]),
    })
    .parse(request)
  const excluded = new Set(excludeIds.map((id) => id.toLowerCase()))
  return { contactIds, filter: isJsonObject(filter) ? { tree: filter, excluded } : null }
}

/** `count` contacts are done then, the last of them `last`; `requested` is what the job was asked for so far. */
async function commitChunk(
  ctx: Ctx,
  run: Run,
  ids: string[],
  requested: (before: number) => number,
  { count, last }: { count: number; last: string | null },
): Promise<void> {
  const position = run.position + count
  await advance(ctx, run.job, run.position, async (tx, stored) => {
    const before = readBulkResult(stored)
    const result = withOutcome(before, ids, await change(tx, run.job.type, ids))
    const totalRequested = requested(before.totalRequested)
    return { position, result: { ...result, totalRequested }, lastContact: last }
  })
  Object.assign(run, { position, lastContact: last })
}

async function change(tx: Ctx, type: ContactJob['type'], given: string[]): Promise<Outcome> {
  const ids = given.filter(isId)
  if (type === 'DELETE') {
    const deleted = await eraseContacts(tx, ids)
    return { known: new Set(deleted), changed: deleted.length }
  }
  const now = tx.now()
  const eventIds = ids.map(() => newId(now))
  const rows = await tx.sql(subscribeMany, [projectIdOf(tx), ids, eventIds, type === 'SUBSCRIBE', now])
  return { known: new Set(rows.map(({ id }) => id)), changed: rows.filter(({ changed }) => changed).length }
}
