import { type Ctx, projectIdOf } from '../../ctx.ts'
import type { Database } from '../../db/database.ts'
import type { JsonObject } from '../../lib/json.ts'
import { typeOf } from './custom-fields.rules.ts'
import { forgetFieldName, recordFieldNames } from './field-names.sql.ts'

/** For so long a process does not record a name again that it has recorded. */
const REMEMBERED_MS = 10 * 60_000
const MAX_REMEMBERED = 50_000
/** Longer keys are stored with the contact, but no list shows them. */
const MAX_FIELD_NAME = 255

const remembered = new WeakMap<Database, Map<string, number>>()

/**
 * Puts the names of fields that have just been set on record, so that the list of fields has the ones that
 * hardly any contact has, too: of many contacts it counts only some. Almost always it costs nothing, because
 * the process remembers what it has recorded. Never fails: the write that it follows has been done.
 */
export async function noteFieldNames(ctx: Ctx, set: JsonObject): Promise<void> {
  const known = remembered.get(ctx.services.database) ?? new Map<string, number>()
  remembered.set(ctx.services.database, known)
  const projectId = projectIdOf(ctx)
  const now = ctx.now()
  const fresh: string[] = []
  for (const name of Object.keys(set)) {
    if (name.length > MAX_FIELD_NAME) continue
    if ((known.get(entryOf(projectId, name)) ?? 0) < now.getTime()) fresh.push(name)
  }
  if (fresh.length === 0) return
  try {
    await ctx.sql(recordFieldNames, [projectId, fresh, fresh.map((name) => typeOf(set[name])), now])
  } catch (error) {
    // The next write that sets them records them.
    ctx.log.warn({ err: error, requestId: ctx.requestId }, 'names of custom fields were not recorded')
    return
  }
  if (known.size + fresh.length > MAX_REMEMBERED) known.clear()
  for (const name of fresh) known.set(entryOf(projectId, name), now.getTime() + REMEMBERED_MS)
}

const entryOf = (projectId: string, name: string): string => `${projectId} ${name}`

/** Takes a name off the record. Other processes may go on for REMEMBERED_MS thinking that it is there. */
export async function dropFieldName(ctx: Ctx, name: string): Promise<void> {
  const projectId = projectIdOf(ctx)
  await ctx.sql(forgetFieldName, [projectId, name])
  remembered.get(ctx.services.database)?.delete(entryOf(projectId, name))
}
