import { z } from 'zod'
import { line, optional } from '../../lib/fields.ts'

const MAX_NAME = 100
/** A month: who needs longer to change a key has forgotten it. */
const MAX_OVERLAP_HOURS = 720

/** ISO 8601 with a time zone. */
const time = z
  .string()
  .refine((text) => z.iso.datetime({ offset: true }).safeParse(text).success, {
    error: 'must be a time such as 2027-01-31T12:00:00Z',
    params: { code: 'invalid_date' },
  })
  .transform((text) => new Date(text))

export const keyScope = z
  .enum(['FULL', 'READ', 'SEND', 'TRACK'])
  .meta({ id: 'KeyScope', description: 'What the key may do.' })

export const createApiKeyInput = z
  .object({
    name: line(MAX_NAME).trim().min(1).describe(`What the key is for, 1 to ${MAX_NAME} characters.`),
    scope: keyScope,
    expiresAt: optional(time).describe(
      'Time from which the key is refused, in the future; without it the key has no end.',
    ),
  })
  .meta({ description: 'The key to create.', examples: [{ name: 'Shop server', scope: 'SEND' }] })

export const rotateApiKeyInput = z
  .object({
    overlapHours: z
      .int()
      .min(0)
      .max(MAX_OVERLAP_HOURS)
      .default(24)
      .describe(`Hours for which the key before works as well, 0 to ${MAX_OVERLAP_HOURS}; 24 by default.`),
  })
  .meta({ description: 'How the key is replaced.', examples: [{ overlapHours: 24 }] })

export type CreateApiKeyInput = z.output<typeof createApiKeyInput>
