import pg from 'pg'

/** Runs one statement on a connection of its own, for databases that come and go. */
export async function query<Row extends object>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 20_000,
    query_timeout: 30_000,
  })
  // A server that ends under the connection fails the statement; without a listener it would end the test too.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}

export type EmailState = { id: string; toEmail: string; status: string; attempts: number; sentEvents: number }

/** Every email of a project with what became of it. */
export const emailStates = (url: string, projectId: string): Promise<EmailState[]> =>
  query(
    url,
    `select id, to_email as "toEmail", status, attempts, (select count(*)::int from events
       where email_id = emails.id and name = 'email.sent') as "sentEvents"
     from emails where project_id = $1`,
    [projectId],
  )

/** How many emails of a project are not in a final state. */
export async function unfinished(url: string, projectId: string): Promise<number> {
  const [row] = await query<{ count: number }>(
    url,
    `select count(*)::int from emails where project_id = $1 and status in ('PENDING', 'SENDING')`,
    [projectId],
  )
  return row?.count ?? 0
}
