import { z } from 'zod'
import { optional } from '../../../lib/fields.ts'
import { email } from '../../../messages/message.input.ts'
import { defineStep } from './define-step.ts'
import { composeMail } from './workflow-mail.ts'

const schema = z.object({
  recipient: optional(
    z
      .object({ type: z.enum(['CONTACT', 'CUSTOM']), email: optional(email) })
      .refine(({ type, email: address }) => type === 'CONTACT' || address !== undefined, {
        error: 'is required for a recipient of the type CUSTOM',
        path: ['email'],
        params: { code: 'required' },
      }),
  ),
})

export const sendEmailStep = defineStep({
  title: 'Send email',
  sendsTemplate: true,
  schema,
  run: async ({ recipient }, at, tx) => {
    const address = recipient?.type === 'CUSTOM' ? (recipient.email ?? null) : null
    const mail = await composeMail(tx, at, address)
    if ('refusal' in mail)
      return { kind: 'done', branch: null, skipped: true, output: { reason: mail.refusal } }
    return { kind: 'done', branch: null, output: { emailId: mail.emailId }, mail }
  },
})
