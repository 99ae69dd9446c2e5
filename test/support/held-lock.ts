import pg from 'pg'
import { until } from './service.ts'

/** Holds locks in a transaction of its own, so that a test can stop a request at a certain statement. */
export type Held = {
  /** Resolves once that many statements of others wait for a lock. */
  waiters: (count: number) => Promise<void>
  /** Ends the transaction. */
  release: (how?: 'rollback' | 'commit') => Promise<void>
}

/** Runs `lock` (such as "lock table events in exclusive mode") and keeps its transaction open. */
export async function hold(databaseUrl: string, lock: string, values: unknown[] = []): Promise<Held> {
  const holder = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 })
  const watcher = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 })
  await holder.connect()
  await watcher.connect()
  await holder.query('begin')
  await holder.query(lock, values)
  const waiting = async () => {
    const { rows } = await watcher.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows[0]?.count ?? 0
  }
  return {
    waiters: async (count) => {
      await until(`${count} statements to wait for the lock`, async () => (await waiting()) >= count)
    },
    release: async (how = 'rollback') => {
      await holder.query(how)
      await Promise.all([holder.end(), watcher.end()])
    },
  }
}
