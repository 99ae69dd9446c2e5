import { setTimeout as rest } from 'node:timers/promises'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { limitTime } from '../../db/sql.ts'
import { mailFolder } from '../../mail/mail-folder.ts'
import { workKind } from '../../queue/job-queue.ts'
import { deleteImagesBefore } from '../uploads/uploads.ts'
import { tablesOf, type WipedTable } from './wiped-tables.sql.ts'
import {
  firstRowsOf,
  holdProjectAlone,
  holdWipe,
  openProject,
  removeProject,
  removeTurns,
} from './wipes.sql.ts'

/** Rows per commit, about: few enough that other statements hardly wait for the locks. */
const ROWS_PER_COMMIT = 2_000
/** Lower than every id. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000'
const STEP_TIMEOUT_MS = 10_000
const LONGEST_REST_MS = 1_000
/** Images per round; each of them is a call of the store. */
const IMAGES = 20
/** Removing what a request has left. */
export const wipeWork = workKind('projects.wipe')

/**
 * Goes on removing what the caller's project has, a commit per step as long as there is time. Returns true when something
 * may be left. However often it is interrupted, the next one goes on with what is still there.
 */
export async function advanceWipe(ctx: Ctx, hasTime: () => boolean): Promise<boolean> {
  const reached: Reached = new Map()
  while (hasTime()) {
    const began = performance.now()
    const next = await ctx.atomically((tx) => emptySome(tx, reached))
    if (next === 'nothing') return false
    if (next !== 'rows' && !(await removeRest(ctx, next))) return false
    // Nobody waits for the end, so most of the time is left to those who wait for the database.
    await rest(Math.min(2 * (performance.now() - began), LONGEST_REST_MS))
  }
  return true
}

/** The last id that is gone, by table. What it passes over wrongly, such as after a commit that failed, the last round finds. */
type Reached = Map<string, string>

/** What is to be done next: rows, nothing, or what remains of a project without rows. */
type Next = 'rows' | 'nothing' | { deletes: boolean; openedAt: Date }

/**
 * Removes one commit's part of the rows. When all tables have been gone through, a last round does it once more, while
 * nobody can write: what slices that were under way have left is found there.
 */
async function emptySome(tx: Ctx, reached: Reached): Promise<Next> {
  const projectId = projectIdOf(tx)
  await tx.sql(limitTime, { milliseconds: String(STEP_TIMEOUT_MS) })
  const [wipe] = await tx.sql(holdWipe, { projectId })
  if (!wipe) return 'nothing'
  const { deletes, openedAt } = wipe
  if (openedAt) return { deletes, openedAt }
  const tables = tablesOf(wipe)
  const isLast = wipe.step >= tables.length
  if (isLast) {
    reached.clear()
    await tx.sql(holdProjectAlone, { projectId })
  }
  const step = await emptyFrom(tx, tables, isLast ? 0 : wipe.step, reached)
  if (!isLast || step < tables.length) {
    await tx.db.projectWipe.update({ where: { projectId }, data: { step } })
    return 'rows'
  }
  await tx.sql(removeTurns, { projectId, own: wipeWork.name })
  const now = tx.now()
  await tx.sql(openProject, { projectId, now })
  return { deletes, openedAt: now }
}

/** Empties tables in their order up to the rows of a commit. Returns where to go on. */
async function emptyFrom(
  tx: Ctx,
  tables: readonly WipedTable[],
  first: number,
  reached: Reached,
): Promise<number> {
  let step = first
  for (let gone = 0; step < tables.length && gone < ROWS_PER_COMMIT; ) {
    const { table, rows } = tables[step] ?? { table: '', rows: 0 }
    const after = reached.get(table) ?? FIRST_ID
    const removed = await tx.sql(firstRowsOf(table), { projectId: projectIdOf(tx), after })
    reached.set(
      table,
      removed.reduce((last, { id }) => (id > last ? id : last), after),
    )
    if (table === 'emails') await removeFromMailbox(tx, removed)
    gone += removed.length
    if (removed.length < rows) step += 1
  }
  return step
}

/** The files of the development mailbox go before the rows that name them. */
async function removeFromMailbox({ config }: Ctx, emails: { id: string }[]): Promise<void> {
  if (config.mail.provider !== 'mailbox' || emails.length === 0) return
  await mailFolder(config.mail.directory).remove(new Set(emails.map(({ id }) => id)))
}

/** Removes images from before the project was opened, then the project itself or the note. False when all is done. */
async function removeRest(ctx: Ctx, { deletes, openedAt }: Exclude<Next, string>): Promise<boolean> {
  if ((await deleteImagesBefore(ctx, openedAt, IMAGES)) === IMAGES) return true
  const projectId = projectIdOf(ctx)
  if (deletes) await ctx.sql(removeProject, { projectId })
  else await ctx.db.projectWipe.deleteMany({ where: { projectId, openedAt } })
  return false
}
