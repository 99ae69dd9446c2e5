import type { Ctx } from '../ctx.ts'
import { AppError } from '../errors.ts'
import { type Subject, searchedBy } from './match.rules.ts'
import type { Audience } from './tree.rules.ts'

/** To look at a character of a text, with all else that waits meanwhile: no other thread does it. */
const NANOSECONDS = 100
/** Audiences that search more characters than these take turns. */
const LONG = 50_000

/**
 * Takes what matching one contact costs from the allowance of the request, and waits for its turn when that is much. Throws
 * PAYLOAD_TOO_LARGE.
 */
export async function takeSearch(ctx: Ctx, audience: Audience, subject: Subject): Promise<void> {
  const searched = searchedBy(audience, subject)
  ctx.renderBudget.note({ work: searched * NANOSECONDS, characters: 0 })
  if (ctx.renderBudget.isSpent) throw tooMuchToSearch()
  if (searched > LONG) await ctx.services.longSteps.next()
}

const tooMuchToSearch = () =>
  new AppError('PAYLOAD_TOO_LARGE', 'The condition searches through more text than one request may.', {
    suggestion: 'Use fewer filters with contains, or shorter texts.',
  })
