import { quotaReached } from '../../admission/quotas.ts'
import { forgetName, recordNames, unsureNames } from '../../admission/recorded-names.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { fieldError } from '../../errors.ts'
import type { JsonObject } from '../../lib/json.ts'
import { MAX_DATA_BYTES, typeOf } from './contact-data.rules.ts'
import { forgetFieldName } from './field-names.sql.ts'

/** Longer ones could not be kept on record. */
const MAX_FIELD_NAME = 255
/** Fields that an error names. */
const MAX_TOLD = 20

export const dataTooLarge = () =>
  fieldError(
    'data',
    'too_big',
    `must not take more than ${MAX_DATA_BYTES} bytes, together with what the contact has`,
  )

/**
 * Records the names of fields that are about to be set: each counts against the quota, and the list of fields
 * shows even those that hardly any contact has. It is almost always free, see `recordNames`. Throws
 * VALIDATION_ERROR for names that are too long, and when the quota has no room for new ones.
 */
export async function recordFieldNames(ctx: Ctx, set: JsonObject): Promise<void> {
  const unsure = unsureNames(ctx, 'contactFields', Object.keys(set))
  if (unsure.length === 0) return
  if (Buffer.byteLength(JSON.stringify(set)) > MAX_DATA_BYTES) throw dataTooLarge()
  if (unsure.some((name) => name.length > MAX_FIELD_NAME)) throw nameTooLong()
  const refused = await recordNames(ctx, 'contactFields', unsure, { typeOf: (name) => typeOf(set[name]) })
  if (refused.length === 0) return
  const fields = refused.slice(0, MAX_TOLD).map((name) => `data.${name}`)
  throw quotaReached(ctx.config, 'contactFields', fields)
}

const nameTooLong = () =>
  fieldError('data', 'too_big', `must not set fields with names of more than ${MAX_FIELD_NAME} characters`)

/** Records as many of the fields as the quota has room for, and returns the others. */
export const recordSomeFieldNames = (ctx: Ctx, set: JsonObject): Promise<string[]> =>
  recordNames(ctx, 'contactFields', Object.keys(set), { typeOf: (name) => typeOf(set[name]), partly: true })

/** Takes a name off the record. */
export async function dropFieldName(ctx: Ctx, name: string): Promise<void> {
  await ctx.sql(forgetFieldName, { projectId: projectIdOf(ctx), name })
  forgetName(ctx, 'contactFields', name)
}
