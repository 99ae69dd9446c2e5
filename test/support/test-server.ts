import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { loadConfig } from '../../src/config.ts'
import { startEmbeddedPostgres } from '../../src/db/embedded/embedded-postgres.ts'
import { createLog } from '../../src/observe/log.ts'
import { startServices } from '../../src/services.ts'

/** The database that scenarios clone: migrated, with the queue's tables, empty. */
export const TEMPLATE_DATABASE = 'mailwright_template'

/** `url` is the superuser's; services work as the role of `serviceUrl`, which owns their databases. */
export type TestServer = { url: string; serviceUrl: string; stop: () => Promise<void> }

/** One Postgres for a whole test run, with the template database; nothing of it survives the run. */
export async function startTestServer(): Promise<TestServer> {
  const directory = mkdtempSync(path.join(tmpdir(), 'mailwright-test-'))
  const postgres = await startEmbeddedPostgres({
    dataDir: path.join(directory, 'postgres'),
    database: TEMPLATE_DATABASE,
    // A test run need not survive a power cut; the durability tests start servers of their own.
    settings: {
      ...{ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '200' },
      // Some thousand connections are opened in a run.
      scram_iterations: '1',
    },
  })
  const stop = async () => {
    await postgres.stop()
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    await makeTemplate(postgres.url, directory)
    return { url: postgres.superuserUrl, serviceUrl: postgres.url, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function makeTemplate(url: string, directory: string): Promise<void> {
  const config = loadConfig({ DATABASE_URL: url, DATA_DIR: directory })
  const { stop } = await startServices(config, createLog('silent'))
  await stop()
}

/** Runs one statement on the server's maintenance database. */
export async function administer(serverUrl: string, statement: string): Promise<void> {
  const url = new URL(serverUrl)
  url.pathname = '/postgres'
  const client = new pg.Client({ connectionString: url.href, connectionTimeoutMillis: 60_000 })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
