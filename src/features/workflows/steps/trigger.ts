import { z } from 'zod'
import { defineStep } from './define-step.ts'

/** Where every execution begins. */
export const triggerStep = defineStep({
  title: 'Trigger',
  schema: z.object({}),
  run: () => ({ kind: 'done', branch: null }),
})
