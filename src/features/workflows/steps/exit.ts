import { z } from 'zod'
import { optional } from '../../../lib/fields.ts'
import { defineStep } from './define-step.ts'

const MAX_REASON = 255

export const exitStep = defineStep({
  title: 'Exit',
  schema: z.object({ reason: optional(z.string().max(MAX_REASON)) }),
  run: ({ reason }) => ({ kind: 'exit', reason: reason ?? null }),
})
