import type pg from 'pg'
import { DAY_MS } from '../../audience/dates.rules.ts'
import { type Ctx, forProject, projectIdOf } from '../../ctx.ts'
import {
  analyzeDaily,
  changingPartitions,
  dropPartition,
  endPartition,
  type Partition,
  partitionsOf,
  removeUnusedBounds,
} from '../../db/partitions.ts'
import { earliestId, LAST_ID } from '../../lib/ids.ts'
import { monthName, monthOf } from './months.rules.ts'
import { deleteOldEmails, deleteOldEvents, firstWaiting } from './retention.sql.ts'

/** Rows per statement: few enough that other statements hardly wait for the locks. */
const BATCH = 1_000
/** How long one run deletes rows that are in no month of their own. */
const DELETING_MS = 600_000

type Kept = { table: 'events' | 'emails'; days: number }

/**
 * Removes events and emails of whole months (UTC) whose last day is older than their retention: each month is a partition,
 * which is dropped. Months are made ahead; what is older than the first of them is deleted row by row, for ten
 * minutes a run. Mail that waits to be delivered keeps its month. Bodies have been removed before.
 */
export async function keepMonths(ctx: Ctx, projectIds: readonly string[]): Promise<void> {
  const { eventRetentionDays, emailRetentionDays } = ctx.config
  const kept: Kept[] = [
    { table: 'events', days: eventRetentionDays },
    { table: 'emails', days: emailRetentionDays },
  ]
  const deadline = performance.now() + DELETING_MS
  for (const one of kept) await keepTable(ctx, one, projectIds, deadline)
}

async function keepTable(
  ctx: Ctx,
  { table, days }: Kept,
  projectIds: readonly string[],
  deadline: number,
): Promise<void> {
  const { url } = ctx.services.database
  if (days === 0) {
    await changingPartitions(url, (client) => lookAfter(client, table))
    return
  }
  const end = earliestId(monthOf(new Date(ctx.now().getTime() - days * DAY_MS)))
  const waiting = table === 'emails' ? await firstWaitingOf(ctx, projectIds) : LAST_ID
  await changingPartitions(url, async (client) => {
    await lookAfter(client, table)
    await dropMonths(ctx, client, table, end < waiting ? end : waiting)
    await makeMonths(ctx, client, table)
  })
  for (const id of projectIds) await deleteRows(forProject(ctx, id), table, end, deadline)
}

/** What a table needs that has partitions, whether or not it has a retention. */
async function lookAfter(client: pg.Client, table: string): Promise<void> {
  await removeUnusedBounds(client, await partitionsOf(client, table))
  await analyzeDaily(client, table)
}

async function firstWaitingOf(ctx: Ctx, projectIds: readonly string[]): Promise<string> {
  let first = LAST_ID
  for (const projectId of projectIds) {
    const [waiting] = await ctx.sql(firstWaiting, { projectId })
    if (waiting && waiting.id < first) first = waiting.id
  }
  return first
}

async function dropMonths(ctx: Ctx, client: pg.Client, table: string, end: string): Promise<void> {
  for (const partition of await partitionsOf(client, table)) {
    if (partition.to === null || partition.to > end) return
    const startedAt = performance.now()
    const isDone = await attempt(ctx, table, partition, () => dropPartition(client, partition))
    const ms = Math.round(performance.now() - startedAt)
    if (isDone)
      ctx.services.log.info(
        { table, partition: partition.name, ms },
        'dropped a month at the end of its retention',
      )
  }
}

/** This month and the next one have partitions of their own; so a bound is a month ahead when it is set. */
async function makeMonths(ctx: Ctx, client: pg.Client, table: string): Promise<void> {
  const last = (await partitionsOf(client, table)).at(-1)
  const month = monthOf(ctx.now(), 2)
  const to = earliestId(month)
  if (!last || (last.from !== null && last.from >= to)) return
  const next = `${table}_from_${monthName(month)}`
  if (await attempt(ctx, table, last, () => endPartition(client, table, last, { to, next }))) {
    ctx.services.log.info({ table, partition: next }, 'made a partition')
  }
}

/** The next run tries again what fails, such as in a table that is in use all the time. */
async function attempt(
  { services }: Ctx,
  table: string,
  { name }: Partition,
  change: () => Promise<void>,
): Promise<boolean> {
  try {
    await change()
    return true
  } catch (error) {
    services.log.warn(
      { err: error, table, partition: name },
      'a partition could not be changed: it is tried again in an hour',
    )
    return false
  }
}

async function deleteRows(ctx: Ctx, table: Kept['table'], end: string, deadline: number): Promise<void> {
  const statement = table === 'events' ? deleteOldEvents : deleteOldEmails
  const batch = { projectId: projectIdOf(ctx), end, limit: BATCH }
  while (performance.now() < deadline) if ((await ctx.sql(statement, batch)).length < BATCH) return
}
