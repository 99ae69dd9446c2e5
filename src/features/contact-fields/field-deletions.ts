import { wakeFollowers } from '../../changes/followers.ts'
import { isUsed, lockInterests, usageOf } from '../../changes/interests.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { isTimeOut, limitTime } from '../../db/sql.ts'
import { conflict } from '../../errors.ts'
import { soon } from '../../lib/async/soon.ts'
import { earliestId } from '../../lib/ids.ts'
import type { SliceResult } from '../../queue/define-work.ts'
import { workKind } from '../../queue/job-queue.ts'
import { dropFieldName } from '../contacts/field-names.ts'
import { removeField } from './custom-fields.sql.ts'
import { isStandard, readKey } from './custom-fields.ts'
import {
  advanceDeletion,
  askForDeletion,
  deletionResult,
  endDeletion,
  holdDeletion,
} from './field-deletions.sql.ts'

/** The project has a custom field to delete. */
export const fieldDeletionWork = workKind('contacts.delete-fields')

export type DeletedField = { deletedFrom: number | null; status: 'running' | null }

/**
 * Deletes the field from all existing contacts, in the background; waits for it, but not for long: the same
 * request again waits for the rest. Throws CONFLICT while something refers to the field, and for a standard
 * one.
 */
export async function deleteField(ctx: Ctx, field: string): Promise<DeletedField> {
  if (isStandard(field)) throw conflict('A standard field of contacts cannot be deleted.')
  const [projectId, key] = [projectIdOf(ctx), readKey(field)]
  await ctx.atomically(async (tx) => {
    await lockInterests(tx)
    if (isUsed(await usageOf(tx, 'DATA', key))) {
      throw conflict('The field is used; GET /contacts/fields/:field/usage says where.')
    }
    await tx.sql(askForDeletion, { projectId, name: key, now: tx.now() })
    tx.requestWork(fieldDeletionWork)
  })
  const deletedFrom = await soon(async () => {
    const [result] = await ctx.sql(deletionResult, { projectId, name: key })
    return result?.deletedFrom ?? null
  })
  return { deletedFrom, status: deletedFrom === null ? 'running' : null }
}

/** Contacts looked at per statement: few enough that other statements hardly wait for the locks. */
const BATCH = 2_000
const STEP_TIMEOUT_MS = 5_000

/** Goes on with the project's deletions of fields, a commit per range of ids, as long as there is time. */
export async function deleteFields(ctx: Ctx, hasTime: () => boolean): Promise<SliceResult> {
  let size = BATCH
  do {
    try {
      if (!(await deleteFromSome(ctx, size))) return 'done'
    } catch (error) {
      if (!isTimeOut(error) || size === 1) throw error
      size = Math.ceil(size / 8)
    }
  } while (hasTime())
  return 'more'
}

/** False when nothing is left. */
async function deleteFromSome(ctx: Ctx, size: number): Promise<boolean> {
  const projectId = projectIdOf(ctx)
  return ctx.atomically(async (tx) => {
    await tx.sql(limitTime, { milliseconds: String(STEP_TIMEOUT_MS) })
    const [held] = await tx.sql(holdDeletion, { projectId })
    if (!held) return false
    const { name, upTo } = held
    const after = held.after ?? earliestId(new Date(0))
    const [done] = await tx.sql(removeField, { projectId, name, after, upTo, limit: size, now: tx.now() })
    if (done) {
      wakeFollowers(tx, [done])
      await tx.sql(advanceDeletion, { projectId, name, reached: done.last, changed: done.changed })
    } else {
      await dropFieldName(tx, name)
      await tx.sql(endDeletion, { projectId, name, now: tx.now() })
    }
    return true
  })
}
