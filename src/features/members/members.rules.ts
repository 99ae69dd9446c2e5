import type { AssignedRole } from './members.input.ts'

export type Role = 'OWNER' | AssignedRole

/** Why a membership may not be changed; null when it may. */
export type Refusal = 'owner' | 'self' | null

type Membership = { userId: string; role: Role }

/** The owner stays the owner, whoever asks. */
export const refusalToChange = (target: Membership): Refusal => (target.role === 'OWNER' ? 'owner' : null)

/** Nobody can remove themselves, so that whoever may change members is still there afterwards. */
export function refusalToRemove(target: Membership, actorId: string | null): Refusal {
  return target.userId === actorId ? 'self' : refusalToChange(target)
}
