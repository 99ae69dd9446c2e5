import { statement } from '../../db/sql.ts'

/** Uses the code of a period up; no row when it, or one of a later period, was used already. */
export const useStep = statement<{ userId: string; step: number }, { id: string }>(
  'use-totp-step',
  `update users set totp_step = :step::bigint where id = :userId::uuid and totp_step < :step::bigint returning id`,
)

/** Uses a recovery code up; no row when it is none, or was used. */
export const useRecoveryCode = statement<{ userId: string; hash: Buffer }, { id: string }>(
  'use-recovery-code',
  `update users set recovery_hashes = array_remove(recovery_hashes, :hash)
   where id = :userId::uuid and :hash = any (recovery_hashes) returning id`,
)
