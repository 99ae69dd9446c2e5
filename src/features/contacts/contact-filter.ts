import { compileTree } from '../../audience/compile.sql.ts'
import { loadAudience } from '../../audience/load.ts'
import { parseTree } from '../../audience/parse.ts'
import type { Audience } from '../../audience/tree.rules.ts'
import type { Ctx } from '../../ctx.ts'
import type { ContactCondition } from './contact-list.sql.ts'

/** The condition of a filter tree, which stands in the field `root`. Throws VALIDATION_ERROR for a bad one. */
export const filterCondition = async (ctx: Ctx, tree: unknown, root: string): Promise<ContactCondition> =>
  audienceCondition(ctx, await loadAudience(ctx, parseTree(tree, root), root))

/** The condition of an audience, as of now. */
export const audienceCondition = (ctx: Ctx, audience: Audience): ContactCondition =>
  compileTree(audience, ctx.now())
