import { shortStatement, statement } from '../../db/sql.ts'
import type { UserTokenPurpose } from '../../generated/prisma/enums.ts'

/** The lock lets requests at the same time be counted one after the other. Index: users_email_key. */
export const lockUser = statement<{ email: string }, { id: string; verified: boolean }>(
  'lock-user',
  'select id, email_verified_at is not null as verified from users where email = :email for update',
)

/** Index: user_tokens_user_id_created_at_idx. */
export const countTokens = statement<{ userId: string; since: Date }, { count: number }>(
  'count-user-tokens',
  `select count(*)::int as count from user_tokens
   where user_id = :userId::uuid and created_at > :since::timestamptz`,
)

/** The row stays, because it counts; its end is brought forward. */
export const useToken = shortStatement<
  { hash: Buffer; purpose: UserTokenPurpose; now: Date },
  { userId: string }
>(
  'use-user-token',
  `update user_tokens set expires_at = :now::timestamptz
   where hash = :hash and purpose = :purpose::user_token_purpose and expires_at > :now::timestamptz
   returning user_id as "userId"`,
)
