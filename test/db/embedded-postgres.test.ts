import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { watch } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import * as assert from 'uvu/assert'
import { scenario } from '../support/scenario.ts'
import {
  ending,
  failure,
  query,
  removeHome,
  serverAccount,
  serverFile,
  serverPid,
  startServer,
} from './embedded-postgres-process.ts'

function start() {
  const home = mkdtempSync(join(tmpdir(), 'embedded postgres '))
  chmodSync(home, 0o700)
  return { home, dataDir: join(home, 'shared'), stop: () => removeHome(home) }
}

/** The command lines of all processes, seen again and again until the returned function is called. */
function watchCommands(): () => string[] {
  const seen = new Set<string>()
  const timer = setInterval(() => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        seen.add(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
      } catch {
        // It has ended meanwhile.
      }
    }
  }, 5)
  return () => {
    clearInterval(timer)
    return [...seen]
  }
}

async function logSays(dataDir: string, words: string): Promise<void> {
  const log = join(dataDir, 'postgres.log')
  for await (const _ of watch(log, { signal: AbortSignal.timeout(60_000) })) {
    if (readFileSync(log, 'utf8').includes(words)) return
  }
}

scenario('embedded PostgreSQL', start, (plainTest) => {
  const test = ending(plainTest)
  test('makes a cluster with a password that only its files hold', async ({ dataDir }) => {
    const seenCommands = process.platform === 'linux' ? watchCommands() : () => ['initdb']
    const server = await startServer({ dataDir })
    const commands = seenCommands()
    const password = readFileSync(join(dataDir, 'password'), 'utf8')
    assert.match(password, /^[0-9a-f]{64}$/)
    assert.is(statSync(join(dataDir, 'password')).mode & 0o777, 0o600)
    const { port, username, password: rolePassword } = new URL(server.url)
    assert.is(server.superuserUrl, `postgresql://postgres:${password}@127.0.0.1:${port}/mailwright`)
    assert.is(server.url, `postgresql://${username}:${rolePassword}@127.0.0.1:${port}/mailwright`)
    assert.match(rolePassword, /^[0-9a-f]{64}$/)
    assert.is.not(rolePassword, password)
    assert.ok(commands.some((command) => command.includes('initdb')))
    for (const [url, secret] of [
      [server.url, rolePassword],
      [server.superuserUrl, password],
    ] as const) {
      assert.not.ok(commands.some((command) => command.includes(secret)))
      assert.is(await failure(query(url.replace(secret, 'guess'), 'select 1')), '28P01')
    }
    await server.stop()
  })

  test('starts again after it was stopped, with the same address', async ({ dataDir }) => {
    const first = await startServer({ dataDir })
    await first.stop()
    assert.is(await failure(query(first.url, 'select 1')), 'ECONNREFUSED')
    const second = await startServer({ dataDir })
    assert.is(second.url, first.url)
    await second.stop()
  })

  test('is UTF8 with locale C, and reachable over the loopback address only', async ({ dataDir }) => {
    const settings = { listen_addresses: '*', unix_socket_directories: '/tmp', work_mem: '5MB' }
    const server = await startServer({ dataDir, settings })
    const { superuserUrl } = server
    const show = async (name: string) =>
      Object.values((await query(superuserUrl, `show ${name}`))[0] ?? {})[0]
    assert.is(await show('server_encoding'), 'UTF8')
    assert.equal(
      await query(
        server.url,
        'select datcollate, datctype from pg_database where datname = current_database()',
      ),
      [{ datcollate: 'C', datctype: 'C' }],
    )
    assert.is(await show('listen_addresses'), '127.0.0.1')
    assert.is(await show('unix_socket_directories'), '')
    assert.is(await show('work_mem'), '5MB')
    const methods = await query(superuserUrl, 'select distinct auth_method from pg_hba_file_rules')
    assert.equal(methods, [{ auth_method: 'scram-sha-256' }])
    await server.stop()
  })

  test('makes the database that is asked for', async ({ dataDir }) => {
    const database = 'a "second" one'
    const server = await startServer({ dataDir, database })
    assert.equal(await query(server.url, 'select current_database() as name'), [{ name: database }])
    await server.stop()
  })

  test('takes another port, and keeps it, when its own is in use', async ({ dataDir }) => {
    const first = await startServer({ dataDir })
    await first.stop()
    const other = createServer()
    await once(other.listen(Number(new URL(first.url).port), '127.0.0.1'), 'listening')
    const second = await startServer({ dataDir })
    await second.stop()
    await once(other.close(), 'close')
    assert.is.not(second.url, first.url)
    const third = await startServer({ dataDir })
    await third.stop()
    assert.is(third.url, second.url)
  })

  test('stops although a transaction is open', async ({ dataDir }) => {
    const server = await startServer({ dataDir })
    const client = new pg.Client(server.url)
    const broken = new Promise<Error>((resolve) => client.on('error', resolve))
    await client.connect()
    await client.query('begin')
    await server.stop()
    assert.match((await broken).message, /administrator command/)
    assert.is(await failure(query(server.url, 'select 1')), 'ECONNREFUSED')
  })

  test('stops by force when it does not end in time, and loses nothing committed', async ({ dataDir }) => {
    const server = await startServer({ dataDir, stopWithinMs: 100 })
    await query(server.url, 'create table kept as select 42 as value')
    const select = "select pid from pg_stat_activity where backend_type = 'checkpointer'"
    const checkpointer = Number((await query(server.superuserUrl, select))[0]?.pid)
    process.kill(checkpointer, 'SIGSTOP')
    await server.stop()
    assert.is(await failure(query(server.url, 'select 1')), 'ECONNREFUSED')
    const next = await startServer({ dataDir })
    assert.equal(await query(next.url, 'select value from kept'), [{ value: 42 }])
    await next.stop()
  })

  test('recovers when the server was killed, once the last part of it has gone too', async ({ dataDir }) => {
    const first = await startServer({ dataDir })
    await query(first.url, 'create table after_kill as select 43 as value')
    const select = "select pid from pg_stat_activity where backend_type = 'walwriter'"
    const walwriter = Number((await query(first.superuserUrl, select))[0]?.pid)
    const pid = serverPid(dataDir)
    const refused = logSays(dataDir, 'pre-existing shared memory block')
    process.kill(walwriter, 'SIGSTOP')
    process.kill(pid, 'SIGKILL')
    const [second] = await Promise.all([
      startServer({ dataDir }),
      refused.then(() => process.kill(walwriter, 'SIGCONT')),
    ])
    assert.is.not(serverPid(dataDir), pid)
    assert.equal(await query(second.url, 'select value from after_kill'), [{ value: 43 }])
    await first.stop()
    await second.stop()
    assert.is(await failure(query(second.url, 'select 1')), 'ECONNREFUSED')
  })

  test('starts when the pid of a dead server is now another program of the same user', async ({
    dataDir,
  }) => {
    const first = await startServer({ dataDir })
    const left = readFileSync(serverFile(dataDir), 'utf8')
    await first.stop()
    const other = spawn('/bin/sleep', ['300'], { ...serverAccount(dataDir), cwd: '/' })
    writeFileSync(serverFile(dataDir), left.replace(/^\d+/, String(other.pid)))
    const second = await startServer({ dataDir })
    assert.is.not(serverPid(dataDir), other.pid)
    await second.stop()
    assert.is(other.exitCode, null)
    assert.ok(other.kill())
  })

  test('says why the server refuses to start, with the end of its log, and starts the next time', async ({
    dataDir,
  }) => {
    const settings = { shared_buffers: 'nonsense' }
    const message = await failure(startServer({ dataDir, settings }))
    assert.match(message, /did not start.*\n.*invalid value for parameter "shared_buffers": "nonsense"/)
    assert.equal(readdirSync(join(dataDir, 'users')), [])
    const server = await startServer({ dataDir })
    await server.stop()
  })

  test('keeps the log small', async ({ dataDir }) => {
    const log = join(dataDir, 'postgres.log')
    appendFileSync(log, `${'old '.repeat(2_000_000)}\nlast old line\n`)
    const server = await startServer({ dataDir })
    await server.stop()
    assert.ok(statSync(log).size < 1_000_000)
    assert.match(readFileSync(log, 'utf8'), /last old line\n.*starting PostgreSQL/)
  })

  test('removes what a half-way initdb has left', async ({ home }) => {
    const dataDir = join(home, 'half-way')
    mkdirSync(join(dataDir, 'new-cluster-1', 'base'), { recursive: true })
    writeFileSync(join(dataDir, 'new-cluster-1', 'PG_VERSION'), '18\n')
    writeFileSync(join(dataDir, 'password'), 'of a cluster that was never finished')
    const server = await startServer({ dataDir })
    assert.equal(await query(server.url, 'select 1 as one'), [{ one: 1 }])
    await server.stop()
    assert.equal(readdirSync(dataDir).sort(), [
      'cluster',
      'locks',
      'password',
      'port',
      'postgres.log',
      'users',
    ])
  })
})
