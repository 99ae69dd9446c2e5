import { compileTree } from '../../audience/compile.sql.ts'
import { loadAudience } from '../../audience/load.ts'
import { parseTree } from '../../audience/parsing/parse.ts'
import type { Audience } from '../../audience/tree.rules.ts'
import type { Ctx } from '../../ctx.ts'

/**
 * A condition on the contact `c`: its text, and the parameters that are named in it. Values get into it as parameters
 * only.
 */
export type ContactCondition = { text: string; params: Record<string, unknown> }

/** The condition of a filter tree, which stands in the field `root`. Throws VALIDATION_ERROR for a bad one. */
export const filterCondition = async (ctx: Ctx, tree: unknown, root: string): Promise<ContactCondition> =>
  audienceCondition(ctx, await loadAudience(ctx, parseTree(tree, root), root))

/** The condition of an audience, as of now. */
export const audienceCondition = (ctx: Ctx, audience: Audience): ContactCondition =>
  compileTree(audience, ctx.now())
