import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, idOf } from '../../graphql/common-fields.ts'
import { inputArgument } from '../../graphql/inputs/zod-input.ts'
import { create, get, post } from '../../graphql/rest-route.ts'
import { UserRef } from '../users/users.graphql.ts'
import {
  changePasswordInput,
  loginInput,
  requestPasswordResetInput,
  resetPasswordInput,
  signupInput,
  verifyEmailInput,
} from './auth.input.ts'
import { changePassword, requestPasswordReset, resetPassword } from './reset-password.ts'
import { endOwnSession, ownSessions, revokeSession } from './sessions.ts'
import { signIn } from './sign-in.ts'
import { signUp } from './sign-up.ts'
import { requestVerification, verifyEmail } from './verify-email.ts'

const OauthConfigurationRef = builder
  .objectRef<{ github: boolean; google: boolean }>('OauthConfiguration')
  .implement({
    description:
      'Providers through which people can sign in: a browser goes to /auth/oauth/github or /google.',
    fields: (t) => ({
      github: t.exposeBoolean('github', { description: 'Whether people can sign in through GitHub.' }),
      google: t.exposeBoolean('google', { description: 'Whether people can sign in through Google.' }),
    }),
  })

builder.queryField('oauthConfiguration', (t) =>
  t.field({
    description: 'The providers through which people can sign in here. Needs no key.',
    type: OauthConfigurationRef,
    access: 'anyone',
    rest: get('/auth/oauth-config', 'Accounts'),
    resolve: (_root, _args, { config: { oauth } }) => ({
      github: oauth.github !== null,
      google: oauth.google !== null,
    }),
  }),
)

builder.mutationField('login', (t) =>
  t.field({
    description:
      'Signs in with address and password: the answer sets the cookie token, for 7 days. Ten failures in 15 minutes lock the account out for the network address they came from.',
    type: UserRef,
    access: 'anyone',
    rest: post('/auth/login', 'Accounts', { errors: ['INVALID_CREDENTIALS'] }),
    args: { input: t.arg(inputArgument('LoginInput', loginInput)) },
    resolve: (_root, { input }, ctx) => signIn(ctx, input),
  }),
)

builder.mutationField('signup', (t) =>
  t.field({
    description: 'Creates an account and signs it in. With DISABLE_SIGNUPS only the first user can.',
    type: UserRef,
    access: 'anyone',
    rest: create('/auth/signup', 'Accounts', { errors: ['CONFLICT'] }),
    args: { input: t.arg(inputArgument('SignupInput', signupInput)) },
    resolve: (_root, { input }, ctx) => signUp(ctx, input),
  }),
)

builder.mutationField('logout', (t) =>
  t.field({
    description:
      'Ends the session of the request, if there is one, and removes its cookie. True in any case.',
    type: 'Boolean',
    access: 'anyone',
    rest: get('/auth/logout', 'Accounts'),
    resolve: async (_root, _args, ctx) => {
      await endOwnSession(ctx)
      return true
    },
  }),
)

builder.mutationField('confirmEmail', (t) =>
  t.field({
    description:
      'Confirms the address of an account with the token that was mailed to it; invitations of the address are accepted with that.',
    type: UserRef,
    access: 'anyone',
    rest: post('/auth/verify-email', 'Accounts'),
    args: { input: t.arg(inputArgument('ConfirmEmailInput', verifyEmailInput)) },
    resolve: (_root, { input }, ctx) => verifyEmail(ctx, input.token),
  }),
)

builder.mutationField('requestVerification', (t) =>
  t.field({
    description:
      'Mails the signed-in user another link that confirms the address, at most three mails an hour. True in any case.',
    type: 'Boolean',
    access: 'user',
    unverified: true,
    rest: post('/auth/request-verification', 'Accounts'),
    resolve: async (_root, _args, ctx) => {
      await requestVerification(ctx)
      return true
    },
  }),
)

builder.mutationField('requestPasswordReset', (t) =>
  t.field({
    description:
      'Mails a link that sets a new password, at most three mails an hour to an account. True also when the address has none.',
    type: 'Boolean',
    access: 'anyone',
    rest: post('/auth/request-password-reset', 'Accounts'),
    args: { input: t.arg(inputArgument('RequestPasswordResetInput', requestPasswordResetInput)) },
    resolve: async (_root, { input }, ctx) => {
      await requestPasswordReset(ctx, input.email)
      return true
    },
  }),
)

builder.mutationField('resetPassword', (t) =>
  t.field({
    description:
      'Sets a new password with the token of a mail and ends all sessions of the account. Sign in afterwards.',
    type: 'Boolean',
    access: 'anyone',
    rest: post('/auth/reset-password', 'Accounts'),
    args: { input: t.arg(inputArgument('ResetPasswordInput', resetPasswordInput)) },
    resolve: async (_root, { input }, ctx) => {
      await resetPassword(ctx, input.token, input.password)
      return true
    },
  }),
)

builder.mutationField('changePassword', (t) =>
  t.field({
    description: "Changes the password of the signed-in user and ends the user's other sessions.",
    type: 'Boolean',
    access: 'user',
    unverified: true,
    args: { input: t.arg(inputArgument('ChangePasswordInput', changePasswordInput)) },
    resolve: async (_root, { input }, ctx) => {
      await changePassword(ctx, input)
      return true
    },
  }),
)

const SessionRef = builder.prismaObject('Session', {
  description: 'A sign-in of a user, in one browser.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('session')),
    createdAt: t.expose('createdAt', CREATED_AT),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'Time when it ends by itself, in UTC with milliseconds.',
    }),
    current: t.boolean({
      description: 'Whether it is the session of this request.',
      resolve: ({ id }, _args, { actor }) => actor.kind === 'user' && actor.sessionId === id,
    }),
  }),
})

builder.queryField('sessions', (t) =>
  t.field({
    description: 'The newest 100 sessions of the signed-in user that have not ended, newest first.',
    type: [SessionRef],
    access: 'user',
    resolve: (_root, _args, ctx) => ownSessions(ctx),
  }),
)

builder.mutationField('revokeSession', (t) =>
  t.field({
    description: 'Ends a session of the signed-in user at once.',
    type: 'Boolean',
    access: 'user',
    unverified: true,
    args: {
      id: t.arg.id({ required: true, description: 'Id of the session, a UUID; one of others is 404.' }),
    },
    resolve: async (_root, { id }, ctx) => {
      await revokeSession(ctx, id)
      return true
    },
  }),
)
