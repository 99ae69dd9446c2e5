import type { Config } from '../../config.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { type AppError, domainNotVerified } from '../../errors.ts'
import { domainOf } from '../../messages/email-address.rules.ts'

/** Whether no mail leaves this service, so that an unverified domain may be a sender. */
export const keepsMail = ({ mail }: Config): boolean => mail.provider === 'mailbox'

/** Refuses a sender whose domain is not verified for the project. A subdomain must be added itself. */
export async function assertSenderVerified(ctx: Ctx, address: string): Promise<void> {
  const domain = domainOf(address)
  const verified = await ctx.db.domain.count({
    where: {
      projectId: projectIdOf(ctx),
      domain,
      status: 'VERIFIED',
      ...(!keepsMail(ctx.config) && { mailboxOnly: false }),
    },
  })
  if (verified === 0) throw await unverifiedSender(ctx, domain)
}

/** The refusal of a sender whose domain is not verified: it says whether it was added at least. */
export async function unverifiedSender(ctx: Ctx, domain: string): Promise<AppError> {
  const added = await ctx.db.domain.count({ where: { projectId: projectIdOf(ctx), domain } })
  return domainNotVerified(domain, added > 0)
}
