import { z } from 'zod'
import { clearable, json, line, optional } from '../../lib/fields.ts'

const MAX_NAME = 100
const MAX_DESCRIPTION = 500

const NAME = `Name for people, 1 to ${MAX_NAME} characters; it need not be unique.`
const DESCRIPTION = `Note for people, at most ${MAX_DESCRIPTION} characters.`
const CONDITION =
  'Filter tree: { logic: "AND" | "OR", groups: [{ filters: [{ field, operator, value?, unit? }], conditions? }] }.'

export const createSegmentInput = z
  .object({
    name: line(MAX_NAME).min(1).describe(NAME),
    description: optional(z.string().max(MAX_DESCRIPTION)).describe(DESCRIPTION),
    type: optional(z.enum(['DYNAMIC', 'STATIC']).meta({ id: 'SegmentType' })).describe(
      'Way in which the segment gets its members, DYNAMIC by default; it cannot be changed.',
    ),
    condition: optional(json).describe(`${CONDITION} Required for DYNAMIC, ignored for STATIC.`),
    trackMembership: optional(z.boolean()).describe(
      'Whether entries and exits are recorded as events; false by default.',
    ),
  })
  .meta({
    description: 'The segment to create.',
    examples: [
      {
        name: 'Pro customers',
        condition: {
          logic: 'AND',
          groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }],
        },
      },
    ],
  })

export const updateSegmentInput = z
  .object({
    name: line(MAX_NAME).min(1).optional().describe(NAME),
    description: clearable(z.string().max(MAX_DESCRIPTION)).describe(`${DESCRIPTION} null removes it.`),
    condition: clearable(json).describe(`${CONDITION} Ignored for a STATIC segment.`),
    trackMembership: optional(z.boolean()).describe('Whether entries and exits are recorded as events.'),
  })
  .meta({
    description: 'Fields of a segment to change; fields that are left out stay as they are.',
    examples: [{ name: 'Pro and team customers' }],
  })
