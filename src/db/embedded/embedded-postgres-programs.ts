import { execFile } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { hasCode } from './embedded-postgres-sharing.ts'

// The folder of PostgreSQL's programs, and the user and environment that they run with.

const run = promisify(execFile)
const SHORT_MS = 10_000
const INITDB_MS = 120_000
const COPIES = '/var/cache/mailwright'

/** A user of the system for a process that is root, as which PostgreSQL refuses to run. */
export type Account = { uid: number; gid: number }
export type Programs = {
  /** The path of a program. */
  path(name: 'initdb' | 'postgres'): string
  account: Account | undefined
}

const manifestSchema = z.object({ name: z.string(), version: z.string() })
const symlinksSchema = z.array(z.object({ source: z.string(), target: z.string() }))

/** The programs for the cluster in this folder, which may not exist yet. Throws when this system has none. */
export async function findPrograms(cluster: string): Promise<Programs> {
  const native = findNative()
  addSymlinks(native)
  const account = process.getuid?.() === 0 ? await accountFor(cluster) : undefined
  const home = account === undefined ? native : await reachableHome(native, account)
  return { path: (name) => join(home, 'bin', name), account }
}

function findNative(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    // The packages with the programs are dependencies of `embedded-postgres`, seen from there only.
    const outer = createRequire(import.meta.url).resolve('embedded-postgres')
    return join(dirname(createRequire(outer).resolve(name)), '..', 'native')
  } catch (cause) {
    const hint = 'Set DATABASE_URL to a PostgreSQL of your own.'
    throw new Error(`There is no embedded PostgreSQL for this system (package ${name}). ${hint}`, { cause })
  }
}

/**
 * npm packages cannot hold symbolic links; the package creates them in an install script, which may be
 * forbidden.
 */
function addSymlinks(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of symlinksSchema.parse(JSON.parse(readFileSync(list, 'utf8')))) {
    const link = join(native, '..', target)
    if (existsSync(link)) continue
    try {
      symlinkSync(relative(dirname(target), source), link)
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
  }
}

/**
 * The owner of the cluster, so that the cluster stays readable for that account; else an account without
 * rights.
 */
async function accountFor(cluster: string): Promise<Account> {
  const owner = existsSync(cluster) ? statSync(cluster) : undefined
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const account = await unprivilegedAccount()
  if (owner !== undefined) {
    // A backup that root has put back.
    for (const name of readdirSync(cluster, { recursive: true, encoding: 'utf8' })) {
      lchownSync(join(cluster, name), account.uid, account.gid)
    }
    chownSync(cluster, account.uid, account.gid)
  }
  return account
}

async function unprivilegedAccount(): Promise<Account> {
  for (const name of ['postgres', 'nobody']) {
    try {
      const uid = await run('id', ['-u', name], { timeout: SHORT_MS })
      const gid = await run('id', ['-g', name], { timeout: SHORT_MS })
      return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
    } catch {
      // No such user: the next one.
    }
  }
  throw new Error(
    'PostgreSQL does not run as root, and there is no user "postgres" or "nobody". Start as another user.',
  )
}

/**
 * The folder with bin/, lib/ and share/ that the account can use: the package's own, or a copy when a folder
 * above it is closed (a checkout below /root). PostgreSQL insists on the real path of its programs, so the
 * whole path must be open. A capability of the server to pass closed folders would be another way, but then
 * an attacker in the database could read or write every file of the machine, and containers lack it. The copy
 * holds nothing of the user's, and all checkouts share it.
 */
async function reachableHome(native: string, account: Account): Promise<string> {
  if ((await whyNotUsable(native, account)) === undefined) return native
  const defect = await whyNotUsable(native, { uid: 0, gid: 0 })
  if (defect !== undefined) throw new Error(`The embedded PostgreSQL does not run on this system: ${defect}`)
  const { name, version } = manifestSchema.parse(
    JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')),
  )
  const copy = join(COPIES, `${name.replace('/', '-')}-${version}`)
  if (!existsSync(copy)) copyPrograms(native, copy)
  const problem = await whyNotUsable(copy, account)
  if (problem === undefined) return copy
  throw new Error(
    `PostgreSQL cannot be run as user ${account.uid}, not even from a copy. Delete ${copy}: ${problem}`,
  )
}

async function whyNotUsable(home: string, account: Account): Promise<string | undefined> {
  try {
    await run(join(home, 'bin', 'postgres'), ['--version'], { ...account, cwd: '/', timeout: SHORT_MS })
    return undefined
  } catch (error) {
    return String(error)
  }
}

function copyPrograms(native: string, copy: string): void {
  mkdirSync(COPIES, { recursive: true })
  chmodSync(COPIES, 0o755)
  const draft = mkdtempSync(`${copy}-`)
  try {
    cpSync(native, draft, { recursive: true, verbatimSymlinks: true })
    // The checkout may have been created under a strict umask.
    openForAll(draft)
    renameSync(draft, copy)
  } catch (error) {
    // Another process was faster: its copy is as good.
    if (!hasCode(error, 'ENOTEMPTY') && !hasCode(error, 'EEXIST')) throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

function openForAll(folder: string): void {
  chmodSync(folder, 0o755)
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name)
    const stat = lstatSync(path)
    if (!stat.isSymbolicLink()) chmodSync(path, stat.mode & 0o100 ? 0o755 : 0o644)
  }
}

/**
 * How a program is told the folder of its cluster, and the options to start it with. As root on Linux the folder is
 * the working directory, entered before the rights are dropped, and its name is `/proc/self/cwd`: this works below
 * folders that are closed to the account, and the server's children inherit it.
 */
export function surroundings({ account }: Programs, cluster: string) {
  return {
    folder: account !== undefined && process.platform === 'linux' ? '/proc/self/cwd' : cluster,
    options: {
      ...account,
      cwd: cluster,
      // Nothing of the caller's environment: PGPORT, LANG or TZ would change what the cluster is like.
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    },
  }
}

/** Fills an empty folder with a new cluster; its superuser `postgres` gets the password in that file beside it. */
export async function initdb(programs: Programs, cluster: string, passwordFile: string): Promise<void> {
  const { folder, options } = surroundings(programs, cluster)
  // Not join(): it would take `/proc/self/cwd/..` for `/proc/self`.
  const password = `--pwfile=${folder}/../${basename(passwordFile)}`
  const args = [
    '-D',
    folder,
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--auth=scram-sha-256',
    '--username=postgres',
    password,
  ]
  try {
    await run(programs.path('initdb'), args, { ...options, timeout: INITDB_MS, killSignal: 'SIGKILL' })
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : ''
    throw new Error(`A new PostgreSQL cluster could not be created: ${output || error}`, { cause: error })
  }
}
