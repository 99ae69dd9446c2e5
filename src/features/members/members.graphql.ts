import type { Role } from '../../generated/prisma/enums.ts'
import { builder } from '../../graphql/builder.ts'
import { defineEnum, inputArgument } from '../../graphql/inputs/zod-input.ts'
import { create, get, patch, remove } from '../../graphql/rest-route.ts'
import { type AssignedRole, changeRoleInput, inviteMemberInput } from './members.input.ts'
import {
  changeRole,
  inviteMember,
  listInvitations,
  listMembers,
  type MemberView,
  removeMember,
  withdrawInvitation,
} from './members.ts'

export const RoleRef = defineEnum<Role>('Role', {
  description: 'What a member of a project may do.',
  values: {
    OWNER: { description: 'Who created the project: everything, also to delete it. There is exactly one.' },
    ADMIN: { description: 'Everything but deleting the project: settings, keys, domains, members, billing.' },
    MEMBER: {
      description: 'To read, and to work on contacts, templates, campaigns, segments and workflows.',
    },
  },
})

const AssignedRoleRef = defineEnum<AssignedRole>('AssignedRole', {
  description: 'A role that can be given to a member.',
  values: {
    ADMIN: { description: 'An administrator of the project.' },
    MEMBER: { description: 'Somebody who works with the contents of the project.' },
  },
})

const MemberRef = builder.objectRef<MemberView>('Member').implement({
  description: 'A user who belongs to a project, or is invited to it.',
  fields: (t) => ({
    userId: t.exposeID('userId', {
      nullable: true,
      description: 'Id of the user, a UUID; null while an invitation waits for somebody to sign up.',
    }),
    email: t.exposeString('email', { description: 'Address of the account, or of the invitation.' }),
    role: t.expose('role', { type: RoleRef, description: 'Role in the project.' }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'Time when the user became a member, or was invited, in UTC with milliseconds.',
    }),
  }),
})

const PROJECT = {
  required: true,
  description: 'Id of the project, a UUID; one that is not yours is 404.',
} as const
const USER = { required: true, description: 'Id of the user, a UUID; one who is no member is 404.' } as const
const BY_ADMINS = { access: 'user', role: 'ADMIN', projectArgument: 'id' } as const

builder.queryField('members', (t) =>
  t.field({
    description: 'The members of a project, the oldest first.',
    type: [MemberRef],
    access: 'user',
    projectArgument: 'id',
    rest: get('/projects/:id/members', 'Members'),
    args: { id: t.arg.id(PROJECT) },
    resolve: (_root, _args, ctx) => listMembers(ctx),
  }),
)

builder.queryField('invitations', (t) =>
  t.field({
    description: 'Invitations to a project that wait for somebody to sign up, the oldest first.',
    type: [MemberRef],
    access: 'user',
    projectArgument: 'id',
    args: { id: t.arg.id(PROJECT) },
    resolve: (_root, _args, ctx) => listInvitations(ctx),
  }),
)

builder.mutationField('inviteMember', (t) =>
  t.field({
    description:
      'Makes the user with an address a member. Without such an account it becomes a pending invitation, which signing up with the address accepts. A mail tells them.',
    type: MemberRef,
    ...BY_ADMINS,
    rest: create('/projects/:id/members', 'Members', { errors: ['CONFLICT', 'FORBIDDEN'] }),
    args: {
      id: t.arg.id(PROJECT),
      input: t.arg(inputArgument('InviteMemberInput', inviteMemberInput, [AssignedRoleRef])),
    },
    resolve: (_root, { input }, ctx) => inviteMember(ctx, input),
  }),
)

builder.mutationField('withdrawInvitation', (t) =>
  t.field({
    description: 'Withdraws an invitation that waits.',
    type: 'Boolean',
    ...BY_ADMINS,
    args: {
      id: t.arg.id(PROJECT),
      email: t.arg.string({ required: true, description: 'Address that was invited, in lower case.' }),
    },
    resolve: async (_root, { email }, ctx) => {
      await withdrawInvitation(ctx, email)
      return true
    },
  }),
)

builder.mutationField('changeMemberRole', (t) =>
  t.field({
    description: 'Gives a member another role. The owner stays the owner.',
    type: MemberRef,
    ...BY_ADMINS,
    rest: patch('/projects/:id/members/:userId', 'Members', { errors: ['FORBIDDEN'] }),
    args: {
      id: t.arg.id(PROJECT),
      userId: t.arg.id(USER),
      input: t.arg(inputArgument('ChangeMemberRoleInput', changeRoleInput, [AssignedRoleRef])),
    },
    resolve: (_root, { userId, input }, ctx) => changeRole(ctx, userId, input.role),
  }),
)

builder.mutationField('removeMember', (t) =>
  t.field({
    description:
      'Takes a member out of the project; requests of that user are refused from then on. Not the owner, and not oneself.',
    type: 'Boolean',
    ...BY_ADMINS,
    rest: remove('/projects/:id/members/:userId', 'Members', { errors: ['FORBIDDEN'] }),
    args: { id: t.arg.id(PROJECT), userId: t.arg.id(USER) },
    resolve: async (_root, { userId }, ctx) => {
      await removeMember(ctx, userId)
      return true
    },
  }),
)
