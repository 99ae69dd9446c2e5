import pg from 'pg'
import { hold } from './held-lock.ts'
import { type Answer, type Service, until } from './service.ts'

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

/**
 * Requests that change what refers to what, in the order in which they get the lock: all have begun before one can go on,
 * so what they have found out before it would be outdated.
 */
export async function whileInterestsHeld(
  { databaseUrl }: Pick<Service, 'databaseUrl'>,
  projectId: string,
  requests: (() => Promise<Answer>)[],
): Promise<Answer[]> {
  const lock = 'select from projects where id = $1 for no key update'
  const held = await hold(databaseUrl, lock, [projectId])
  const answers: Promise<Answer>[] = []
  try {
    for (const [index, request] of requests.entries()) {
      answers.push(request())
      await held.waiters(index + 1)
    }
  } finally {
    await held.release()
  }
  return Promise.all(answers)
}
