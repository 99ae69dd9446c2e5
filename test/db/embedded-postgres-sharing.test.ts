import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, watch, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { scenario } from '../support/scenario.ts'
import {
  ending,
  failure,
  query,
  removeHome,
  serverPid,
  startServer,
  startService,
} from './embedded-postgres-process.ts'

function start() {
  const home = mkdtempSync(join(tmpdir(), 'embedded-postgres-'))
  const dataDir = () => join(home, randomUUID())
  return { home, dataDir, stop: () => removeHome(home) }
}

scenario('embedded PostgreSQL shared by processes', start, (plainTest) => {
  const test = ending(plainTest)
  test('is out of reach of Ctrl-C until the service has drained', async ({ dataDir }) => {
    const service = startService({ dataDir: dataDir() })
    const url = await service.said()
    service.interruptGroup()
    assert.is(await service.said(), 'drained')
    await service.ended()
    assert.is(await failure(query(url, 'select 1')), 'ECONNREFUSED')
  })

  test('outlives a killed service and is joined by the next start', async (context) => {
    const dataDir = context.dataDir()
    const service = startService({ dataDir })
    const url = await service.said()
    const pid = serverPid(dataDir)
    await service.kill()
    const next = await startServer({ dataDir })
    assert.is(next.url, url)
    assert.is(serverPid(dataDir), pid)
    await next.stop()
    assert.is(await failure(query(url, 'select 1')), 'ECONNREFUSED')
  })

  test('is one server for all who start at the same time, until the last one stops', async (context) => {
    const dataDir = context.dataDir()
    const services = Array.from({ length: 4 }, () => startService({ dataDir }))
    const own = await Promise.all([startServer({ dataDir }), startServer({ dataDir })])
    const urls = await Promise.all(services.map((service) => service.said()))
    const [url] = urls
    if (url === undefined) throw new Error('no service')
    assert.equal([...new Set([...urls, ...own.map((server) => server.url)])], [url])
    const [last, ...others] = services
    await Promise.all([...others.map((service) => service.stop()), ...own.map((server) => server.stop())])
    assert.equal(await query(url, 'select 1 as one'), [{ one: 1 }])
    await last?.stop()
    assert.is(await failure(query(url, 'select 1')), 'ECONNREFUSED')
  })

  test('stops once however often stop is called', async (context) => {
    const dataDir = context.dataDir()
    const [first, second] = [await startServer({ dataDir }), await startServer({ dataDir })]
    await Promise.all([first.stop(), first.stop(), first.stop()])
    assert.equal(await query(second.url, 'select 1 as one'), [{ one: 1 }])
    await second.stop()
  })

  test('does not take another program for a dead user that had the same pid', async (context) => {
    const dataDir = context.dataDir()
    const server = await startServer({ dataDir })
    writeFileSync(join(dataDir, 'users', `${process.ppid}-old`), `${process.ppid} of an earlier start`)
    await server.stop()
    assert.is(await failure(query(server.url, 'select 1')), 'ECONNREFUSED')
  })

  test('does not wait for the lock of a process that was killed in the middle of the first start', async (context) => {
    const dataDir = context.dataDir()
    mkdirSync(dataDir)
    const service = startService({ dataDir })
    await new Promise<void>((resolve) => {
      const watcher = watch(dataDir, (_event, name) => {
        if (!name?.startsWith('new-cluster')) return
        watcher.close()
        resolve()
      })
    })
    await service.kill()
    assert.not.ok(existsSync(join(dataDir, 'cluster')))
    const server = await startServer({ dataDir })
    assert.equal(await query(server.url, 'select 1 as one'), [{ one: 1 }])
    await server.stop()
    assert.equal(
      readdirSync(dataDir).filter((name) => name.startsWith('new-')),
      [],
    )
  })
})
