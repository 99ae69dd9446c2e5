import pg from 'pg'
import { newId } from '../src/lib/ids.ts'
import type { BenchDatabase } from './bench-database.ts'
import { type ServiceProcess, startServiceProcess } from './processes.ts'

const ROWS = 50_000
const CHUNK = 500
const TIMEOUT_MS = 120_000

export type ImportRates = {
  /** Rows per second of a file of new contacts, and of the same file once more. */
  first: number
  again: number
  /** The same rows as bare statements. */
  bare: number
  /** What the memory of a process that has imported such a file before grew by, in MB. */
  growth: number
  peakMemory: number
  /** The longest time for which the worker did nothing else, in ms. */
  stall: number
}

const personAt = (index: number, prefix: string) => ({
  email: `${prefix}${index}@import.example`,
  set: {
    firstName: `Person ${index}`,
    city: ['Berlin', 'London', 'New York'][index % 3],
    plan: index % 2 === 0 ? 'pro' : 'free',
    note: `Signed up at the stand, number ${index}`,
    score: index % 100,
  },
})

/** About 5 MB. */
function csvOf(prefix: string): string {
  const lines = Array.from({ length: ROWS }, (_, index) => {
    const { email, set } = personAt(index, prefix)
    return `${email},${Object.values(set)
      .map((value) => (typeof value === 'string' ? `"${value}"` : value))
      .join(',')}`
  })
  return `email,firstName,city,plan,note,score\n${lines.join('\n')}\n`
}

/**
 * Imports a large file through a service process twice, and the same rows with nothing around the statements.
 * The process takes the file, too, so its memory and stalls are those of the upload as well.
 */
export async function benchImport(database: BenchDatabase): Promise<ImportRates> {
  const bare = await bareRate(database)
  const service = await startServiceProcess(await database.env({ ROLES: 'http,worker' }))
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    // Code, caches and the heap's first generation are as large then as any work makes them.
    await importOnce(service, client, database.project.secret, csvOf('warm'))
    const before = service.memory()
    await longestStall(service)
    const csv = csvOf('imported')
    const first = await importOnce(service, client, database.project.secret, csv)
    const again = await importOnce(service, client, database.project.secret, csv)
    const stall = await longestStall(service)
    const peakMemory = service.peakMemory()
    return { first, again, bare, growth: peakMemory - before, peakMemory, stall }
  } finally {
    await client.end()
    await service.stop()
  }
}

async function importOnce(
  { url }: ServiceProcess,
  client: pg.Client,
  key: string,
  csv: string,
): Promise<number> {
  const form = new FormData()
  form.append('file', new Blob([csv]), 'contacts.csv')
  const answer = await fetch(`${url}/contacts/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const text = await answer.text()
  if (answer.status !== 202) throw new Error(`the file was not taken: ${text}`)
  return rateOf(client, JSON.parse(text).jobId)
}

/** Rows per second from the moment at which a worker takes the job to its end. */
async function rateOf(client: pg.Client, jobId: string): Promise<number> {
  const deadline = Date.now() + TIMEOUT_MS
  let startedAt = 0
  while (Date.now() < deadline) {
    const { rows } = await client.query<{ state: string; total: number }>(
      'select state, total from contact_jobs where id = $1',
      [jobId],
    )
    const [job] = rows
    if (!job || job.state === 'failed') throw new Error('the import has failed')
    if (job.state !== 'waiting') startedAt ||= performance.now()
    if (job.state === 'completed') return job.total / ((performance.now() - startedAt) / 1000)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('the import does not end')
}

/** The longest time in ms for which the process did nothing else, since it was last asked. */
async function longestStall({ url }: ServiceProcess): Promise<number> {
  const answer = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  const lag = /^mailwright_nodejs_eventloop_lag_max_seconds (\S+)/m.exec(await answer.text())?.[1]
  return Number(lag) * 1000
}

/** A plain upsert of so many rows at a time. */
async function bareRate({ url, project }: BenchDatabase): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const startedAt = performance.now()
  for (let from = 0; from < ROWS; from += CHUNK) {
    const people = Array.from({ length: CHUNK }, (_, index) => personAt(from + index, 'bare'))
    await client.query({
      name: 'bare-import',
      text: `insert into contacts as c (project_id, id, email, subscribed, data, created_at, updated_at)
        select $1, id, email, true, data, $5, $5
        from unnest($2::uuid[], $3::text[], $4::jsonb[]) as given (id, email, data)
        on conflict (project_id, email) do update set data = c.data || excluded.data, updated_at = $5`,
      values: [
        project.id,
        people.map(() => newId(new Date())),
        people.map(({ email }) => email),
        people.map(({ set }) => JSON.stringify(set)),
        new Date(),
      ],
    })
  }
  const seconds = (performance.now() - startedAt) / 1000
  await client.end()
  return ROWS / seconds
}
