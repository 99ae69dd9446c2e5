import { DATE_GRAMMAR } from '../../audience/dates.rules.ts'
import { dataField } from '../../audience/fields.rules.ts'
import { type AudienceUsage, audienceUsage, isUsed } from '../../audience/usage.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { pageLimit } from '../../cursor-page.ts'
import type { Statement } from '../../db/sql.ts'
import { badRequest, conflict } from '../../errors.ts'
import { earliestId } from '../../lib/ids.ts'
import { escapeLike } from '../../lib/like.ts'
import { countContacts } from './contact-list.ts'
import { coverageOf, type FieldType, fieldType, keyOf, typeFrom } from './custom-fields.rules.ts'
import {
  type Carriers,
  carriersOfAll,
  carriersOfSample,
  type FieldStatistics,
  type FieldValue,
  recordedFieldNames,
  removeField,
  SAMPLE,
  statisticsOfAll,
  statisticsOfSample,
  valuesOfAll,
  valuesOfSample,
} from './custom-fields.sql.ts'
import { dropFieldName } from './field-names.ts'

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
 * that have them. Up to 5,000 contacts all of them are counted, of more a random sample of as many; fields that
 * hardly any contact has come from the record of names then, with the coverage 0.
 */
export async function listFields(ctx: Ctx): Promise<ContactField[]> {
  const projectId = projectIdOf(ctx)
  const sampled = await isSampled(ctx)
  const statistics = await ctx.sql(sampled ? statisticsOfSample : statisticsOfAll, [
    ...[projectId, SAMPLE, DATE_GRAMMAR, MAX_FIELDS],
  ])
  const found = statistics.map((field) => ({
    field: dataField([field.name]),
    type: typeFrom(field),
    coverage: coverageOf(field.contacts, field.looked),
    standard: false,
  }))
  return [...STANDARD, ...found, ...(sampled ? await rareFields(ctx, statistics) : [])]
}

async function rareFields(ctx: Ctx, found: FieldStatistics[]): Promise<ContactField[]> {
  const names = new Set(found.map(({ name }) => name))
  const recorded = await ctx.sql(recordedFieldNames, [projectIdOf(ctx), MAX_FIELDS])
  return recorded
    .filter(({ name }) => !names.has(name))
    .slice(0, MAX_FIELDS - found.length)
    .map(({ name, type }) => ({
      field: dataField([name]),
      type: fieldType(type),
      coverage: 0,
      standard: false,
    }))
}

/** Whether there are too many contacts to look at all of them. */
const isSampled = async (ctx: Ctx): Promise<boolean> => (await countContacts(ctx, [])) > SAMPLE

/** A custom field of the same name is `data.<name>`. */
const isStandard = (field: string): boolean => STANDARD.some((one) => one.field === field)

const readKey = (field: string): string => {
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
  const rows = await ctx.sql(statement, [projectIdOf(ctx), SAMPLE, key, pattern, limit])
  return { field, values: rows.map(({ value }) => value), count: rows.length, limit }
}

export type FieldUsage = AudienceUsage & { contactCount: number; canDelete: boolean }

/** What names the field, and how many contacts have it: of more than 5,000 an estimate from a sample. */
export async function fieldUsage(ctx: Ctx, field: string): Promise<FieldUsage> {
  if (isStandard(field)) {
    const usage = await audienceUsage(ctx, ({ fields }) => fields.includes(field))
    return { ...usage, contactCount: await countContacts(ctx, []), canDelete: false }
  }
  const key = readKey(field)
  const usage = await audienceUsage(ctx, ({ keys }) => keys.includes(key))
  return { ...usage, contactCount: await countCarriers(ctx, key), canDelete: !isUsed(usage) }
}

async function countCarriers(ctx: Ctx, key: string): Promise<number> {
  const total = await countContacts(ctx, [])
  const statement: Statement<Carriers> = total > SAMPLE ? carriersOfSample : carriersOfAll
  const [row] = await ctx.sql(statement, [projectIdOf(ctx), SAMPLE, key])
  if (!row || row.looked === 0) return 0
  return total > SAMPLE ? Math.round((row.contacts / row.looked) * total) : row.contacts
}

/** Contacts looked at per statement: short enough that nobody waits for the locks. */
const BATCH = 2_000

/**
 * Takes the field from all contacts, in batches of their own: what was done stays done when a later one fails,
 * and the next call does the rest. Throws CONFLICT while something refers to the field, and for a standard one.
 */
export async function deleteField(ctx: Ctx, field: string): Promise<number> {
  if (isStandard(field)) throw conflict('A standard field of contacts cannot be deleted.')
  const key = readKey(field)
  const usage = await audienceUsage(ctx, ({ keys }) => keys.includes(key))
  if (isUsed(usage)) throw conflict(`The field is used; GET /contacts/fields/:field/usage says where.`)
  const projectId = projectIdOf(ctx)
  let deletedFrom = 0
  for (let after: string | undefined = earliestId(new Date(0)); after !== undefined; ) {
    const [done]: { last: string; changed: number }[] = await ctx.sql(removeField, [
      ...[projectId, key, after, BATCH, ctx.now()],
    ])
    deletedFrom += done?.changed ?? 0
    after = done?.last
  }
  await dropFieldName(ctx, key)
  return deletedFrom
}
