import { z } from 'zod'
import { jsonObject, optional } from '../../lib/fields.ts'
import { messageType } from '../../messages/message.input.ts'

export const previewAudienceInput = z
  .object({
    condition: optional(jsonObject).describe(
      'Filter tree, as the condition of a segment. Either it, `segmentId` or `all` must be given.',
    ),
    segmentId: optional(z.string().max(64)).describe('Id of a segment, a UUID; instead of a condition.'),
    all: optional(z.boolean()).describe(
      'Whether all contacts of the project are meant; instead of a condition.',
    ),
    type: optional(messageType).describe('Kind of the message that would be sent; MARKETING by default.'),
  })
  .refine(
    ({ condition, segmentId, all }) => [condition, segmentId, all || undefined].filter(Boolean).length === 1,
    {
      error: 'condition, segmentId or all must be given, one of them',
      path: ['condition'],
      params: { code: 'custom' },
    },
  )
  .meta({ description: 'The audience to preview, and what would be sent to it.', examples: [{ all: true }] })
