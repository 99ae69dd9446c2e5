import { type Ctx, projectIdOf } from '../ctx.ts'
import { assertStillAdmitted } from './access.ts'
import { lockQuotaOf, quotaReached } from './quotas.ts'
import { missingNames, type NameKind, recordNames as recordStatement } from './recorded-names.sql.ts'

const placeOf = (ctx: Ctx, kind: NameKind): string => `${kind} ${projectIdOf(ctx)}`

/** Those of the names that the process does not remember to be on record: mostly none. */
export function unsureNames(ctx: Ctx, kind: NameKind, names: string[]): string[] {
  const [place, now] = [placeOf(ctx, kind), ctx.now().getTime()]
  return names.filter((name) => !ctx.services.rememberedNames.knows(place, name, now))
}

type Recording = {
  /** The type of the value that a name is given to; of events there is none. */
  typeOf?: (name: string) => string
  /** Whether some may be recorded without the others. */
  partly?: boolean
}

/**
 * Records names that a write is about to use, and returns those for which the quota has no room: then none of
 * them is recorded, or, with `partly`, as many as fit. Names that the process remembers cost nothing, others
 * one look, and new ones a commit of their own; the quota is exact however many requests create names at
 * once. A write that is refused later leaves unused names: the hourly purge removes them.
 */
export async function recordNames(
  ctx: Ctx,
  kind: NameKind,
  names: string[],
  how: Recording = {},
): Promise<string[]> {
  const unsure = unsureNames(ctx, kind, names)
  if (unsure.length === 0) return []
  const now = ctx.now()
  const missing = await ctx.sql(missingNames[kind], { projectId: projectIdOf(ctx), names: unsure, now })
  const fresh = missing.map(({ name }) => name)
  const refused = new Set(fresh.length === 0 ? [] : await recordFresh(ctx, kind, fresh, how))
  const recorded = unsure.filter((name) => !refused.has(name))
  ctx.services.rememberedNames.remember(placeOf(ctx, kind), recorded, now.getTime())
  return [...refused]
}

async function recordFresh(ctx: Ctx, kind: NameKind, names: string[], how: Recording): Promise<string[]> {
  const { rememberedNames } = ctx.services
  const place = placeOf(ctx, kind)
  const quota = ctx.config.quotas[kind]
  // They could not fit into an empty one.
  if (quota > 0 && names.length > quota && !how.partly) return names
  return rememberedNames.inTurn(place, async () => {
    if (rememberedNames.isFull(place, ctx.now().getTime())) return names
    // A key that is only remembered is compared by the write itself, which comes later.
    await assertStillAdmitted(ctx.services.keyRing, ctx.actor)
    const refused = await ctx.atomically((tx) => recordWithin(tx, kind, names, how))
    if (refused.some(({ isFull }) => isFull)) rememberedNames.noteFull(place, ctx.now().getTime())
    return refused.map(({ name }) => name)
  })
}

async function recordWithin(
  tx: Ctx,
  kind: NameKind,
  names: string[],
  { typeOf = () => '', partly = false }: Recording,
) {
  const quota = tx.config.quotas[kind]
  if (quota > 0) await lockQuotaOf(tx, kind)
  return tx.sql(recordStatement[kind], {
    projectId: projectIdOf(tx),
    names,
    types: names.map(typeOf),
    now: tx.now(),
    quota,
    partly,
  })
}

/** Records the name of an event that is about to be tracked. Throws VALIDATION_ERROR when the quota has no room. */
export async function recordEventName(ctx: Ctx, name: string, field: string): Promise<void> {
  const refused = await recordNames(ctx, 'eventNames', [name])
  if (refused.length > 0) throw quotaReached(ctx.config, 'eventNames', [field])
}

/**
 * The same for names of events that the transaction makes possible: they are recorded when it commits, so the
 * process remembers nothing of it.
 */
export async function recordEventNamesWithin(tx: Ctx, names: string[], field: string): Promise<void> {
  const refused = await recordWithin(tx, 'eventNames', names, {})
  if (refused.length > 0) throw quotaReached(tx.config, 'eventNames', [field])
}

/** This process looks for the name again when it is used: it has been taken off the record, or is about to be. */
export function forgetName(ctx: Ctx, kind: NameKind, name: string): void {
  ctx.services.rememberedNames.forget(placeOf(ctx, kind), name)
}
