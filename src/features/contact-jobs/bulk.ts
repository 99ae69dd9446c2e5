import { z } from 'zod'
import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { limitTime } from '../../db/sql.ts'
import type { ContactJob as ContactJobRow } from '../../generated/prisma/client.ts'
import { isId, newId } from '../../lib/ids.ts'
import { isJsonObject } from '../../lib/json.ts'
import { filterCondition } from '../contacts/contact-filter.ts'
import { countContacts } from '../contacts/contact-list.ts'
import { newestContactId } from '../contacts/contacts.ts'
import { eraseContacts } from '../contacts/erase-contacts.ts'
import { type Outcome, readBulkResult, withOutcome } from './bulk.rules.ts'
import { matchingIds, pageOfIds, subscribeMany } from './bulk.sql.ts'
import type { bulkContactsInput } from './contact-jobs.input.ts'
import { type BulkType, type ContactJob, createJob } from './contact-jobs.ts'
import { advance, type JobRunner } from './work-on-jobs.ts'

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
  await filterCondition(ctx, filter, 'filter')
  // The job finds the contacts that match the filter, by looking at all contacts.
  const total = await countContacts(ctx)
  return createJob(ctx, {
    type,
    request: { filter: filter ?? {}, excludeIds },
    total,
    upTo: await newestContactId(ctx),
  })
}

/** Contacts of one commit. Deleting one takes its mail and events along, which may be many. */
const DELETED_CHUNK = 50

const chunkOf = ({ type, stepSize }: ContactJob): number =>
  type === 'DELETE' ? Math.min(DELETED_CHUNK, stepSize) : stepSize

/** How far the job is, in memory; its row has the same after every commit. */
type Run = { job: ContactJob; position: number; lastContact: string | null; hasTime: () => boolean }

/** Changes the rest of the contacts, a commit per chunk, as long as there is time. */
export const runBulk: JobRunner = async (ctx, job, hasTime) => {
  const run: Run = { job, position: job.position, lastContact: job.lastContact, hasTime }
  const { contactIds, filter } = readRequest(job.request)
  return filter ? runFilter(ctx, run, filter) : runIds(ctx, run, contactIds)
}

async function runIds(ctx: Ctx, run: Run, ids: string[]): Promise<'done' | 'more'> {
  while (run.position < ids.length) {
    const chunk = ids.slice(run.position, run.position + chunkOf(run.job))
    await commitChunk(ctx, run, chunk, () => ids.length, { looked: chunk.length, last: null })
    if (!run.hasTime()) return 'more'
  }
  return 'done'
}

/** A statement of the filter looks at this many times the contacts that one commit changes. */
const LOOKED_AT = 10
const SCAN_TIMEOUT_MS = 2_000

/**
 * Goes on by id, so that no contact is changed twice although the change may decide whether the filter
 * matches. A statement looks at a range of ids only: a filter that hardly any contact matches takes no longer
 * than others.
 */
async function runFilter(ctx: Ctx, run: Run, { tree, excluded }: BulkFilter): Promise<'done' | 'more'> {
  const projectId = projectIdOf(ctx)
  const condition = await filterCondition(ctx, tree, 'filter')
  for (;;) {
    const size = run.job.stepSize * LOOKED_AT
    const { lastContact: after, job } = run
    const page = await idsInTime(ctx, (tx) =>
      tx.sql(pageOfIds, { projectId, after, upTo: job.upTo, limit: size }),
    )
    const [first, last] = [page[0], page.at(-1)]
    if (first === undefined || last === undefined) return 'done'
    const limit = chunkOf(run.job)
    const found = await idsInTime(ctx, (tx) =>
      tx.sql(matchingIds(condition), { projectId, first, last, limit, ...condition.params }),
    )
    const reached = found.length === limit ? (found.at(-1) ?? last) : last
    const ids = found.filter((id) => !excluded.has(id))
    const looked = { looked: page.indexOf(reached) + 1, last: reached }
    await commitChunk(ctx, run, ids, (before) => before + ids.length, looked)
    if (!run.hasTime()) return 'more'
  }
}

/** The ids that a statement finds within the time of a scan. */
const idsInTime = (ctx: Ctx, find: (tx: Ctx) => Promise<{ id: string }[]>): Promise<string[]> =>
  ctx.atomically(async (tx) => {
    await tx.sql(limitTime, { milliseconds: String(SCAN_TIMEOUT_MS) })
    return (await find(tx)).map(({ id }) => id)
  })

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

/**
 * Commits the change of `ids`, the matches of `looked` contacts, the last of them `last`; `requested` returns
 * the number of requested contacts so far.
 */
async function commitChunk(
  ctx: Ctx,
  run: Run,
  ids: string[],
  requested: (before: number) => number,
  { looked, last }: { looked: number; last: string | null },
): Promise<void> {
  const position = run.position + looked
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
  const rows = await tx.sql(subscribeMany, {
    projectId: projectIdOf(tx),
    ids,
    eventIds,
    subscribed: type === 'SUBSCRIBE',
    now,
  })
  wakeFollowers(tx, rows)
  return { known: new Set(rows.map(({ id }) => id)), changed: rows.filter(({ changed }) => changed).length }
}
