import { z } from 'zod'
import type { Ctx } from '../../../ctx.ts'
import { projectIdOf } from '../../../ctx.ts'
import { AppError } from '../../../errors.ts'
import { json, optional } from '../../../lib/fields.ts'
import { newId } from '../../../lib/ids.ts'
import { variablesIn } from '../../emails/compose.ts'
import { render } from '../../templates/render.ts'
import type { WorkflowCall } from '../../webhooks/workflow-calls.ts'
import { type At, defineStep } from './define-step.ts'
import {
  callFrom,
  isAddressTemplate,
  METHODS,
  problemOfHeader,
  textsOf,
  type WebhookConfig,
} from './webhook.rules.ts'

const MAX_URL = 2_000
const MAX_HEADER = 998

const headers = z.record(z.string().max(100), z.string().max(MAX_HEADER)).check(({ value, issues }) => {
  for (const name of Object.keys(value)) {
    const message = problemOfHeader(name)
    if (message !== null) issues.push({ code: 'custom', input: value, path: [name], message })
  }
})

const schema: z.ZodType<WebhookConfig> = z
  .object({
    url: z
      .string()
      .max(MAX_URL)
      .refine(
        isAddressTemplate,
        'must begin with https:// or http:// and a host without variables; they may stand in the path and the query',
      ),
    method: z.enum(METHODS),
    headers: optional(headers),
    body: json.optional(),
  })
  .refine(({ method, body }) => method !== 'GET' || body === undefined || body === null, {
    error: 'must not be given with GET',
    path: ['body'],
  })

export const webhookStep = defineStep({
  title: 'Webhook',
  schema,
  templates: textsOf,
  run: async (config, at, tx) => {
    const { ended } = at
    if (ended === null) {
      const call = await fillCall(tx, config, at)
      return { kind: 'wait', until: null, event: null, call, output: { callId: call.id } }
    }
    if (!ended.succeeded) {
      throw new AppError(
        'EXTERNAL_SERVICE_ERROR',
        `The webhook has failed: ${ended.error ?? 'it is not known why.'}`,
      )
    }
    return { kind: 'done', branch: null, output: { callId: ended.id, status: ended.httpStatus } }
  },
})

/** Throws VALIDATION_ERROR for what the values make of it, and as `render` does. */
async function fillCall(
  tx: Ctx,
  config: WebhookConfig,
  { executionId, contactId, subject, context, now }: At,
): Promise<WorkflowCall> {
  const id = newId(now)
  const { email, subscribed, data } = subject.contact
  const contact = { projectId: projectIdOf(tx), contactId, emailId: id, email, subscribed, data }
  const texts = textsOf(config)
  const templates = texts.map(({ template }) => template)
  const variables = variablesIn(tx.config, templates, contact, { event: context })
  const filled = callFrom(config, await render(tx, 'texts', { texts, variables }))
  if (typeof filled === 'string') throw new AppError('VALIDATION_ERROR', filled)
  return { ...filled, id, executionId, contactId }
}
