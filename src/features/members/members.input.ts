import { z } from 'zod'
import { email } from '../../messages/message.input.ts'

/** A project has one owner, from the beginning: nobody is made one. */
export const assignedRole = z.enum(['ADMIN', 'MEMBER']).meta({
  id: 'AssignedRole',
  description: 'Role in the project: ADMIN or MEMBER. The owner is who created the project.',
})

export const inviteMemberInput = z
  .object({
    email: email.describe(
      'Address of the person. Without an account it becomes a pending invitation, which signing up with the address accepts.',
    ),
    role: assignedRole,
  })
  .meta({
    description: 'Whom to invite, and as what.',
    examples: [{ email: 'grace@example.com', role: 'MEMBER' }],
  })

export const changeRoleInput = z
  .object({ role: assignedRole })
  .meta({ description: 'The new role.', examples: [{ role: 'ADMIN' }] })

export type InviteMemberInput = z.output<typeof inviteMemberInput>
export type AssignedRole = z.output<typeof assignedRole>
