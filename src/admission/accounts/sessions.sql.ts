import { shortStatement } from '../../db/sql.ts'
import type { Role } from '../../generated/prisma/enums.ts'
import { PROJECT_OF_P, type ProjectIdentity } from '../access.sql.ts'

export type SessionRow = {
  userId: string
  email: string
  verified: boolean
  /** The project and the role in it; null when none was named, or the user is no member. */
  project: ProjectIdentity | null
  role: Role | null
}

/** The signed-in user, with the project that the request names. Indexes: the primary keys. */
export const sessionById = shortStatement<
  { sessionId: string; projectId: string | null; now: Date },
  SessionRow
>(
  'session-by-id',
  `select u.id as "userId", u.email, u.email_verified_at is not null as verified, m.role,
     case when p.id is not null then ${PROJECT_OF_P} end as project
   from sessions s join users u on u.id = s.user_id
   left join members m on m.project_id = :projectId::uuid and m.user_id = u.id
   left join projects p on p.id = m.project_id
   where s.id = :sessionId::uuid and s.expires_at > :now::timestamptz`,
)
