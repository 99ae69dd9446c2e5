import { statement } from '../../db/sql.ts'

/** Membership of a project changes by one request at a time: what one has found out stays true until its commit. */
export const lockMembers = statement<{ projectId: string }>(
  'lock-members',
  'select id from projects where id = :projectId::uuid for no key update',
)

/** Who invites an address, or withdraws that, and who signs up with it wait for each other, so that neither misses what the other does. */
export const lockAddress = statement<{ email: string }>(
  'lock-invited-address',
  `select pg_advisory_xact_lock(hashtextextended('invited ' || :email, 0))::text`,
)
