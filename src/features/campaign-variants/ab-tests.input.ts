import { z } from 'zod'
import { optional } from '../../lib/fields.ts'
import { MESSAGE_SCHEMAS, MESSAGE_TEXTS } from '../../messages/message.input.ts'

const MIN_VARIANTS = 2
const MAX_VARIANTS = 4
const MAX_WEIGHT = 100
/** 30 days. */
const MAX_MINUTES = 43_200

const variant = z
  .object({
    subject: optional(MESSAGE_SCHEMAS.subject).describe(
      `${MESSAGE_TEXTS.subject} Without it that of the campaign.`,
    ),
    body: optional(MESSAGE_SCHEMAS.body).describe(`${MESSAGE_TEXTS.body} Without it that of the campaign.`),
    weight: optional(z.number().int().min(1).max(MAX_WEIGHT)).describe(
      `How large its part of the test is, compared with the other variants: 1 to ${MAX_WEIGHT}, 1 by default.`,
    ),
  })
  .meta({ description: 'A variant of a campaign: what differs from the campaign itself.' })

export const abTestInput = z
  .object({
    variants: z
      .array(variant)
      .min(MIN_VARIANTS)
      .max(MAX_VARIANTS)
      .describe(
        `The variants, ${MIN_VARIANTS} to ${MAX_VARIANTS}; one without any field is the campaign itself.`,
      ),
    testPercent: z
      .number()
      .int()
      .min(1)
      .max(100)
      .describe('Part of the audience that is in the test, in percent: 1 to 100. The others get the winner.'),
    metric: z
      .enum(['OPENS', 'CLICKS'])
      .meta({ id: 'AbTestMetric', description: 'What decides which variant wins.' }),
    decideAfterMinutes: z
      .number()
      .int()
      .min(1)
      .max(MAX_MINUTES)
      .describe(
        `Minutes between the moment when the last message of the test is queued and the decision, 1 to ${MAX_MINUTES.toLocaleString('en')}.`,
      ),
  })
  .meta({
    description:
      'An A/B test of a campaign: some of the audience gets the variants, the others get the best one.',
    examples: [
      {
        variants: [{}, { subject: 'Everything is 20 % off, {{name ?? friend}}' }],
        testPercent: 20,
        metric: 'OPENS',
        decideAfterMinutes: 240,
      },
    ],
  })

export type AbTestInput = z.output<typeof abTestInput>
