import { z } from 'zod'
import { jsonObject, optional } from '../../../lib/fields.ts'
import { readData } from '../../contacts/contact-data.rules.ts'
import { defineStep } from './define-step.ts'

const ACTIONS = { none: null, subscribe: true, unsubscribe: false } as const

const schema = z.object({
  updates: optional(jsonObject),
  subscriptionAction: optional(z.enum(['none', 'subscribe', 'unsubscribe'])),
})

export const updateContactStep = defineStep({
  title: 'Update contact',
  schema,
  interests: ({ updates }) => {
    const { set, unset } = readData(updates)
    return [...Object.keys(set), ...unset].map((name) => ({ kind: 'DATA', name, listens: false }))
  },
  run: ({ updates, subscriptionAction = 'none' }) => {
    const { set, unset } = readData(updates)
    return { kind: 'done', branch: null, update: { set, unset, subscribed: ACTIONS[subscriptionAction] } }
  },
})
