import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { migrate } from '../../src/db/migrations/migrate.ts'
import { scenario } from '../support/scenario.ts'
import { ending, failure, query, removeHome, startServer } from './embedded-postgres-process.ts'

function start() {
  const home = mkdtempSync(join(tmpdir(), 'embedded-role-'))
  return { dataDir: join(home, 'postgres'), stop: () => removeHome(home) }
}

const DENIED = '42501'

/** What a superuser would do with the machine, or with other databases. */
const FORBIDDEN = [
  "copy (select 1) to program 'true'",
  "copy (select 1) to '/tmp/mailwright-role'",
  "select pg_read_file('/etc/passwd')",
  "select pg_ls_dir('/')",
  "select lo_import('/etc/passwd')",
  "alter system set log_statement = 'all'",
  'create role other superuser',
  'alter role mailwright superuser',
  'create database other',
  'create extension adminpack',
  'create extension file_fdw',
  "create function run(text) returns int language c as 'libc', 'system'",
  'alter role postgres password null',
  'set role postgres',
  'set session authorization postgres',
  'select rolpassword from pg_authid',
]

/** As versions made it whose service was the superuser. */
const OLD = `
  create schema work;
  create extension pg_trgm;
  create type work.state as enum ('on', 'off');
  create domain positive as int check (value > 0);
  create table things (id serial primary key, other int generated always as identity, state work.state, n positive);
  create sequence loose;
  create view seen as select * from things;
  create materialized view counted as select count(*) from things;
  create table work.parts (id int, at date) partition by range (at);
  create table work.part partition of work.parts for values from ('2026-01-01') to ('2027-01-01');
  create unlogged table fast (id int primary key references things);
  create function work.twice(n int) returns int language sql as 'select n * 2';
  create procedure nothing() language sql as '';
  insert into things (state, n) values ('on', 1)`

/** What needs the owner, of each kind. */
const CHANGES = `
  alter table things add column more text;
  alter table fast add column more text;
  alter sequence loose restart;
  alter sequence things_id_seq restart with 7;
  create or replace view seen as select id, other, state, n, more from things;
  refresh materialized view counted;
  alter type work.state add value 'broken';
  alter domain positive drop constraint positive_check;
  create index on work.part (id);
  alter table work.parts add column more text;
  create or replace function work.twice(n int) returns int language sql as 'select n + n';
  drop procedure nothing();
  create table work.new (id int);
  drop schema work cascade;
  create schema work;
  create index on things using gin (more gin_trgm_ops);
  create extension if not exists pg_trgm;
  create extension btree_gin`

scenario('the role of the embedded PostgreSQL', start, (plainTest) => {
  const test = ending(plainTest)

  test('owns its database, and is no superuser', async ({ dataDir }) => {
    const { url } = await startServer({ dataDir })
    for (const statement of FORBIDDEN) {
      const code = await failure(query(url, statement))
      assert.ok([DENIED, '0A000', '28000', '58P01'].includes(code), `${statement}: ${code}`)
    }
    const [role] = await query(url, 'select * from pg_roles where rolname = current_user')
    const rights = ['rolsuper', 'rolcreaterole', 'rolcreatedb', 'rolreplication', 'rolbypassrls']
    assert.equal(
      rights.map((right) => role?.[right]),
      rights.map(() => false),
    )
    assert.equal(await query(url, 'select from pg_auth_members where member = current_user::regrole'), [])
    const owner =
      'select datdba = current_user::regrole as mine from pg_database where datname = current_database()'
    assert.equal(await query(url, owner), [{ mine: true }])
    assert.ok((await migrate(url)).applied.length > 0)
  })

  test('takes over what the superuser has made, at one start', async ({ dataDir }) => {
    const database = 'an "old" one'
    const first = await startServer({ dataDir })
    await query(first.superuserUrl, 'create database "an ""old"" one"')
    const old = new URL(first.superuserUrl)
    old.pathname = encodeURIComponent(database)
    await query(old.href, OLD)
    await first.stop()
    const second = await startServer({ dataDir, database })
    assert.equal(await query(second.url, 'select state, n from things'), [{ state: 'on', n: 1 }])
    assert.is(await failure(query(second.url, CHANGES)), 'no error')
    await second.stop()
    const third = await startServer({ dataDir, database })
    assert.equal(await query(third.url, 'select n from things'), [{ n: 1 }])
    await third.stop()
  })

  test('takes over a migrated database, of which migrations go on', async ({ dataDir }) => {
    const database = 'migrated'
    const first = await startServer({ dataDir })
    await query(first.superuserUrl, `create database ${database}`)
    await migrate(first.superuserUrl.replace(/mailwright$/, database))
    await first.stop()
    const { url } = await startServer({ dataDir, database })
    assert.equal((await migrate(url)).applied, [])
    const foreign = `select relname from pg_class
      where relnamespace = 'public'::regnamespace and relowner <> current_user::regrole`
    assert.equal(await query(url, foreign), [])
    assert.is(await failure(query(url, 'alter table projects add column more text')), 'no error')
    assert.is(await failure(query(url, 'create table public.more ()')), 'no error')
  })
})
