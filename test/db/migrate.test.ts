import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import * as assert from 'uvu/assert'
import { MigrationError, migrate, pendingMigrations } from '../../src/db/migrations/migrate.ts'
import { scenario } from '../support/scenario.ts'
import { scratchDatabase } from '../support/scratch-database.ts'

const FIRST = '20250101000000_first'
const SECOND = '20250102000000_second'
const THIRD = '20250103000000_third'

const TABLE = 'create table one (id int primary key);\ninsert into one values (1);'
const FUNCTION = `-- Semicolons; not only at the end.
create function two() returns int language plpgsql as $$ begin perform 1; return 2; end $$;
insert into one values (2);`
/** The table of Prisma's schema engine 7, as versions before have left it. */
const PRISMA_HISTORY = `create table _prisma_migrations (
  id varchar(36) primary key not null, checksum varchar(64) not null, finished_at timestamptz,
  migration_name varchar(255) not null, logs text, rolled_back_at timestamptz,
  started_at timestamptz not null default now(), applied_steps_count integer not null default 0)`
const CONCURRENT_INDEX = 'create index concurrently one_id on one (id);'

/** A database and a folder of migrations for each test. */
async function workshop() {
  const root = await mkdtemp(join(tmpdir(), 'migrate-test-'))
  const open: { stop(): Promise<void> }[] = []
  return {
    async stage(migrations: Record<string, string>) {
      const database = await scratchDatabase()
      open.push(database)
      const folder = await mkdtemp(join(root, 'migrations-'))
      const write = async (name: string, sql: string) => {
        await mkdir(join(folder, name), { recursive: true })
        await writeFile(join(folder, name, 'migration.sql'), sql)
      }
      for (const [name, sql] of Object.entries(migrations)) await write(name, sql)
      return {
        ...database,
        folder,
        write,
        remove: (name: string) => rm(join(folder, name), { recursive: true }),
      }
    },
    async stop() {
      await Promise.all(open.map((database) => database.stop()))
      await rm(root, { recursive: true })
    },
  }
}

async function rejection(work: Promise<unknown>): Promise<MigrationError> {
  try {
    await work
  } catch (error) {
    if (error instanceof MigrationError) return error
    throw error
  }
  throw new Error('it did not fail')
}

async function one(pool: pg.Pool, query: string): Promise<unknown> {
  const { rows } = await pool.query({ text: query, rowMode: 'array' })
  return rows[0]?.[0]
}

/** Advisory locks of this database. */
const ADVISORY_LOCKS = `select count(*)::int from pg_locks join pg_database on pg_database.oid = database
  where locktype = 'advisory' and datname = current_database()`

scenario('Migrating', workshop, (test) => {
  test('two at once both succeed, and one of them does it all', async ({ stage }) => {
    const { url, pool, folder } = await stage({
      [FIRST]: TABLE,
      [SECOND]: FUNCTION,
      [THIRD]: CONCURRENT_INDEX,
    })
    const results = await Promise.all([migrate(url, { folder }), migrate(url, { folder })])
    assert.equal(
      results.map(({ applied }) => applied).sort((a, b) => a.length - b.length),
      [[], [FIRST, SECOND, THIRD]],
    )
    assert.is(await one(pool, 'select two() + count(*)::int from one'), 4)
    assert.is(await one(pool, 'select count(*)::int from _prisma_migrations'), 3)
    assert.is(await one(pool, ADVISORY_LOCKS), 0)
  })

  test('a second run applies nothing, and a third only what is new', async ({ stage }) => {
    const { url, pool, folder, write } = await stage({ [FIRST]: TABLE })
    assert.equal(await pendingMigrations(pool, folder), [FIRST])
    assert.equal(await migrate(url, { folder }), { applied: [FIRST] })
    assert.equal(await migrate(url, { folder }), { applied: [] })
    await write(SECOND, FUNCTION)
    assert.equal(await pendingMigrations(pool, folder), [SECOND])
    assert.equal(await migrate(url, { folder }), { applied: [SECOND] })
    assert.equal(await pendingMigrations(pool, folder), [])
  })

  test('leaves no timer that keeps the process alive', async ({ stage }) => {
    const { url, folder } = await stage({ [FIRST]: TABLE })
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
    const before = timers()
    await migrate(url, { folder })
    assert.is(timers(), before)
  })

  test('a migration that was changed after it was applied is named', async ({ stage }) => {
    const { url, folder, write } = await stage({ [FIRST]: TABLE })
    await migrate(url, { folder })
    await write(FIRST, `${TABLE}\n`)
    const error = await rejection(migrate(url, { folder }))
    assert.is(error.migration, FIRST)
    assert.match(error.message, 'was changed after it was applied')
  })

  test('a database of a newer version is refused, but older processes stay ready', async ({ stage }) => {
    const { url, pool, folder, remove } = await stage({ [FIRST]: TABLE, [SECOND]: FUNCTION })
    await migrate(url, { folder })
    await remove(SECOND)
    const error = await rejection(migrate(url, { folder }))
    assert.is(error.migration, SECOND)
    assert.match(error.message, 'which this version cannot work with: start the newer version')
    assert.equal(await pendingMigrations(pool, folder), [])
  })

  test('a database that newer versions have only expanded goes on with this one', async ({ stage }) => {
    const { url, folder, write, remove } = await stage({ [FIRST]: TABLE, [THIRD]: `-- expand\n${FUNCTION}` })
    await migrate(url, { folder })
    await remove(THIRD)
    assert.equal(await migrate(url, { folder }), { applied: [] })
    await write(SECOND, 'alter table one add column name text;')
    assert.equal(await migrate(url, { folder }), { applied: [SECOND] })
  })

  test('a database that was migrated with the tools of Prisma is gone on with', async ({ stage }) => {
    const { url, pool, folder } = await stage({
      [FIRST]: TABLE,
      [SECOND]: FUNCTION,
      [THIRD]: CONCURRENT_INDEX,
    })
    await pool.query(`${TABLE} ${PRISMA_HISTORY}`)
    await pool.query(
      `insert into _prisma_migrations (id, checksum, migration_name, finished_at, rolled_back_at, logs)
       values ('1', $1, $2, now(), null, null), ('2', 'x', $3, null, now(), 'broken'), ('3', 'x', $3, null, null, 'broken')`,
      [createHash('sha256').update(TABLE).digest('hex'), FIRST, SECOND],
    )
    assert.equal(await pendingMigrations(pool, folder), [SECOND, THIRD])
    assert.equal(await migrate(url, { folder }), { applied: [SECOND, THIRD] })
    assert.equal(await migrate(url, { folder }), { applied: [] })
  })
})

