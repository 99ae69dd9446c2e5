import { type Statement, statement } from '../../db/sql.ts'

export type Sealed = { projectId: string; id: string; sealed: Buffer }
type Page = { afterProject: string; afterId: string; limit: number }
type Resealed = { projectId: string; id: string; before: Buffer; after: Buffer }

/** A column that holds secrets, as `Sealing` makes them. `read` goes through it by the primary key; a user is a project of its own here. */
type SealedColumn = {
  /** What they are, for the operator. */
  what: string
  read: Statement<Page, Sealed>
  /** Nothing happens when it was changed meanwhile. */
  write: Statement<Resealed, { id: string }>
}

const sealedColumn = (what: string, table: string, column: string, project = 'project_id'): SealedColumn => ({
  what,
  read: statement(
    `sealed-${table}-${column}`,
    `select ${project} as "projectId", id, ${column} as sealed from ${table}
     where ${column} is not null and (${project}, id) > (:afterProject::uuid, :afterId::uuid)
     order by ${project}, id limit :limit::int`,
  ),
  write: statement(
    `reseal-${table}-${column}`,
    `update ${table} set ${column} = :after::bytea
     where ${project} = :projectId::uuid and id = :id::uuid and ${column} = :before::bytea returning id`,
  ),
})

/** Every column that holds secrets. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  sealedColumn('DKIM keys', 'domains', 'dkim_private_key'),
  sealedColumn('new DKIM keys', 'domains', 'dkim_next_private_key'),
  sealedColumn('webhook secrets', 'webhook_secrets', 'secret'),
  sealedColumn('second factors', 'users', 'totp_secret', 'id'),
]
