import { shortStatement } from '../db/sql.ts'

export type StoredRequest = {
  key: string
  holder: string
  request: string
  bodyHash: Buffer | null
  statusCode: number | null
  response: string | null
  createdAt: Date
  /** The public key is told nothing of it. */
  withSecretKey: boolean
}

/**
 * Reserves a key for a request. A row from before `expired`, or one from before `abandoned` that is still open although
 * the longest request has ended, gives way: an answer is stored in the same commit as the work, so an abandoned
 * reservation proves that nothing was done. Returns no row when the key is taken.
 */
export const reserveKey = shortStatement<
  {
    projectId: string
    key: string
    holder: string
    request: string
    now: Date
    expired: Date
    abandoned: Date
    withSecretKey: boolean
  },
  { holder: string }
>(
  'reserve-idempotency-key',
  `insert into idempotency_keys as k (project_id, key, holder, request, created_at, with_secret_key)
   values (:projectId::uuid, :key, :holder::uuid, :request, :now::timestamptz, :withSecretKey::boolean)
   on conflict (project_id, key) do update set
     holder = excluded.holder, request = excluded.request, created_at = excluded.created_at,
     with_secret_key = excluded.with_secret_key, body_hash = null, status_code = null, response = null
   where k.created_at <= :expired::timestamptz
     or (k.status_code is null and k.created_at <= :abandoned::timestamptz)
   returning holder`,
)

export const storedRequest = shortStatement<{ projectId: string; key: string }, StoredRequest>(
  'stored-idempotent-request',
  `select key, holder, request, body_hash as "bodyHash", status_code as "statusCode", response,
     created_at as "createdAt", with_secret_key as "withSecretKey"
   from idempotency_keys where project_id = :projectId::uuid and key = :key`,
)

export const releaseKey = shortStatement<{ projectId: string; key: string; holder: string }, { key: string }>(
  'release-idempotency-key',
  `delete from idempotency_keys
   where project_id = :projectId::uuid and key = :key and holder = :holder::uuid and status_code is null`,
)

/** Stores an answer that is not part of a commit: a failure of ours (5xx). */
export const rememberFailure = shortStatement<
  {
    projectId: string
    key: string
    holder: string
    statusCode: number
    bodyHash: Buffer | null
    answer: string
  },
  { key: string }
>(
  'remember-idempotent-failure',
  `update idempotency_keys set status_code = :statusCode::int, body_hash = :bodyHash, response = :answer
   where project_id = :projectId::uuid and key = :key and holder = :holder::uuid and status_code is null`,
)

/** The key that a request has reserved; with `projectId`, the parameters of the two parts below. */
export type HeldKey = { key: string; holder: string; bodyHash: Buffer | null }

/**
 * The part of a working statement that stores the first answer: a CTE over the row `answer(response)`. Its
 * gate, `RESERVATION_HOLDS`, lets nothing happen once the reservation is lost; it locks the row, so that no
 * other request can take the key over between the gate and the commit.
 */
export const REMEMBER_ANSWER = `
  update idempotency_keys set status_code = 200, body_hash = :bodyHash, response = answer.response
  from answer where project_id = :projectId::uuid and key = :key and holder = :holder::uuid`

export const RESERVATION_HOLDS = `exists (select from idempotency_keys
  where project_id = :projectId::uuid and key = :key and holder = :holder::uuid and status_code is null
    for update)`
