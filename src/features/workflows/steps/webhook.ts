import { z } from 'zod'
import { json, optional } from '../../../lib/fields.ts'
import { defineStep } from './define-step.ts'

const MAX_URL = 2_000
const MAX_HEADER = 998
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** The settings of calls of other services. This version keeps them and makes no calls: see `problemsOf`. */
export const webhookStep = defineStep({
  title: 'Webhook',
  schema: z.object({
    url: z
      .string()
      .max(MAX_URL)
      .regex(/^https?:\/\//i, 'must begin with https:// or http://'),
    method: z.enum(METHODS),
    headers: optional(z.record(z.string().max(100), z.string().max(MAX_HEADER))),
    body: json.optional(),
  }),
  run: () => {
    throw new Error('Calls of other services are not made')
  },
})
