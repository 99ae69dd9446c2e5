import { createHmac } from 'node:crypto'
import type pg from 'pg'

// The role of the service. It owns its database and nothing else: an attacker who gets its connection can
// neither read files nor run programs of the machine, as a superuser can.

export const SERVICE_ROLE = 'mailwright'

/** Follows from the superuser's, so that a copy of the folder needs no other file. */
export function rolePassword(superuserPassword: string): string {
  return createHmac('sha256', superuserPassword).update(`role ${SERVICE_ROLE}`).digest('hex')
}

/** Creates the role and the database if they are missing. `client` is connected as the superuser. */
export async function ensureRoleAndDatabase(
  client: pg.Client,
  { password, database }: { password: string; database: string },
): Promise<void> {
  const role = client.escapeIdentifier(SERVICE_ROLE)
  const known = await client.query('select from pg_roles where rolname = $1', [SERVICE_ROLE])
  await client.query(
    `${known.rowCount === 0 ? 'create' : 'alter'} role ${role} with login nosuperuser nocreatedb nocreaterole
     noreplication nobypassrls password ${client.escapeLiteral(password)}`,
  )
  const found = await client.query('select from pg_database where datname = $1', [database])
  if (found.rowCount === 0) {
    await client.query(`create database ${client.escapeIdentifier(database)} owner ${role}`)
  }
}

/**
 * The superuser's objects in a database, with the word that ALTER has for each. Sequences of columns and
 * objects of extensions follow their owners.
 */
const OWNED = `
  select kind, name from (
    select 'schema' as kind, oid, 'pg_namespace'::regclass as catalogue, quote_ident(nspname) as name,
      nspowner as owner, oid as schema, '' as relkind from pg_namespace
    union all
    select 'table', oid, 'pg_class'::regclass, oid::regclass::text, relowner, relnamespace, relkind
      from pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    union all
    select 'routine', oid, 'pg_proc'::regclass, oid::regprocedure::text, proowner, pronamespace, '' from pg_proc
    union all
    select 'type', oid, 'pg_type'::regclass, oid::regtype::text, typowner, typnamespace, ''
      from pg_type where typtype in ('d', 'e', 'r')
  ) as thing
  where owner = current_user::regrole
    and schema not in (select oid from pg_namespace where nspname ~ '^pg_' or nspname = 'information_schema')
    and not exists (select from pg_depend where classid = catalogue and objid = thing.oid
      and (deptype = 'e' or relkind = 'S' and deptype in ('a', 'i')))`

/** Gives a database of the superuser to the role, all or nothing. `client` is the superuser's, in that database. */
export async function handOver(client: pg.Client, database: string): Promise<void> {
  const role = client.escapeIdentifier(SERVICE_ROLE)
  const { rows } = await client.query<{ kind: string; name: string }>(OWNED)
  const commands = rows.map(({ kind, name }) => `alter ${kind} ${name} owner to ${role}`)
  // One message, so one transaction.
  await client.query(
    [...commands, `alter database ${client.escapeIdentifier(database)} owner to ${role}`].join(';'),
  )
}

/** Whether the role of this connection owns the database. */
export async function ownsDatabase(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ owns: boolean }>(
    'select datdba = current_user::regrole as owns from pg_database where datname = current_database()',
  )
  return rows[0]?.owns === true
}
