import type { Ctx } from '../../ctx.ts'
import { AppError } from '../../errors.ts'
import { UnreadableMessage } from '../../lib/mime/read-message.ts'
import { normalizeEmail } from '../../messages/email-address.rules.ts'
import { type InboundMail, receiveMail, receivers } from './receive-mail.ts'

/**
 * Receives mail that another service has accepted already. What the SMTP port would refuse for good has its reason as the result, null
 * otherwise. Throws SERVICE_UNAVAILABLE.
 */
export async function takeOverMail(ctx: Ctx, mail: InboundMail): Promise<string | null> {
  const found = await receivers(ctx, mail.recipients.map(normalizeEmail))
  if (found.size === 0) return 'No verified domain of a project receives mail for its recipients.'
  try {
    await receiveMail(ctx, mail)
    return null
  } catch (error) {
    if (error instanceof UnreadableMessage) return error.message
    if (error instanceof AppError && error.statusCode < 500) return error.message
    throw error
  }
}
