import { DATE_GRAMMAR } from '../../audience/dates.rules.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { type FieldType, fieldType } from '../contacts/contact-data.rules.ts'
import { countContacts } from '../contacts/contact-list.ts'
import { coverageOf, typeFrom } from './custom-fields.rules.ts'
import { type FieldStatistics, SAMPLE, statisticsOfAll, statisticsOfSample } from './custom-fields.sql.ts'
import { fieldsOnRecord, projectsWithOldCoverage, recordCoverage } from './field-coverage.sql.ts'

/** A custom field, and the percentage of contacts that have it. */
export type CountedField = { name: string; type: FieldType; coverage: number }

const HOUR_MS = 3_600_000
/** Projects of one sweep: the others follow in the next ones. */
const PROJECTS = 1_000

/**
 * At most `limit` custom fields, those that most contacts have first. Up to 5,000 contacts are counted at
 * once. Above, the stored coverage is returned; it is counted first when a field has none.
 */
export async function readCoverage(ctx: Ctx, limit: number): Promise<CountedField[]> {
  const projectId = projectIdOf(ctx)
  if (!(await isSampled(ctx))) {
    return (await ctx.sql(statisticsOfAll, sampleOf(projectId, limit))).map(counted)
  }
  const read = () => ctx.sql(fieldsOnRecord, { projectId, limit })
  let fields = await read()
  if (fields.some(({ coverage }) => coverage === null)) {
    await countFields(ctx)
    fields = await read()
  }
  return fields.map(({ name, type, coverage }) => ({ name, type: fieldType(type), coverage: coverage ?? 0 }))
}

/** Puts on record how many of the project's contacts have each field, from a random sample; while they are few nothing. */
export async function countFields(ctx: Ctx): Promise<void> {
  const projectId = projectIdOf(ctx)
  const isKept = await isSampled(ctx)
  const found = isKept ? await ctx.sql(statisticsOfSample, sampleOf(projectId, null)) : []
  const fields = JSON.stringify(found.map(counted))
  await ctx.sql(recordCoverage, { projectId, fields, now: isKept ? ctx.now() : null })
}

/** Projects whose record was counted more than an hour ago. */
export async function projectsToCountFields(ctx: Ctx): Promise<string[]> {
  const before = new Date(ctx.now().getTime() - HOUR_MS)
  const rows = await ctx.sql(projectsWithOldCoverage, { before, limit: PROJECTS })
  return rows.map(({ projectId }) => projectId)
}

/** Whether there are too many contacts to look at all of them. */
export const isSampled = async (ctx: Ctx): Promise<boolean> => (await countContacts(ctx)) > SAMPLE

const sampleOf = (projectId: string, limit: number | null) => ({
  projectId,
  sample: SAMPLE,
  dateGrammar: DATE_GRAMMAR,
  limit,
})

const counted = (field: FieldStatistics): CountedField => ({
  name: field.name,
  type: typeFrom(field),
  coverage: coverageOf(field.contacts, field.looked),
})
