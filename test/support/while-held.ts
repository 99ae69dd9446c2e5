import pg from 'pg'
import { type Service, until } from './service.ts'

/** Runs the work while another transaction holds what it needs; that one commits once the work waits for it. */
export async function whileHeld<Result>(
  { databaseUrl, sql }: Service,
  held: string,
  values: unknown[],
  work: () => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query('begin')
    await client.query(held, values)
    const result = work()
    await until('the work waits', async () => {
      const [row] = await sql(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return row
    })
    await client.query('commit')
    return await result
  } finally {
    await client.end()
  }
}
