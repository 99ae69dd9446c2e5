import { builder } from '../../graphql/builder.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { ownUser } from '../users/users.ts'
import { beginSecondFactorInput, confirmSecondFactorInput, removeSecondFactorInput } from './auth.input.ts'
import {
  beginSecondFactor,
  confirmSecondFactor,
  removeSecondFactor,
  type SecondFactorSecret,
} from './second-factor.ts'
import { checkOwnPassword } from './sign-in.ts'

const SecondFactorSecretRef = builder.objectRef<SecondFactorSecret>('SecondFactorSecret').implement({
  description: 'What an authenticator app has to be told, once.',
  fields: (t) => ({
    secret: t.exposeString('secret', { description: 'The secret in base32, to be typed.' }),
    uri: t.exposeString('uri', {
      description: 'The same as an address otpauth://, to be shown as a QR code.',
    }),
  }),
})

builder.mutationField('beginSecondFactor', (t) =>
  t.field({
    description:
      'Makes a secret for an authenticator app (TOTP, RFC 6238). It counts once confirmSecondFactor was called with a code of it.',
    type: SecondFactorSecretRef,
    access: 'user',
    unverified: true,
    args: { input: t.arg(inputArgument('BeginSecondFactorInput', beginSecondFactorInput)) },
    resolve: async (_root, { input }, ctx) =>
      beginSecondFactor(ctx, await checkOwnPassword(ctx, input.password, undefined)),
  }),
)

builder.mutationField('confirmSecondFactor', (t) =>
  t.field({
    description:
      'Turns the second factor on: signing in with the password asks for a code from then on. Returns ten recovery codes, each good for one sign-in; they are shown only here.',
    type: ['String'],
    access: 'user',
    unverified: true,
    args: { input: t.arg(inputArgument('ConfirmSecondFactorInput', confirmSecondFactorInput)) },
    resolve: async (_root, { input }, ctx) => confirmSecondFactor(ctx, await ownUser(ctx), input.code),
  }),
)

builder.mutationField('removeSecondFactor', (t) =>
  t.field({
    description: 'Turns the second factor off, and forgets the secret and the recovery codes.',
    type: 'Boolean',
    access: 'user',
    unverified: true,
    args: { input: t.arg(inputArgument('RemoveSecondFactorInput', removeSecondFactorInput)) },
    resolve: async (_root, { input }, ctx) => {
      await removeSecondFactor(ctx, await checkOwnPassword(ctx, input.password, input.code))
      return true
    },
  }),
)