scenario('A migration that fails', workshop, (test) => {
  const BROKEN = 'create table two (id int);\n\ninsert into nowhere values (1);'

  test('is named with its line, and leaves nothing behind', async ({ stage }) => {
    const { url, pool, folder } = await stage({ [FIRST]: TABLE, [SECOND]: BROKEN, [THIRD]: FUNCTION })
    const error = await rejection(migrate(url, { folder }))
    assert.is(error.migration, SECOND)
    assert.match(error.message, `${SECOND} failed at line 3: relation "nowhere" does not exist`)
    assert.instance(error.cause, pg.DatabaseError)
    assert.equal(await pendingMigrations(pool, folder), [SECOND, THIRD])
    assert.is(await one(pool, `select to_regclass('two')::text`), null)
    assert.is(await one(pool, ADVISORY_LOCKS), 0)
  })

  test('is tried again by the next run', async ({ stage }) => {
    const { url, pool, folder, write } = await stage({ [FIRST]: TABLE, [SECOND]: BROKEN })
    await rejection(migrate(url, { folder }))
    assert.is((await rejection(migrate(url, { folder }))).migration, SECOND)
    await write(SECOND, FUNCTION)
    assert.equal(await migrate(url, { folder }), { applied: [SECOND] })
    assert.is(await one(pool, 'select two()'), 2)
  })
})

scenario('A migration that has to wait', workshop, (test) => {
  const ALTER = 'alter table one add column name text;'

  /** Runs `work` while another connection keeps the table. */
  async function whileTableIsLocked(pool: pg.Pool, work: () => Promise<void>): Promise<void> {
    const holder = await pool.connect()
    try {
      await holder.query('begin')
      await holder.query('lock table one in access exclusive mode')
      await work()
    } finally {
      await holder.query('rollback')
      holder.release()
    }
  }

  test('for a table fails after the lock time-out', async ({ stage }) => {
    const { url, pool, folder, write } = await stage({ [FIRST]: TABLE })
    await migrate(url, { folder })
    await write(SECOND, ALTER)
    await whileTableIsLocked(pool, async () => {
      const error = await rejection(migrate(url, { folder, lockTimeoutMs: 20, statementTimeoutMs: 5_000 }))
      assert.match(error.message, `${SECOND} failed: canceling statement due to lock timeout`)
    })
  })

  test('for another process gives up after a while', async ({ stage }) => {
    const { url, pool, folder, write } = await stage({ [FIRST]: TABLE })
    await migrate(url, { folder })
    await write(SECOND, ALTER)
    let slow: Promise<PromiseSettledResult<{ applied: string[] }>[]> | undefined
    await whileTableIsLocked(pool, async () => {
      slow = Promise.allSettled([migrate(url, { folder })])
      while ((await one(pool, `${ADVISORY_LOCKS} and granted`)) !== 1) await setTimeout(5)
      const error = await rejection(migrate(url, { folder, waitMs: 0 }))
      assert.match(error.message, 'Another process has been migrating this database')
    })
    assert.equal(await slow, [{ status: 'fulfilled', value: { applied: [SECOND] } }])
  })
})
