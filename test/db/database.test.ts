import * as assert from 'uvu/assert'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { type None, shortStatement, statement, violates } from '../../src/db/sql.ts'
import { scenario } from '../support/scenario.ts'
import { type ScratchDatabase, scratchDatabase } from '../support/scratch-database.ts'

type Opened = ScratchDatabase & { database: Database }

/** One connection of each kind, so that a statement meets the one that the statement before has used. */
async function start(): Promise<Opened> {
  const scratch = await scratchDatabase()
  const onError = () => {}
  const database = openDatabase(scratch.url, {
    poolSize: 1,
    workerPoolSize: 1,
    pipelines: 1,
    statementTimeoutMs: 5_000,
    onError,
  })
  const stop = async () => {
    await database.close()
    await scratch.stop()
  }
  await scratch.pool.query('create table things (id int primary key)')
  return { ...scratch, database, stop }
}

const STATEMENTS = [
  ['a short statement', shortStatement, 'one'],
  ['a statement', statement, 'two'],
] as const
const AT_ONCE = 20

scenario('Connections', start, (test) => {
  for (const [what, make, column] of STATEMENTS) {
    const pid = make<None, { pid: number }>('pid', 'select pg_backend_pid() as pid')
    const add = make<{ id: number }>('add', 'insert into things values (:id::int)')
    const all = make<None>('all', 'select * from things')
    const atOnce = (database: Database) =>
      Promise.all(Array.from({ length: AT_ONCE }, () => database.sql(all, {})))

    test(`are kept after ${what} that broke a constraint`, async ({ database, pool }) => {
      await pool.query('truncate things')
      const before = await database.sql(pid, {})
      await database.sql(add, { id: 1 })
      for (let again = 0; again < 3; again += 1) {
        await database.sql(add, { id: 1 }).then(
          () => assert.unreachable(),
          (error) => assert.ok(violates(error, 'things_pkey')),
        )
      }
      assert.equal(await database.sql(pid, {}), before)
    })

    test(`are replaced when ${what} has other columns since a migration`, async ({ database, pool }) => {
      await pool.query('truncate things')
      await database.sql(add, { id: 1 })
      await atOnce(database)
      const before = await database.sql(pid, {})
      await pool.query(`alter table things add column ${column} int`)
      for (const [row] of await atOnce(database)) assert.ok(row && column in row)
      assert.is.not((await database.sql(pid, {}))[0]?.pid, before[0]?.pid)
    })

    test(`are replaced when the server has forgotten ${what}`, async ({ database }) => {
      const before = await database.sql(pid, {})
      await database.sql(make<None>('forget', 'deallocate all'), {})
      assert.is((await atOnce(database)).length, AT_ONCE)
      assert.is.not((await database.sql(pid, {}))[0]?.pid, before[0]?.pid)
    })
  }

  test('of Prisma are kept after a constraint was broken', async ({ database: { prisma } }) => {
    const pid = () => prisma.$queryRawUnsafe<{ pid: number }[]>('select pg_backend_pid() as pid')
    const before = await pid()
    await prisma.$executeRawUnsafe('insert into things values (7)')
    for (let again = 0; again < 3; again += 1) {
      await prisma.$executeRawUnsafe('insert into things values (7)').then(
        () => assert.unreachable(),
        () => {},
      )
    }
    assert.equal(await pid(), before)
  })

  test('are replaced when the server has ended them', async ({ database, pool }) => {
    const pid = statement<None, { pid: number }>('pid', 'select pg_backend_pid() as pid')
    const [before] = await database.sql(pid, {})
    const end = statement<None>('end', 'select pg_terminate_backend(pg_backend_pid())')
    await database.sql(end, {}).then(
      () => assert.unreachable(),
      () => {},
    )
    const [after] = await database.sql(pid, {})
    assert.is.not(after?.pid, before?.pid)
    const gone = await pool.query('select from pg_stat_activity where pid = $1', [before?.pid])
    assert.is(gone.rowCount, 0)
  })
})
