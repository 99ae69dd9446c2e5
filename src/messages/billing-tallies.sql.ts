import type { BillingCategory } from '../generated/prisma/enums.ts'

/** The first day of the month (UTC) of the time `:now` of a statement. */
export const MONTH = `date_trunc('month', :now::timestamptz at time zone 'UTC')::date`

/**
 * The CTE `billed`: counts messages in the commit that makes them, as a row of its own, so that nobody waits for the usage
 * of the project. `messages` is what follows `from`, with rows that have a project_id. The time is `:now`.
 */
export const billedCte = (category: BillingCategory, messages: string): string => `
  billed as (
    insert into billing_tallies (project_id, month, category, id, count)
    select m.project_id, ${MONTH}, '${category}'::billing_category, gen_random_uuid(), count(*)
    from ${messages} m group by m.project_id
  )`

/** A statement twice: one that counts messages for billing, and one for services where nothing is billed. */
export const billedOrFree = <Made>(make: (billed: boolean) => Made): { billed: Made; free: Made } => ({
  billed: make(true),
  free: make(false),
})
