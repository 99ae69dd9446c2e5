import { z } from 'zod'
import { optional } from '../../lib/fields.ts'
import { MAX_DAYS, MOST_A_DAY } from '../../lib/net/sending-limits.ts'

const day = z
  .string()
  .refine((text) => z.iso.date().safeParse(text).success, {
    error: 'must be a day such as 2027-01-31',
    params: { code: 'invalid_date' },
  })
  .transform((text) => new Date(text))

export const warmUpInput = z
  .object({
    dailyLimits: z
      .array(z.int().min(1).max(MOST_A_DAY))
      .max(MAX_DAYS)
      .describe(
        `Messages on the first, second, … day: 1 to ${MOST_A_DAY.toLocaleString('en')} each, at most ${MAX_DAYS} days. An empty list ends the warm-up.`,
      ),
    from: optional(day).describe(
      'The first day (UTC), such as 2027-01-31. Without it the day on which the warm-up began that the domain has, or else today, or the day on which the domain is verified.',
    ),
  })
  .meta({
    description: 'The warm-up of a domain, in place of the one that it has.',
    examples: [{ dailyLimits: [50, 100, 500, 1_000, 5_000], from: '2027-01-31' }],
  })

export type WarmUpInput = z.output<typeof warmUpInput>
