import type { Ctx } from '../../ctx.ts'
import { fieldError } from '../../errors.ts'
import { render } from './render.ts'

/** Refuses a subject or body that could not be rendered: a field error that names the line. Throws as `render` does. */
export async function assertSyntax(ctx: Ctx, field: string, template: string): Promise<void> {
  const problem = await render(ctx, 'check', { template })
  if (problem !== null) throw fieldError(field, 'custom', `is not a valid template: ${problem}`)
}
