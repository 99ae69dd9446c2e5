import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { startApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { createLog } from '../../src/observe/log.ts'
import { removeHome, serverFile, serverPid } from '../db/embedded-postgres-process.ts'
import { scenario } from '../support/scenario.ts'
import { until } from '../support/service.ts'
import { commands, startCli } from './cli-process.ts'

/** One folder for all tests: what an earlier command stored is there for the next one. */
function start() {
  const home = mkdtempSync(join(tmpdir(), 'mailwright-cli-'))
  const env = { DATA_DIR: join(home, 'data') }
  return { env, cli: commands(env), postgres: join(env.DATA_DIR, 'postgres'), stop: () => removeHome(home) }
}

scenario('cli on the embedded database', start, (test) => {
  test('works while the service is stopped, and leaves no server behind', async ({ cli, env, postgres }) => {
    // The first start logs that it has migrated the database, but not on standard output.
    const made = await cli.json(['project', 'create', '--name', 'First'], { ...env, LOG_LEVEL: 'debug' })
    assert.not.ok(existsSync(serverFile(postgres)))
    const listed = await cli.json(['project', 'list'])
    assert.equal(
      listed.map(({ id }: { id: string }) => id),
      [made.id],
    )
    assert.not.ok(existsSync(serverFile(postgres)))
  })

  test('shares the server of a running service, and leaves it running', async ({ cli, env, postgres }) => {
    const config = loadConfig({ NODE_ENV: 'test', PORT: '0', ...env })
    const app = await startApp(config, createLog('silent'))
    try {
      const pid = serverPid(postgres)
      const made = await cli.json(['project', 'create', '--name', 'Second'])
      const { host, port } = app.config
      const answer = await fetch(`http://${host}:${port}/domains/project/${made.id}`, {
        headers: { authorization: `Bearer ${made.secret}` },
        signal: AbortSignal.timeout(10_000),
      })
      assert.is(answer.status, 200)
      assert.is(serverPid(postgres), pid)
    } finally {
      await app.stop()
    }
    assert.not.ok(existsSync(serverFile(postgres)))
  })

  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    test(`leaves no server behind at ${signal}`, async ({ env, postgres }) => {
      const { child, ended } = startCli(['project', 'list'], env)
      await until('the server starts', () => existsSync(serverFile(postgres)))
      child.kill(signal)
      assert.equal(await ended, { code, stdout: '', stderr: 'error: Interrupted.\n' })
      assert.not.ok(existsSync(serverFile(postgres)))
    })
  }
})
