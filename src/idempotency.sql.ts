import { type Statement, shortStatement } from './db/sql.ts'

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
 * Reserves a key for the request `$4`, made with the secret key or not (`$8`). A row that is past its time (`$6`), or
 * that is still open although the longest request has ended (`$7`), gives way: an answer is stored in the same commit
 * as the work, so an abandoned reservation proves that nothing was done. Returns no row when the key is taken.
 */
export const reserveKey: Statement<{ holder: string }> = shortStatement(
  'reserve-idempotency-key',
  `insert into idempotency_keys as k (project_id, key, holder, request, created_at, with_secret_key)
   values ($1::uuid, $2, $3::uuid, $4, $5::timestamptz, $8::boolean)
   on conflict (project_id, key) do update set
     holder = excluded.holder, request = excluded.request, created_at = excluded.created_at,
     with_secret_key = excluded.with_secret_key, body_hash = null, status_code = null, response = null
   where k.created_at <= $6::timestamptz or (k.status_code is null and k.created_at <= $7::timestamptz)
   returning holder`,
)

export const storedRequest: Statement<StoredRequest> = shortStatement(
  'stored-idempotent-request',
  `select key, holder, request, body_hash as "bodyHash", status_code as "statusCode", response,
     created_at as "createdAt", with_secret_key as "withSecretKey"
   from idempotency_keys where project_id = $1::uuid and key = $2`,
)

export const releaseKey: Statement<{ key: string }> = shortStatement(
  'release-idempotency-key',
  `delete from idempotency_keys
   where project_id = $1::uuid and key = $2 and holder = $3::uuid and status_code is null`,
)

/** For an answer that is not part of a commit: a failure of ours (5xx). */
export const rememberFailure: Statement<{ key: string }> = shortStatement(
  'remember-idempotent-failure',
  `update idempotency_keys set status_code = $4::int, body_hash = $5, response = $6
   where project_id = $1::uuid and key = $2 and holder = $3::uuid and status_code is null`,
)

/**
 * The part of a working statement that stores the first answer: a CTE over the row `answer(response)`,
 * with the holder's parameters. Its gate, `reservationHolds`, lets nothing happen once the reservation is lost;
 * it locks the row, so that nobody can take the key over between the gate and the commit.
 */
export const rememberAnswer = (projectId: string, key: string, holder: string, hash: string) =>
  `update idempotency_keys set status_code = 200, body_hash = ${hash}, response = answer.response
   from answer where project_id = ${projectId} and key = ${key} and holder = ${holder}`

export const reservationHolds = (projectId: string, key: string, holder: string) =>
  `exists (select from idempotency_keys
     where project_id = ${projectId} and key = ${key} and holder = ${holder} and status_code is null for update)`
