import type { KeyScope } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, idOf, requiredId } from '../../graphql/common-fields.ts'
import { defineEnum, inputArgument } from '../../graphql/inputs/zod-input.ts'
import { createApiKeyInput, rotateApiKeyInput } from './api-keys.input.ts'
import { createApiKey, listApiKeys, type NewApiKey, revokeApiKey, rotateApiKey } from './api-keys.ts'

const KeyScopeRef = defineEnum<KeyScope>('KeyScope', {
  description: 'What a further key of a project may do.',
  values: {
    FULL: { description: 'Everything that the secret key may do.' },
    READ: { description: 'Operations that only read.' },
    SEND: { description: 'To send mail: POST /v1/send.' },
    TRACK: { description: 'To track events: POST /v1/track, as the public key.' },
  },
})

const ApiKeyRef = builder.prismaObject('ApiKey', {
  description: 'A key of a project besides its public and its secret one.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('key')),
    name: t.exposeString('name', { description: 'What the key is for.' }),
    scope: t.expose('scope', { type: KeyScopeRef, description: 'What the key may do.' }),
    lastFour: t.exposeString('lastFour', { description: 'Last four characters of the key.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time from which the key is refused, in UTC with milliseconds; null: it has no end.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time when the key was last used, to ten minutes or so; null when it never was.',
    }),
    createdAt: t.expose('createdAt', CREATED_AT),
  }),
})

const NewApiKeyRef = builder.objectRef<NewApiKey>('NewApiKey').implement({
  description: 'A key that was just made.',
  fields: (t) => ({
    key: t.exposeString('key', {
      description: 'The key itself (ak_…). It is shown this once; the service keeps only its hash.',
    }),
    apiKey: t.expose('apiKey', { type: ApiKeyRef, description: 'What the service keeps of it.' }),
  }),
})

const PROJECT_ARGUMENT = {
  required: true,
  description: 'Id of the project, a UUID; one that is not yours is 404.',
} as const
const BY_ADMINS = { access: 'user', role: 'ADMIN', projectArgument: 'projectId' } as const

builder.queryField('apiKeys', (t) =>
  t.field({
    description: 'Keys of a project besides its public and its secret one, the newest first.',
    type: [ApiKeyRef],
    ...BY_ADMINS,
    args: { projectId: t.arg.id(PROJECT_ARGUMENT) },
    resolve: (_root, _args, ctx) => listApiKeys(ctx),
  }),
)

builder.mutationField('createApiKey', (t) =>
  t.field({
    description: 'Creates a further key of a project and returns it this once. A project has at most 50.',
    type: NewApiKeyRef,
    ...BY_ADMINS,
    args: {
      projectId: t.arg.id(PROJECT_ARGUMENT),
      input: t.arg(inputArgument('CreateApiKeyInput', createApiKeyInput, [KeyScopeRef])),
    },
    resolve: (_root, { input }, ctx) => createApiKey(ctx, input),
  }),
)

builder.mutationField('rotateApiKey', (t) =>
  t.field({
    description:
      'Makes a new key of the same name and kind and returns it this once; the one before works for a while as well.',
    type: NewApiKeyRef,
    ...BY_ADMINS,
    args: {
      projectId: t.arg.id(PROJECT_ARGUMENT),
      id: t.arg.id(requiredId('key')),
      input: t.arg(inputArgument('RotateApiKeyInput', rotateApiKeyInput)),
    },
    resolve: (_root, { id, input }, ctx) => rotateApiKey(ctx, id, input.overlapHours),
  }),
)

builder.mutationField('revokeApiKey', (t) =>
  t.field({
    description: 'Revokes a further key of a project: it is refused from then on.',
    type: ApiKeyRef,
    ...BY_ADMINS,
    args: { projectId: t.arg.id(PROJECT_ARGUMENT), id: t.arg.id(requiredId('key')) },
    resolve: (_root, { id }, ctx) => revokeApiKey(ctx, id),
  }),
)
