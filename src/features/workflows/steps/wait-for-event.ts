import { z } from 'zod'
import { MAX_EVENT_NAME } from '../../../changes/event-names.rules.ts'
import { optional } from '../../../lib/fields.ts'
import { defineStep } from './define-step.ts'

/** A year, in seconds. */
const MAX_TIMEOUT = 31_536_000

export const waitForEventStep = defineStep({
  title: 'Wait for event',
  schema: z.object({
    eventName: z.string().min(1).max(MAX_EVENT_NAME),
    timeout: optional(z.int().min(1).max(MAX_TIMEOUT)),
  }),
  interests: ({ eventName }) => [{ kind: 'EVENT', name: eventName, listens: true }],
  run: ({ eventName, timeout }, { waited, wokenBy, now }) => {
    if (wokenBy !== null)
      return { kind: 'done', branch: 'event', output: { branch: 'event', eventId: wokenBy } }
    if (waited) return { kind: 'done', branch: 'timeout', output: { branch: 'timeout' } }
    const until = timeout === undefined ? null : new Date(now.getTime() + timeout * 1_000)
    return { kind: 'wait', until, event: eventName }
  },
})
