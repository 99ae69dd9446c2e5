import { type Ctx, projectIdOf } from '../../../ctx.ts'
import { newId } from '../../../lib/ids.ts'
import { type Refusal, refusalToReceive } from '../../../messages/may-receive.rules.ts'
import { compose } from '../../emails/compose.ts'
import { assertMessageSize } from '../../sending/attachments.ts'
import type { At, WorkflowMail } from './define-step.ts'

/**
 * Renders the template of the step with the data of the contact and the context. An address of its own gets it as a contact
 * of its own, as with `sendEmail`. Who may not get it is a refusal; suppressed addresses are seen when it leaves.
 */
export async function composeMail(
  tx: Ctx,
  { executionId, contactId, subject: { contact }, context, template, settings, now, receiverAt }: At,
  address: string | null,
): Promise<WorkflowMail | { refusal: Refusal }> {
  if (!template) throw new Error('The template was not read')
  const to =
    address === null
      ? { contactId, email: contact.email, subscribed: contact.subscribed }
      : await receiverAt(address)
  const refusal = refusalToReceive({ type: template.type, subscribed: to.subscribed, suppressed: false })
  if (refusal) return { refusal }
  const { language, footerText, tracking } = settings
  const emailId = newId(now)
  const source = {
    ...template,
    from: { email: template.from, name: template.fromName ?? undefined },
    language,
    footerText,
  }
  const receiver = { projectId: projectIdOf(tx), emailId, ...to, data: contact.data }
  const composed = await compose(tx, source, receiver, { extra: { event: context }, tracking })
  assertMessageSize(tx.config, composed.html, [])
  return { emailId, executionId, contactId: to.contactId, to: to.email, template, composed }
}
