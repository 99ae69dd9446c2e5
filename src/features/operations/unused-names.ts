import { type Ctx, projectIdOf } from '../../ctx.ts'
import { untilFewer } from '../../lib/async/until-fewer.ts'
import { earliestId } from '../../lib/ids.ts'
import {
  fieldsNotSeen,
  fieldsOfContacts,
  forgetFields,
  forgetUnusedEventNames,
  noteFieldsSeen,
} from './unused-names.sql.ts'

/** Rows per statement: few enough that other statements hardly wait for the locks. */
const BATCH = 1_000
/** Names of fields that are looked for in one walk over the contacts; the others follow in the next hours. */
const FIELDS = 500

/**
 * Forgets names of events that the project has none of, and that were not tracked since `before`. A process remembers
 * for minutes that a name is on record, and notes once a day that it has looked for it: two days are enough.
 */
export async function forgetEventNames(ctx: Ctx, before: Date): Promise<void> {
  const params = { projectId: projectIdOf(ctx), before, limit: BATCH }
  await untilFewer(BATCH, async () => (await ctx.sql(forgetUnusedEventNames, params)).length)
}

/**
 * Forgets names of fields that were not set since `before` and that no contact has. Only the contacts can
 * tell that: short statements walk over them until every name is found, and a name that is found is not
 * looked for again before it has been unused for as long.
 */
export async function forgetUnusedFields(ctx: Ctx, before: Date): Promise<void> {
  const projectId = projectIdOf(ctx)
  const rows = await ctx.sql(fieldsNotSeen, { projectId, before, limit: FIELDS })
  let names = rows.map(({ name }) => name)
  let after = earliestId(new Date(0))
  while (names.length > 0) {
    const [page] = await ctx.sql(fieldsOfContacts, { projectId, after, limit: BATCH, names })
    if (!page) break
    after = page.last
    if (page.names.length === 0) continue
    await ctx.sql(noteFieldsSeen, { projectId, names: page.names, now: ctx.now() })
    const found = new Set(page.names)
    names = names.filter((name) => !found.has(name))
  }
  if (names.length > 0) await ctx.sql(forgetFields, { projectId, names, before })
}
