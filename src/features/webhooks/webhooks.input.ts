import { z } from 'zod'
import { MAX_EVENT_NAME } from '../../changes/event-names.rules.ts'
import { clearable, line, optional } from '../../lib/fields.ts'
import { webAddress } from '../../lib/net/web-address.ts'

const MAX_EVENT_NAMES = 100
const MAX_DESCRIPTION = 500
/** A week: as long as somebody may be away who has to give the receivers the new secret. */
const MAX_OVERLAP_HOURS = 168

const URL_TEXT =
  'Address that is called, http or https, at most 2048 characters; private networks are refused when it is called.'
const EVENT_NAMES_TEXT = `Names of the events to be told of, 1 to ${MAX_EVENT_NAMES}; \`email.*\` and \`contact.*\` stand for all of a kind.`

const url = z.string().refine((value) => {
  const address = webAddress(value)
  return address !== null && address.username === '' && address.password === ''
}, 'must be an http or https address of at most 2048 characters, without a user name')

const eventNames = z.array(line(MAX_EVENT_NAME).min(1)).min(1).max(MAX_EVENT_NAMES)

const description = z.string().max(MAX_DESCRIPTION)

export const createWebhookEndpointInput = z
  .object({
    url: url.describe(URL_TEXT),
    eventNames: eventNames.describe(EVENT_NAMES_TEXT),
    description: optional(description).describe(`Note for people, at most ${MAX_DESCRIPTION} characters.`),
  })
  .meta({ description: 'An address that is called when events happen.' })

export const updateWebhookEndpointInput = z
  .object({
    url: optional(url).describe(URL_TEXT),
    eventNames: optional(eventNames).describe(EVENT_NAMES_TEXT),
    description: clearable(description).describe(
      `Note for people, at most ${MAX_DESCRIPTION} characters; null takes it away.`,
    ),
    enabled: optional(z.boolean()).describe('Whether it is called; true also ends a stop by the service.'),
  })
  .meta({ description: 'Changes of a webhook endpoint; what is left out stays as it is.' })

export const rotateWebhookSecretInput = z
  .object({
    overlapHours: z
      .int()
      .min(0)
      .max(MAX_OVERLAP_HOURS)
      .default(24)
      .describe(
        `Hours for which calls are signed with the secret before as well, 0 to ${MAX_OVERLAP_HOURS}; 24 by default.`,
      ),
  })
  .meta({ description: 'How the secret of webhooks is replaced.' })

export type CreateWebhookEndpointInput = z.infer<typeof createWebhookEndpointInput>
export type UpdateWebhookEndpointInput = z.infer<typeof updateWebhookEndpointInput>
