import { type Ctx, projectIdOf } from '../../../ctx.ts'
import type { Template } from '../../../generated/prisma/client.ts'
import { newId } from '../../../lib/ids.ts'
import { type Refusal, refusalToReceive } from '../../../messages/may-receive.rules.ts'
import { ensureContacts } from '../../contacts/contacts.ts'
import { type Composed, compose } from '../../emails/compose.ts'
import { assertMessageSize } from '../../sending/attachments.ts'
import type { At } from './define-step.ts'

/** A message that is stored with the end of the step. */
export type WorkflowMail = {
  emailId: string
  executionId: string
  contactId: string
  to: string
  template: Template
  composed: Composed
}

/**
 * Renders the template of the step with the data of the contact and the context. An address of its own gets it as a contact
 * of its own, as with `sendEmail`. Who may not get it is a refusal; suppressed addresses are seen when it leaves.
 */
export async function composeMail(
  tx: Ctx,
  { executionId, contactId, subject: { contact }, context, template, settings, now }: At,
  address: string | null,
): Promise<WorkflowMail | { refusal: Refusal }> {
  if (!template) throw new Error('The template was not read')
  const to =
    address === null
      ? { contactId, email: contact.email, subscribed: contact.subscribed }
      : await contactAt(tx, address)
  const refusal = refusalToReceive({ type: template.type, subscribed: to.subscribed, suppressed: false })
  if (refusal) return { refusal }
  const { language, tracking } = settings
  const emailId = newId(now)
  const source = {
    ...template,
    from: { email: template.from, name: template.fromName ?? undefined },
    language,
  }
  const receiver = { projectId: projectIdOf(tx), emailId, ...to, data: contact.data }
  // A slice renders for many contacts, each of whom may cost as much as a request.
  const own = { ...tx, renderBudget: tx.services.rendering.newBudget() }
  const composed = await compose(own, source, receiver, { extra: { event: context }, tracking })
  assertMessageSize(tx.config, composed.html, [])
  return { emailId, executionId, contactId: to.contactId, to: to.email, template, composed }
}

async function contactAt(tx: Ctx, email: string) {
  await ensureContacts(tx, [email], false)
  const projectId_email = { projectId: projectIdOf(tx), email }
  const { id, subscribed } = await tx.db.contact.findUniqueOrThrow({ where: { projectId_email } })
  return { contactId: id, email, subscribed }
}
