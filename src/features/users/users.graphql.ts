import { builder } from '../../graphql/builder.ts'
import { CREATED_AT, idOf } from '../../graphql/common-fields.ts'
import { get } from '../../graphql/rest-route.ts'
import { ownUser } from './users.ts'

export const UserRef = builder.prismaObject('User', {
  description: 'Someone who can sign in.',
  fields: (t) => ({
    id: t.exposeID('id', idOf('user')),
    email: t.exposeString('email', { description: 'Address of the account, in lower case.' }),
    emailVerified: t.boolean({
      description: 'Whether the user has shown that the address is theirs.',
      resolve: ({ emailVerifiedAt }) => emailVerifiedAt !== null,
    }),
    secondFactor: t.boolean({
      description: 'Whether signing in with the password asks for a code as well.',
      resolve: ({ totpEnabledAt }) => totpEnabledAt !== null,
    }),
    createdAt: t.expose('createdAt', CREATED_AT),
  }),
})

builder.queryField('me', (t) =>
  t.field({
    description: 'The signed-in user.',
    type: UserRef,
    access: 'user',
    rest: get('/users/@me', 'Accounts'),
    resolve: (_root, _args, ctx) => ownUser(ctx),
  }),
)
