import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../../src/db/embedded/embedded-postgres.ts'
import type { Test } from '../support/scenario.ts'

// Servers and processes that end with their test, and looks at a server from outside.

const WAIT_MS = 90_000

export const embeddedPostgresFile = resolve(import.meta.dirname, '../../src/db/embedded/embedded-postgres.ts')

const atEnd: (() => Promise<unknown>)[] = []

/** A test after which the servers and processes made with the functions below are gone, also when it has failed. */
export function ending<C>(test: Test<C>): Test<C> {
  return (name, body) =>
    test(name, async (context) => {
      try {
        await body(context)
      } finally {
        for (const end of atEnd.splice(0)) await end()
      }
    })
}

/** An embedded server that this process uses. */
export async function startServer(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres(options)
  atEnd.push(server.stop)
  return server
}

/** Prints the URL once the server runs; ends its use of the server when told so, or at Ctrl-C after half a second. */
const program = `
const { startEmbeddedPostgres } = await import(process.argv[1])
const { default: pg } = await import('pg')
const server = await startEmbeddedPostgres(JSON.parse(process.argv[2]))
const client = new pg.Client(server.url)
await client.connect()
const end = async () => { await client.end(); await server.stop(); process.exit() }
process.stdin.once('data', end)
process.once('SIGINT', async () => {
  const { rows } = await client.query("select 'drained' as said from pg_sleep(0.5)")
  console.log(rows[0].said)
  await end()
})
console.log(server.url)`

type Options = { dataDir: string; file?: string; account?: { uid: number; gid: number } }

/** A process of its own that uses the server of this folder. It leads a process group, as a command of a shell does. */
export function startService({ dataDir, file = embeddedPostgresFile, account }: Options) {
  const args = ['--input-type=module', '-e', program, file, JSON.stringify({ dataDir })]
  const child = spawn(process.execPath, args, {
    ...account,
    cwd: resolve(import.meta.dirname, '../..'),
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const errors: Buffer[] = []
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
  const exited = once(child, 'exit', { signal: AbortSignal.timeout(WAIT_MS) })

  /** The next line it prints, such as the URL. */
  async function said(): Promise<string> {
    const line = await lines.next()
    if (line.done) throw new Error(`The process has ended: ${Buffer.concat(errors)}`)
    return line.value
  }
  async function stop(): Promise<void> {
    child.stdin.write('stop\n')
    await exited
  }
  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    await exited
  }
  async function ended(): Promise<void> {
    await exited
  }
  atEnd.push(kill)

  function interruptGroup(): void {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT')
  }
  return { said, stop, kill, ended, interruptGroup }
}

/** Runs one statement on a connection of its own. */
export async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    query_timeout: 10_000,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** The error's code, or "no error". */
export function failure(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no error',
    (error) => String(error.code ?? error.message),
  )
}

/** Removes a folder of tests, and ends the servers that failed ones have left in it. */
export function removeHome(home: string): void {
  for (const file of globSync('**/cluster/postmaster.pid', { cwd: home })) {
    process.kill(Number.parseInt(readFileSync(join(home, file), 'utf8'), 10), 'SIGQUIT')
  }
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}

export const serverFile = (dataDir: string) => join(dataDir, 'cluster', 'postmaster.pid')

export function serverPid(dataDir: string): number {
  return Number.parseInt(readFileSync(serverFile(dataDir), 'utf8'), 10)
}

/** As whom the server runs: the owner of its cluster, without which PostgreSQL does not start. */
export function serverAccount(dataDir: string): { uid: number; gid: number } {
  const { uid, gid } = statSync(join(dataDir, 'cluster'))
  return { uid, gid }
}
