import { z } from 'zod'
import { id, jsonObject, optional } from '../../../lib/fields.ts'

export const startExecutionInput = z
  .object({
    contactId: id.describe('Id of the contact, a UUID.'),
    context: optional(jsonObject).describe(
      'Variables of this execution, at most 64 KB: `event.<key>` in conditions and templates.',
    ),
  })
  .meta({
    description: 'Whom to start an execution for.',
    examples: [{ contactId: '0197a3c2-5e00-7000-8000-4d61696c7772', context: { plan: 'pro' } }],
  })
