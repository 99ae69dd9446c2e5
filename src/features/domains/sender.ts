import { type Ctx, projectIdOf } from '../../ctx.ts'
import { domainNotVerified } from '../../errors.ts'
import { domainOf } from '../../lib/email-address.ts'

/** Refuses a sender whose domain is not verified for the project. A subdomain must be added itself. */
export async function assertSenderVerified(ctx: Ctx, address: string): Promise<void> {
  const domain = domainOf(address)
  const verified = await ctx.db.domain.count({
    where: { projectId: projectIdOf(ctx), domain, status: 'VERIFIED' },
  })
  if (verified === 0) throw domainNotVerified(domain)
}
