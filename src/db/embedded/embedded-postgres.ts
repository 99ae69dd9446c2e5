import { spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { OperatorError } from '../../lib/operator-error.ts'
import {
  choosePort,
  clusterMark,
  createCluster,
  type Files,
  findServer,
  forgetDeadServer,
  logEnd,
  prepareFolder,
  trimLog,
} from './embedded-postgres-cluster.ts'
import { findPrograms, type Programs, surroundings } from './embedded-postgres-programs.ts'
import {
  ensureRoleAndDatabase,
  handOver,
  ownsDatabase,
  rolePassword,
  SERVICE_ROLE,
} from './embedded-postgres-role.ts'
import { addUser, countUsers, exclusively, hasCode, isRunning } from './embedded-postgres-sharing.ts'

const START_MS = 120_000
const STOP_MS = 30_000
const QUIT_MS = 15_000
const QUERY_MS = 30_000
const LOG_CHECK_MS = 60_000

export type EmbeddedPostgres = {
  /** `postgresql://mailwright:<password>@127.0.0.1:<port>/<database>`, of an ordinary role that owns the database. */
  url: string
  /** The same database as the superuser `postgres`, whose password is in the folder. */
  superuserUrl: string
  /** Ends this use of the server; the last living user's stop ends the server as well. */
  stop(): Promise<void>
}

export type EmbeddedPostgresOptions = {
  /**
   * Folder of the server: its cluster, password, port and log. Created if missing; deleting it removes
   * everything.
   */
  dataDir: string
  /** Created if missing. Default: `mailwright`. */
  database?: string
  /** Server settings, by their names in postgresql.conf. A running server keeps its own. */
  settings?: Record<string, string>
  /** How long `stop` waits for a clean shutdown before it cuts the server off. Default: 30 seconds. */
  stopWithinMs?: number
}

/**
 * Starts the PostgreSQL server of a folder, or joins it if it runs already, be it another process's or one that a
 * killed process has left behind. Fails with the end of the server's log when it does not start.
 * The server is no part of this process's terminal session: Ctrl-C does not reach it, only `stop` does.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  if (process.platform === 'win32') {
    throw new OperatorError(
      'The embedded PostgreSQL runs on Linux and macOS only. Set DATABASE_URL to use another server.',
    )
  }
  const { dataDir, database = 'mailwright', settings = {}, stopWithinMs = STOP_MS } = options
  const files = prepareFolder(dataDir)
  const { user, urls } = await exclusively(files.locks, async () => {
    const user = addUser(files.users)
    try {
      const port = await ensureServer(files, settings)
      const urls = { url: roleUrl(files, port, database), superuserUrl: superuserUrl(files, port, database) }
      await ensureDatabase(files, port, database)
      return { user, urls }
    } catch (error) {
      // The first failure is the one that the caller needs to know.
      await leave(files, user, stopWithinMs).catch(() => undefined)
      throw error
    }
  })
  const logCheck = setInterval(() => keepLogSmall(files), LOG_CHECK_MS).unref()
  const stop = () => {
    clearInterval(logCheck)
    return exclusively(files.locks, () => leave(files, user, stopWithinMs))
  }
  return { ...urls, stop }
}

function keepLogSmall(files: Files): void {
  try {
    trimLog(files)
  } catch {
    // A disk that is full or gone shows in the queries; this error must not end the service.
  }
}

const superuserPassword = (files: Files): string => readFileSync(files.password, 'utf8')

const superuserUrl = (files: Files, port: number, database: string): string =>
  urlOf('postgres', superuserPassword(files), port, database)

const roleUrl = (files: Files, port: number, database: string): string =>
  urlOf(SERVICE_ROLE, rolePassword(superuserPassword(files)), port, database)

const urlOf = (user: string, password: string, port: number, database: string): string =>
  `postgresql://${user}:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`

/** Returns the port of the running server, after starting one if need be. */
async function ensureServer(files: Files, settings: Record<string, string>): Promise<number> {
  const deadline = Date.now() + START_MS
  let attempt: Attempt | undefined
  let problem: unknown
  while (Date.now() < deadline) {
    const server = findServer(files)
    if (server?.state === 'ready') {
      problem = await whyNoAnswer(superuserUrl(files, server.port, 'postgres'))
      if (problem === undefined) return server.port
      if (hasCode(problem, '28P01')) break
    } else if (server === undefined && attempt === undefined) {
      const programs = await findPrograms(files.cluster)
      await createCluster(files, programs)
      forgetDeadServer(files)
      attempt = launch(files, programs, await choosePort(files), settings)
    } else if (attempt?.ended !== undefined) {
      problem = whyEnded(files, attempt)
      attempt = undefined
      await pause(200)
    }
    await pause(20)
  }
  throw new Error(`PostgreSQL does not answer (${problem ?? 'not ready'}). ${logEnd(files)}`, {
    cause: problem,
  })
}

type Attempt = { ended: string | undefined; logStart: number }

function launch(files: Files, programs: Programs, port: number, settings: Record<string, string>): Attempt {
  const { folder, options } = surroundings(programs, files.cluster)
  const chosen = Object.entries(settings).map((pair) => pair.join('='))
  const fixed = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=']
  trimLog(files)
  const log = openSync(files.log, 'a', 0o600)
  const attempt: Attempt = { ended: undefined, logStart: fstatSync(log).size }
  const args = [clusterMark(files), ...chosen, ...fixed].flatMap((setting) => ['-c', setting])
  // Detached is a session of its own: the terminal's Ctrl-C would else stop the server under a draining service.
  const child = spawn(programs.path('postgres'), [...args, '-D', folder], {
    ...options,
    detached: true,
    stdio: ['ignore', log, log],
  })
  child.once('error', (error) => {
    attempt.ended = error.message
  })
  child.once('exit', (code, signal) => {
    attempt.ended = `It ended with ${signal ?? `code ${code}`}.`
  })
  child.unref()
  closeSync(log)
  return attempt
}

/** Returns the reason of a failed start that another attempt can mend; throws when none can. */
function whyEnded(files: Files, attempt: Attempt): Error {
  const log = logEnd(files, attempt.logStart)
  const error = new Error(`PostgreSQL did not start. ${attempt.ended} ${log}`)
  // The port was taken since it was chosen, or processes of a killed server have not noticed yet that it is gone.
  if (/could not bind IPv4|pre-existing shared memory block/.test(log)) return error
  throw error
}

async function whyNoAnswer(url: string): Promise<unknown> {
  try {
    await withClient(url, (client) => client.query('SELECT 1'))
    return undefined
  } catch (error) {
    return error
  }
}

/**
 * Creates role and database, and gives the role what the superuser has created there; mostly that is done
 * already.
 */
async function ensureDatabase(files: Files, port: number, database: string): Promise<void> {
  if (await isReady(roleUrl(files, port, database))) return
  const password = rolePassword(superuserPassword(files))
  await withClient(superuserUrl(files, port, 'postgres'), (client) =>
    ensureRoleAndDatabase(client, { password, database }),
  )
  await withClient(superuserUrl(files, port, database), (client) => handOver(client, database))
}

/** The role, its password or the database may be missing, or the database may still be the superuser's. */
async function isReady(url: string): Promise<boolean> {
  try {
    return await withClient(url, ownsDatabase)
  } catch (error) {
    if (['28P01', '3D000', '42501'].some((code) => hasCode(error, code))) return false
    throw error
  }
}

async function withClient<T>(url: string, action: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: QUERY_MS,
    query_timeout: QUERY_MS,
  })
  // A connection that breaks fails the query under way; without a listener it would also end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await action(client)
  } finally {
    await client.end()
  }
}

/** Runs only under the lock: no process can join between the count and the end of the server. */
async function leave(files: Files, user: string, stopWithinMs: number): Promise<void> {
  rmSync(user, { force: true })
  const server = findServer(files)
  if (server === undefined || countUsers(files.users) > 0) return
  // Long recoveries outlast the patience of a start; they must go on, or no start would ever see their end.
  if (server.state !== 'ready' && server.state !== 'stopping') return
  // A fast shutdown: open transactions are rolled back.
  if (await endsAt('SIGINT', server.pid, stopWithinMs)) return
  // An immediate one, which the next start recovers from.
  if (await endsAt('SIGQUIT', server.pid, QUIT_MS)) return
  throw new Error(`PostgreSQL (process ${server.pid}) does not end. ${logEnd(files)}`)
}

async function endsAt(signal: NodeJS.Signals, pid: number, withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (hasCode(error, 'ESRCH')) return true
    throw error
  }
  while (isRunning(pid)) {
    if (Date.now() > deadline) return false
    await pause(10)
  }
  return true
}
