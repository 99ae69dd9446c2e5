import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import * as assert from 'uvu/assert'
import { listen } from '../support/listen.ts'
import { scenario } from '../support/scenario.ts'
import { scratchDatabase } from '../support/scratch-database.ts'
import { cloneDatabase, until } from '../support/service.ts'
import { endProcess, launchProcess, ownPort, startProcess } from '../support/service-process.ts'

const ROOT = path.join(import.meta.dirname, '..', '..')

async function start() {
  const database = await cloneDatabase()
  const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-serve-'))
  const env = {
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    HOST: '127.0.0.1',
    PORT: String(await ownPort()),
  }
  const stop = async () => {
    rmSync(dataDir, { recursive: true, force: true })
    await database.drop()
  }
  return { env, stop }
}

/** What a start that must fail says. */
async function refusal(env: Record<string, string>): Promise<string> {
  const service = launchProcess(env)
  const { code } = await service.exited
  assert.is(code, 1, service.output())
  const [line = '', ...more] = service.output().trimEnd().split('\n')
  assert.equal(more, [], 'more than one line')
  return line
}

scenario('A start that cannot succeed says what to do, on one line', start, (test) => {
  test('when the port is taken', async ({ env }) => {
    const other = createServer()
    const port = await listen(other)
    const line = await refusal({ ...env, PORT: String(port) }).finally(() => other.close())
    assert.is(
      line,
      `Port ${port} of 127.0.0.1 is taken. Stop what uses it, or start with another PORT (0 takes any free one).`,
    )
  })

  test('when settings are not valid', async ({ env }) => {
    const line = await refusal({ ...env, PORT: 'abc', DATABASE_URL: 'mysql://a:b@127.0.0.1/c' })
    assert.match(
      line,
      /^The configuration is not valid: PORT: must be a number; DATABASE_URL: must be the address of a PostgreSQL database: postgres:/,
    )
    assert.match(
      await refusal({ ...env, DATABASE_URL: `${env.DATABASE_URL}?schema=My-Mail` }),
      /DATABASE_URL: its \?schema= must be lower-case letters/,
    )
    assert.match(
      await refusal({ ...env, HOST: '192.0.2.1' }),
      /^This machine has no address 192\.0\.2\.1\. Correct HOST\.$/,
    )
  })

  test('when the database refuses the connection', async ({ env }) => {
    const wrong = new URL(env.DATABASE_URL)
    wrong.password = 'wrong'
    assert.match(
      await refusal({ ...env, DATABASE_URL: wrong.href }),
      /^The database refuses the connection: password authentication failed .*Correct the user and the password in DATABASE_URL\.$/,
    )
    const missing = new URL(env.DATABASE_URL)
    missing.pathname = '/missing'
    assert.match(
      await refusal({ ...env, DATABASE_URL: missing.href }),
      /"missing" does not exist\. Create the database, or correct its name/,
    )
  })
})

scenario('A database of others', scratchDatabase, (test) => {
  test('is left alone', async ({ url, pool }) => {
    await pool.query('create table orders (id int); create table customers (id int)')
    const line = await refusal({ DATABASE_URL: url, PORT: '0' })
    assert.match(
      line,
      /^The database scratch_\w+ has tables of something else \(customers, orders\)\. Give Mailwright a database of its own/,
    )
    await pool.query(
      'create table _prisma_migrations (migration_name text, checksum text, started_at timestamptz, finished_at timestamptz, rolled_back_at timestamptz, logs text)',
    )
    await pool.query(`insert into _prisma_migrations values ('2020_shop', 'x', now(), now(), null, null)`)
    assert.match(
      await refusal({ DATABASE_URL: url, PORT: '0' }),
      /^The database has migrations of another program, such as 2020_shop\./,
    )
    const { rows } = await pool.query(
      `select count(*)::int as count from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
    )
    assert.equal(rows, [{ count: 3 }])
  })
})

scenario('A start that succeeds', start, (test) => {
  test('says where it listens, where mail goes, and how to get keys', async ({ env }) => {
    const first = await startProcess({ ...env, SMTP_URL: 'smtp://user:secret-word@smtp.example:587' })
    const said = first.output()
    await endProcess(first)
    assert.match(said, new RegExp(`Listens {4}127\\.0\\.0\\.1, port ${env.PORT}\n`))
    assert.match(said, /Mail {7}leaves by SMTP, through smtp\.example:587\n/)
    assert.match(said, /API_URL is not set: links in mail that leaves lead to http:\/\/127\.0\.0\.1:\d+, /)
    assert.match(said, /A demo project was created/)
    assert.not.match(said, /secret-word/)
    const second = await startProcess(env)
    await endProcess(second)
    assert.match(second.output(), /Mail {7}stays here, in the mailbox: http:\/\/127\.0\.0\.1:\d+\/mailbox\n/)
    assert.match(
      second.output(),
      /Keys {7}npm run -s cli -- project create --name NAME, or project rotate-keys/,
    )
    assert.not.match(second.output(), /API_URL/)
  })

  test('by npm ends when npm’s shell is told to', async ({ env }) => {
    const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'))
    const child = spawn('sh', ['-c', scripts.start], {
      cwd: ROOT,
      env: { ...process.env, NODE_ENV: 'test', LOG_LEVEL: 'warn', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
    const exited = once(child, 'exit')
    await until('it is ready', () => output.includes('Mailwright is ready'), 60_000)
    child.kill('SIGTERM')
    // Of its own accord, not of the signal.
    assert.equal(await exited, [0, null])
  })
})

scenario('A production start on an empty database', start, (test) => {
  test('says what to do first', async ({ env }) => {
    const service = await startProcess({
      ...env,
      NODE_ENV: 'production',
      JWT_SECRET: '3f1c9b7ad2e84650b1c7f09e6a5d8234',
      API_URL: 'https://mail.example',
      MAIL_PROVIDER: 'mailbox',
    })
    await endProcess(service)
    assert.match(
      service.output(),
      /There is no project yet\. Create one, with its keys: npm run -s cli -- project create --name/,
    )
  })
})
