import { z } from 'zod'
import { optional } from '../../lib/fields.ts'
import { email } from '../../messages/message.input.ts'

const MAX_EMAILS = 500

const emails = z
  .array(email)
  .min(1)
  .max(MAX_EMAILS)
  .describe(`Addresses of contacts, 1 to ${MAX_EMAILS}, in any case.`)

export const addMembersInput = z
  .object({
    emails,
    createMissing: optional(z.boolean()).describe(
      'Whether contacts are created for addresses that have none; false by default.',
    ),
    subscribed: optional(z.boolean()).describe(
      'Whether contacts that are created are subscribed; true by default.',
    ),
  })
  .meta({
    description: 'The contacts to add to a list, by their addresses.',
    examples: [{ emails: ['ada@example.org'], createMissing: true }],
  })

export const removeMembersInput = z.object({ emails }).meta({
  description: 'The contacts to remove from a list, by their addresses.',
  examples: [{ emails: ['ada@example.org'] }],
})
