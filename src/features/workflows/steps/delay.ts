import { z } from 'zod'
import { optional, timeZone } from '../../../lib/fields.ts'
import { defineStep } from './define-step.ts'
import { DELAY_UNITS, delayMs, isUntil, MAX_DELAY_MS, readUntil } from './delay.rules.ts'

const schema = z
  .object({
    amount: optional(z.number().gt(0)),
    unit: optional(z.enum(DELAY_UNITS)),
    until: optional(
      z
        .string()
        .max(40)
        .refine(isUntil, {
          error: 'must be a time such as 2030-05-01T08:00:00Z, 2030-05-01T08:00 (in the time zone) or 08:00',
          params: { code: 'invalid_date' },
        }),
    ),
    timezone: optional(timeZone),
  })
  .refine(({ amount, until }) => amount !== undefined || until !== undefined, {
    error: 'is required, or until',
    path: ['amount'],
    params: { code: 'required' },
  })
  .refine(({ amount, until }) => amount === undefined || until === undefined, {
    error: 'must not be given together with amount',
    path: ['until'],
  })
  .refine(({ amount, unit }) => amount === undefined || unit !== undefined, {
    error: `is required: ${DELAY_UNITS.join(', ')}`,
    path: ['unit'],
    params: { code: 'required' },
  })
  .refine(({ amount = 0, unit = 'minutes' }) => delayMs(amount, unit) <= MAX_DELAY_MS, {
    error: 'must be at most 365 days',
    path: ['amount'],
    params: { code: 'too_big' },
  })

export const delayStep = defineStep({
  title: 'Delay',
  schema,
  run: ({ amount, unit, until, timezone = 'UTC' }, { waited, now }) => {
    if (waited) return { kind: 'done', branch: null }
    if (until === undefined) {
      const time = now.getTime() + delayMs(amount ?? 0, unit ?? 'minutes')
      return { kind: 'wait', until: new Date(time), event: null }
    }
    const time = readUntil(until, timezone, now)
    return time > now ? { kind: 'wait', until: time, event: null } : { kind: 'done', branch: null }
  },
})
