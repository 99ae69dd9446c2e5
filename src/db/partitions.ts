import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'

/** A partition by ranges of ids: from `from` up to, without, `to`. Null is no bound. `options` are those of its storage. */
export type Partition = { name: string; from: string | null; to: string | null; options: string }

/** All traffic of a table queues up behind a statement that waits for its lock. */
const LOCK_TIMEOUT_MS = 250
const ATTEMPTS = 40
const PAUSE_MS = 500
/** Reading a large table once, which holds nobody up. */
const STATEMENT_TIMEOUT_MS = 1_800_000
/** Any number, as long as it is ours. */
const ADVISORY_LOCK = 1836544618

/** Ends the name of the constraint that a partition has while it gets its bound. */
const BOUND = '_end'

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK = '40P01'

/**
 * Runs work that changes partitions, on a connection of its own, one at a time of all processes. Returns false, without
 * running it, when another process does.
 */
export async function changingPartitions(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<void>,
): Promise<boolean> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    lock_timeout: LOCK_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    keepAlive: true,
  })
  // A connection that breaks must not end the process: its next query fails.
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query('select pg_try_advisory_lock($1) as locked', [ADVISORY_LOCK])
    if (!rows[0]?.locked) return false
    await work(client)
    return true
  } finally {
    await client.end()
  }
}

/** The partitions of a table in the order of their ranges. */
export async function partitionsOf(client: pg.Client, table: string): Promise<Partition[]> {
  const { rows } = await client.query<{ name: string; bounds: string; options: string }>(
    `select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds,
       coalesce(array_to_string(c.reloptions, ', '), '') as options
     from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::regclass`,
    [table],
  )
  return rows
    .map(({ name, bounds, options }) => {
      const [, from = null, to = null] =
        /FROM \((?:MINVALUE|'(.*)')\) TO \((?:MAXVALUE|'(.*)')\)/.exec(bounds) ?? []
      return { name, from, to, options }
    })
    .sort((a, b) => (a.from ?? '').localeCompare(b.from ?? ''))
}

/** Drops a partition with all that is in it. Throws when its table is in use for too long. */
export const dropPartition = (client: pg.Client, { name }: Partition): Promise<void> =>
  patiently(client, [`drop table ${client.escapeIdentifier(name)}`])

/**
 * Ends the last partition of a table at the id `to`, and makes a new last one, `next`, for what follows. Its rows are compared
 * with the bound while they can be read and written, so the table is held for some milliseconds only. Until it is done,
 * no row can be added from `to` on, so `to` has to be far ahead. Throws when there is such a row already, and when
 * the table is in use for too long.
 */
export async function endPartition(
  client: pg.Client,
  table: string,
  last: Partition,
  { to, next }: { to: string; next: string },
): Promise<void> {
  const [parent, partition, following, check] = [table, last.name, next, last.name + BOUND].map((name) =>
    client.escapeIdentifier(name),
  )
  const bound = client.escapeLiteral(to)
  const from = last.from === null ? 'minvalue' : client.escapeLiteral(last.from)
  const dropCheck = `alter table ${partition} drop constraint if exists ${check}`
  try {
    await patiently(client, [
      dropCheck,
      `alter table ${partition} add constraint ${check} check (id < ${bound}) not valid`,
    ])
    await patiently(client, [`alter table ${partition} validate constraint ${check}`])
    await patiently(client, [
      `alter table ${parent} detach partition ${partition}`,
      `alter table ${parent} attach partition ${partition} for values from (${from}) to (${bound})`,
      `create table ${following} partition of ${parent} for values from (${bound}) to (maxvalue)
         ${last.options === '' ? '' : `with (${last.options})`}`,
      dropCheck,
    ])
  } catch (error) {
    await patiently(client, [dropCheck])
    throw error
  }
}

/** Takes a bound off that `endPartition` has left behind because its process ended; rows from there on would be refused. */
export async function removeUnusedBounds(client: pg.Client, partitions: readonly Partition[]): Promise<void> {
  const { rows } = await client.query<{ table: string; name: string }>(
    `select conrelid::regclass::text as table, conname as name from pg_constraint
     where conrelid = any($1::regclass[]) and contype = 'c' and right(conname, ${BOUND.length}) = '${BOUND}'`,
    [partitions.map(({ name }) => client.escapeIdentifier(name))],
  )
  for (const { table, name } of rows) {
    await patiently(client, [
      `alter table ${table} drop constraint if exists ${client.escapeIdentifier(name)}`,
    ])
  }
}

/**
 * Counts anew, once a day, what the planner has to know of a table as a whole: autovacuum only looks at its partitions. Leaves
 * out what is locked.
 */
export async function analyzeDaily(client: pg.Client, table: string): Promise<void> {
  const { rows } = await client.query<{ due: boolean }>(
    `select coalesce(last_analyze < now() - interval '1 day', true) as due from pg_stat_user_tables
     where relid = $1::regclass`,
    [table],
  )
  if (rows[0]?.due) await client.query(`analyze (skip_locked) ${client.escapeIdentifier(table)}`)
}

/** Runs statements as one transaction, again and again when a lock is not to be had. */
async function patiently(client: pg.Client, statements: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query('begin')
      for (const text of statements) await client.query(text)
      await client.query('commit')
      return
    } catch (error) {
      await client.query('rollback')
      if (attempt === ATTEMPTS || !isBusy(error)) throw error
      await pause(PAUSE_MS)
    }
  }
}

const isBusy = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && (error.code === LOCK_NOT_AVAILABLE || error.code === DEADLOCK)
