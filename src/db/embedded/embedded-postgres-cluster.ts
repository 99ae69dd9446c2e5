import { randomBytes, randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { initdb, type Programs } from './embedded-postgres-programs.ts'
import { processCommand, readIfThere } from './embedded-postgres-sharing.ts'

// The folder of one embedded server: the cluster itself, and beside it what belongs to it.

const LOG_LIMIT_BYTES = 5_000_000
const LOG_KEPT_BYTES = 100_000
const LOG_SHOWN_LINES = 20

export type Files = ReturnType<typeof prepareFolder>

/** Creates the folder if it is missing and returns the paths in it. */
export function prepareFolder(dataDir: string) {
  mkdirSync(dataDir, { recursive: true })
  // As root the folder stays root's, or the server's account could place links that root's own writes would
  // follow. That account may pass through it, and sees only the cluster.
  if (process.getuid?.() === 0) chmodSync(dataDir, 0o711)
  // One name for all processes, however they spell it.
  const folder = realpathSync(dataDir)
  return {
    folder,
    cluster: join(folder, 'cluster'),
    password: join(folder, 'password'),
    port: join(folder, 'port'),
    log: join(folder, 'postgres.log'),
    users: join(folder, 'users'),
    locks: join(folder, 'locks'),
  }
}

/**
 * Creates the cluster unless it exists. It gets its name when it is complete, so a cluster whose creation was
 * cut off never has it. Each attempt has a folder of its own: the initdb of a killed process may still be
 * writing into the last.
 */
export async function createCluster(files: Files, programs: Programs): Promise<void> {
  for (const name of readdirSync(files.folder).filter((name) => name.startsWith('new-'))) {
    rmSync(join(files.folder, name), { recursive: true, force: true, maxRetries: 10 })
  }
  if (existsSync(files.cluster)) return
  const draft = join(files.folder, `new-cluster-${randomUUID()}`)
  const password = join(files.folder, `new-password-${randomUUID()}`)
  writeFileSync(password, randomBytes(32).toString('hex'), { mode: 0o600, flush: true })
  mkdirSync(draft, { mode: 0o700 })
  if (programs.account !== undefined) {
    for (const path of [draft, password]) chownSync(path, programs.account.uid, programs.account.gid)
  }
  await initdb(programs, draft, password)
  if (programs.account !== undefined) chownSync(password, 0, 0)
  renameSync(password, files.password)
  renameSync(draft, files.cluster)
}

/** `state` is `starting`, `ready` or `stopping`; empty in the first moments of a start. */
export type Server = { pid: number; port: number; state: string }

/** The server that works in the cluster, or is about to; undefined when there is none. */
export function findServer(files: Files): Server | undefined {
  const server = readServerFile(files)
  if (server === undefined) return undefined
  return processCommand(server.pid)?.includes(` ${clusterMark(files)} `) ? server : undefined
}

/** An argument without effect that tells the server of this cluster from all other programs. */
export function clusterMark(files: Files): string {
  return `mailwright.cluster=${files.cluster}`
}

function readServerFile(files: Files): Server | undefined {
  const lines = readIfThere(serverFile(files))?.split('\n')
  if (lines === undefined) return undefined
  // pid, folder, start, port, socket folder, address, shared memory, state: the file grows during the start.
  return { pid: Number(lines[0]), port: Number(lines[3]), state: lines[7]?.trim() ?? '' }
}

const serverFile = (files: Files) => join(files.cluster, 'postmaster.pid')

/**
 * Removes the pid file of a dead server when another program has its pid: PostgreSQL would take that program
 * for its server and refuse to start. When no process has the pid, PostgreSQL finds that out itself and
 * checks more.
 */
export function forgetDeadServer(files: Files): void {
  const server = readServerFile(files)
  if (server === undefined || findServer(files) !== undefined) return
  if (processCommand(server.pid) !== undefined) rmSync(serverFile(files), { force: true })
}

/** The port of the last start if it is free, else a new one, which is remembered. */
export async function choosePort(files: Files): Promise<number> {
  const last = Number(readIfThere(files.port))
  if (last > 0 && (await listenOnce(last)) !== undefined) return last
  const port = await listenOnce(0)
  if (port === undefined) throw new Error('There is no free port on 127.0.0.1 for PostgreSQL.')
  writeFileSync(files.port, String(port))
  return port
}

function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined))
    })
  })
}

/** Cuts the log down to its end once it is large. The server appends, so this is safe while it runs. */
export function trimLog(files: Files): void {
  if (!existsSync(files.log) || statSync(files.log).size <= LOG_LIMIT_BYTES) return
  writeFileSync(files.log, readFileSync(files.log).subarray(-LOG_KEPT_BYTES))
}

/** The last lines of the log, without its first `from` bytes, for error messages. */
export function logEnd(files: Files, from = 0): string {
  const text = Buffer.from(readIfThere(files.log) ?? '')
    .subarray(from)
    .toString()
  return `End of ${files.log}:\n${text.trimEnd().split('\n').slice(-LOG_SHOWN_LINES).join('\n')}`
}
