import type { WebhookStatus } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, idOf, idOfOther, requiredId, timeWhen, UPDATED_AT } from '../../graphql/common-fields.ts'
import { cursorArguments, cursorPageOf } from '../../graphql/cursor-page.ts'
import { defineEnum, inputArgument } from '../../graphql/inputs/zod-input.ts'
import { createEndpoint, deleteEndpoint, listEndpoints, testEndpoint, updateEndpoint } from './endpoints.ts'
import { getCall, type LoggedCall, listCalls, replay } from './messages.ts'
import { type RotatedSecret, rotateWebhookSecret } from './secrets.ts'
import {
  createWebhookEndpointInput,
  rotateWebhookSecretInput,
  updateWebhookEndpointInput,
} from './webhooks.input.ts'

const WebhookEndpointRef = builder.prismaObject('WebhookEndpoint', {
  description: 'An address that is called when events happen. Calls are signed as Standard Webhooks says.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('webhook endpoint')),
    url: t.exposeString('url', { description: 'Address that is called, http or https.' }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'Note for people, at most 500 characters; null without one.',
    }),
    eventNames: t.exposeStringList('eventNames', {
      description:
        'Names of the events that it is told of; `email.*` and `contact.*` stand for all of a kind.',
    }),
    enabled: t.exposeBoolean('enabled', { description: 'Whether it is called.' }),
    failingSince: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description:
        'Time of the first call that failed since one succeeded; null when the last one succeeded. After five days the service stops calling it.',
    }),
    disabledReason: t.exposeString('disabledReason', {
      nullable: true,
      description: 'Reason why the service stopped calling it; null when it did not.',
    }),
    createdAt: t.expose('createdAt', CREATED_AT),
    updatedAt: t.expose('updatedAt', UPDATED_AT),
  }),
})

const WebhookStatusRef = defineEnum<WebhookStatus>('WebhookStatus', {
  description: 'State of a call of a webhook.',
  values: {
    PENDING: { description: 'A call that waits to be made, or to be tried again.' },
    SENT: { description: 'A call that was answered with a status of 2xx.' },
    FAILED: { description: 'A call that was given up; `replayWebhookCall` makes it again.' },
  },
})

const WebhookAttemptRef = builder.prismaObject('WebhookAttempt', {
  description: 'One try of a call, and what came of it.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Address that answered, after redirects.' }),
    status: t.exposeInt('status', {
      nullable: true,
      description: 'HTTP status of the answer; null without an answer.',
    }),
    answer: t.exposeString('answer', {
      nullable: true,
      description: 'Beginning of the answer, at most 4 KB; null without an answer.',
    }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'Reason why the try failed; null when it succeeded.',
    }),
    tookMs: t.exposeInt('tookMs', { description: 'Duration in milliseconds; 0 when nothing was called.' }),
    createdAt: t.expose('createdAt', { ...CREATED_AT, description: 'Time when the try ended, in UTC.' }),
  }),
})

const WebhookCallRef = builder.objectRef<LoggedCall>('WebhookCall').implement({
  description:
    'A call of a webhook: what is sent, and every try. Calls that have ended are kept for 30 days.',
  fields: (t) => ({
    id: t.exposeID('id', {
      description: 'Identifies the call, a UUID; receivers get it as `webhook-id`, the same with each try.',
    }),
    endpointId: t.exposeID('endpointId', {
      nullable: true,
      ...idOfOther('the endpoint, which may have been deleted since', 'when a workflow calls'),
    }),
    executionId: t.exposeID('executionId', {
      nullable: true,
      ...idOfOther('the execution of a workflow whose step calls', 'when an endpoint is called'),
    }),
    eventName: t.exposeString('eventName', {
      description: 'Name of the event that it tells of; `workflow.webhook` when a step of a workflow calls.',
    }),
    url: t.exposeString('url', { description: 'Address as it was when the call was written.' }),
    method: t.exposeString('method', { description: 'HTTP method.' }),
    body: t.exposeString('body', { description: 'Body that is sent, JSON for events.' }),
    status: t.expose('status', { type: WebhookStatusRef, description: 'State of the call.' }),
    attempts: t.exposeInt('attempts', { description: 'Number of tries so far, 8 at most.' }),
    dueAt: t.expose('dueAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the next try, in UTC; null when there is none.',
    }),
    tries: t.field({
      type: [WebhookAttemptRef],
      description: 'Tries in the order of time, those before a replay as well.',
      resolve: ({ tries }) => tries,
    }),
    createdAt: t.expose('createdAt', CREATED_AT),
    endedAt: t.expose('endedAt', timeWhen('the call succeeded or was given up')),
  }),
})

