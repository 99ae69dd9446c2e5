import { randomUUID } from 'node:crypto'
import pg from 'pg'

/** An empty database of its own on the tests' server; `stop` drops it. */
export type ScratchDatabase = { url: string; pool: pg.Pool; stop(): Promise<void> }

export async function scratchDatabase(): Promise<ScratchDatabase> {
  const serverUrl = process.env.TEST_DATABASE_URL
  if (!serverUrl) throw new Error('TEST_DATABASE_URL must be the URL of a Postgres superuser')
  const name = `scratch_${randomUUID().replaceAll('-', '')}`
  await onServer(serverUrl, `create database ${name} template template0`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  const pool = new pg.Pool({
    connectionString: url.href,
    connectionTimeoutMillis: 10_000,
    statement_timeout: 60_000,
    max: 3,
  })
  // The forced drop may end a connection that is still saying goodbye.
  pool.on('error', () => {})
  return {
    url: url.href,
    pool,
    stop: async () => {
      await pool.end()
      await onServer(serverUrl, `drop database ${name} with (force)`)
    },
  }
}

async function onServer(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({
    connectionString: serverUrl,
    connectionTimeoutMillis: 10_000,
    statement_timeout: 60_000,
  })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
