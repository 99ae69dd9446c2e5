import { dataField } from '../../audience/fields.rules.ts'
import { isUsed, type Usage, usageOf } from '../../changes/interests.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { badRequest } from '../../errors.ts'
import { escapeLike } from '../../lib/like.ts'
import { pageLimit } from '../../paging/cursor-page.ts'
import type { FieldType } from '../contacts/contact-data.rules.ts'
import { countContacts, countFew, EXACT } from '../contacts/contact-list.ts'
import { keyOf } from './custom-fields.rules.ts'
import {
  carriersOfSample,
  type FieldValue,
  SAMPLE,
  valuesOfAll,
  valuesOfSample,
} from './custom-fields.sql.ts'
import { isSampled, readCoverage } from './field-coverage.ts'

/** Fields of one answer; a list for people to choose from is not longer. */
const MAX_FIELDS = 1_000
const MAX_FIELD_LENGTH = 1_000

export type ContactField = {
  field: string
  type: FieldType
  coverage: number
  standard: boolean
}

const STANDARD: ContactField[] = (
  [
    ['email', 'string'],
    ['subscribed', 'boolean'],
    ['createdAt', 'date'],
    ['updatedAt', 'date'],
  ] as const
).map(([field, type]) => ({ field, type, coverage: 100, standard: true }))

/**
 * Standard fields, then the custom ones with the type of most of their values and the percentage of contacts
 * that have them, the most frequent first.
 */
export async function listFields(ctx: Ctx): Promise<ContactField[]> {
  const custom = await readCoverage(ctx, MAX_FIELDS)
  return [
    ...STANDARD,
    ...custom.map(({ name, ...known }) => ({ ...known, field: dataField([name]), standard: false })),
  ]
}

/** A custom field of the same name is `data.<name>`. */
export const isStandard = (field: string): boolean => STANDARD.some((one) => one.field === field)

export const readKey = (field: string): string => {
  if (field.length > MAX_FIELD_LENGTH) throw badRequest('No field has so long a name.')
  return keyOf(field)
}

const DEFAULT_VALUES = 100
const MAX_VALUES = 200

export type FieldValues = { field: string; values: FieldValue['value'][]; count: number; limit: number }

/** Distinct values of a custom field that are no objects or lists, the most frequent first. */
export async function listFieldValues(
  ctx: Ctx,
  field: string,
  request: { limit?: number | null | undefined; search?: string | null | undefined },
): Promise<FieldValues> {
  const key = readKey(field)
  const limit = pageLimit(request.limit ?? DEFAULT_VALUES, MAX_VALUES)
  const pattern = request.search ? `%${escapeLike(request.search)}%` : null
  const statement = (await isSampled(ctx)) ? valuesOfSample : valuesOfAll
  const rows = await ctx.sql(statement, {
    projectId: projectIdOf(ctx),
    sample: SAMPLE,
    field: key,
    pattern,
    limit,
  })
  return { field, values: rows.map(({ value }) => value), count: rows.length, limit }
}

export type FieldUsage = Usage & { contactCount: number; canDelete: boolean }

/** Everything that names the field, and how many contacts have it: above 10,000 an estimate. */
export async function fieldUsage(ctx: Ctx, field: string): Promise<FieldUsage> {
  if (isStandard(field)) {
    const usage = await usageOf(ctx, 'FIELD', field)
    return { ...usage, contactCount: await countContacts(ctx), canDelete: false }
  }
  const key = readKey(field)
  const usage = await usageOf(ctx, 'DATA', key)
  return { ...usage, contactCount: await countCarriers(ctx, key), canDelete: !isUsed(usage) }
}

/** Exact up to 10,000; above that, and when that takes too long, from a sample. */
async function countCarriers(ctx: Ctx, key: string): Promise<number> {
  const count = await countFew(ctx, [{ text: 'c.data ? :key::text', params: { key } }])
  if (count !== undefined && count <= EXACT) return count
  const total = await countContacts(ctx)
  const [row] = await ctx.sql(carriersOfSample, { projectId: projectIdOf(ctx), sample: SAMPLE, field: key })
  if (!row || row.looked === 0) return count ?? 0
  return Math.min(total, Math.max(count ?? 0, Math.round((row.contacts / row.looked) * total)))
}