const CreatedWebhookEndpointRef = builder
  .objectRef<Awaited<ReturnType<typeof createEndpoint>>>('CreatedWebhookEndpoint')
  .implement({
    description: 'A new webhook endpoint.',
    fields: (t) => ({
      endpoint: t.expose('endpoint', { type: WebhookEndpointRef, description: 'The endpoint.' }),
      secret: t.exposeString('secret', {
        nullable: true,
        description:
          'Secret that calls of the project are signed with, shown this once with the first endpoint; else null. `rotateWebhookSecret` gives a new one.',
      }),
    }),
  })

const RotatedWebhookSecretRef = builder.objectRef<RotatedSecret>('RotatedWebhookSecret').implement({
  description: 'A new secret that calls are signed with.',
  fields: (t) => ({
    secret: t.exposeString('secret', { description: 'Secret, `whsec_` and base64; it is shown this once.' }),
    previousExpireAt: t.expose('previousExpireAt', {
      type: 'DateTime',
      description: 'Time until which calls are signed with the secrets before as well, in UTC.',
    }),
  }),
})

const ENDPOINT_ID = requiredId('webhook endpoint')
const CALL_ID = requiredId('webhook call')

builder.queryField('webhookEndpoints', (t) =>
  t.field({
    description: 'All webhook endpoints of the project, the newest first.',
    type: [WebhookEndpointRef],
    access: 'secretKey',
    resolve: (_root, _args, ctx) => listEndpoints(ctx),
  }),
)

builder.queryField('webhookCalls', (t) =>
  t.field({
    description: 'The log of calls of webhooks, the newest first.',
    type: cursorPageOf('WebhookCallPage', WebhookCallRef),
    access: 'secretKey',
    args: {
      endpointId: t.arg.id({ description: 'Id of the endpoint whose calls to return; without it all.' }),
      status: t.arg({ type: WebhookStatusRef, description: 'State of the calls to return; without it all.' }),
      ...cursorArguments,
    },
    resolve: (_root, args, ctx) => listCalls(ctx, args),
  }),
)

builder.queryField('webhookCall', (t) =>
  t.field({
    description: 'One call of a webhook with every try.',
    type: WebhookCallRef,
    access: 'secretKey',
    args: { id: t.arg.id(CALL_ID) },
    resolve: (_root, { id }, ctx) => getCall(ctx, id),
  }),
)

builder.mutationField('createWebhookEndpoint', (t) =>
  t.field({
    description: 'Has an address be called when events happen, from now on. A project has at most 50.',
    type: CreatedWebhookEndpointRef,
    access: 'secretKey',
    args: { input: t.arg(inputArgument('CreateWebhookEndpointInput', createWebhookEndpointInput)) },
    resolve: (_root, { input }, ctx) => createEndpoint(ctx, input),
  }),
)

builder.mutationField('updateWebhookEndpoint', (t) =>
  t.field({
    description: 'Changes a webhook endpoint, or stops or goes on calling it.',
    type: WebhookEndpointRef,
    access: 'secretKey',
    args: {
      id: t.arg.id(ENDPOINT_ID),
      input: t.arg(inputArgument('UpdateWebhookEndpointInput', updateWebhookEndpointInput)),
    },
    resolve: (_root, { id, input }, ctx) => updateEndpoint(ctx, id, input),
  }),
)

builder.mutationField('deleteWebhookEndpoint', (t) =>
  t.field({
    description: 'Deletes a webhook endpoint. Calls that wait are given up at their turn; the log stays.',
    type: WebhookEndpointRef,
    access: 'secretKey',
    args: { id: t.arg.id(ENDPOINT_ID) },
    resolve: (_root, { id }, ctx) => deleteEndpoint(ctx, id),
  }),
)

builder.mutationField('testWebhookEndpoint', (t) =>
  t.field({
    description:
      'Sends a call `webhook.test` to an endpoint, in the background. `webhookCall` tells what came of it.',
    type: WebhookCallRef,
    access: 'secretKey',
    args: { id: t.arg.id(ENDPOINT_ID) },
    resolve: async (_root, { id }, ctx) => getCall(ctx, await testEndpoint(ctx, id)),
  }),
)

builder.mutationField('replayWebhookCall', (t) =>
  t.field({
    description: 'Makes a call that has ended again: the same content with the same id.',
    type: WebhookCallRef,
    access: 'secretKey',
    args: { id: t.arg.id(CALL_ID) },
    resolve: (_root, { id }, ctx) => replay(ctx, id),
  }),
)

builder.mutationField('rotateWebhookSecret', (t) =>
  t.field({
    description: 'Replaces the secret that calls of the project are signed with, and returns the new one.',
    type: RotatedWebhookSecretRef,
    access: 'secretKey',
    args: { input: t.arg(inputArgument('RotateWebhookSecretInput', rotateWebhookSecretInput)) },
    resolve: (_root, { input }, ctx) => rotateWebhookSecret(ctx, input.overlapHours),
  }),
)
