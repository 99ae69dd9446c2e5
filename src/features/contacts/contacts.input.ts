import { z } from 'zod'
import { jsonObject, optional } from '../../lib/fields.ts'
import { isJsonObject } from '../../lib/json.ts'
import { email } from '../../messages/message.input.ts'

/** Deleting a key is a comparison with every key of the contact. */
const MAX_KEYS = 5_000

/** The `data` of an input: see `readData` for what it does. */
export const contactData = jsonObject
  .refine((data) => !isJsonObject(data) || Object.keys(data).length <= MAX_KEYS, {
    error: `must have at most ${MAX_KEYS} keys`,
    params: { code: 'too_big' },
  })
  .meta({ scalar: 'JSONObject' })

const dataField = optional(contactData).describe(
  'Custom fields, merged into the existing ones of the contact: null deletes a key, "" is ignored, everything else is stored. Reserved keys are dropped. At most 64 KB together.',
)

export const createContactInput = z
  .object({
    email: email.describe('Address of the contact; an existing contact with it is updated.'),
    subscribed: optional(z.boolean()).describe(
      'Whether marketing mail may be sent. New contacts are subscribed unless this is false; existing ones keep their state unless it is given.',
    ),
    data: dataField,
  })
  .meta({
    description: 'The contact to create, or to update when its address is that of an existing one.',
    examples: [{ email: 'ada@example.org', subscribed: true, data: { name: 'Ada', plan: 'pro' } }],
  })

export const updateContactInput = z
  .object({
    email: optional(email).describe('New address; no other contact of the project may have it.'),
    subscribed: optional(z.boolean()).describe(
      'Whether marketing mail may be sent; a change is recorded as an event of the contact.',
    ),
    data: dataField,
  })
  .meta({
    description: 'Fields of a contact to change; fields that are left out stay as they are.',
    examples: [{ data: { plan: 'team', trial: null } }],
  })

/** Addresses of one lookup. */
const MAX_LOOKUP = 500
const MAX_LOOKUP_EMAIL = 320

export const lookupContactsInput = z
  .object({
    emails: z
      .array(z.string().max(MAX_LOOKUP_EMAIL))
      .min(1)
      .max(MAX_LOOKUP)
      .describe(`Addresses to look up, 1 to ${MAX_LOOKUP}, in any case.`),
  })
  .meta({
    description: 'The addresses to look up.',
    examples: [{ emails: ['ada@example.org', 'grace@example.org'] }],
  })
