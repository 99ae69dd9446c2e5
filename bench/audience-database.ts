import pg from 'pg'
import { systemOf } from '../src/admission/access.ts'
import { createCtx } from '../src/ctx.ts'
import { countEvents } from '../src/features/event-statistics/event-counts.ts'
import { addRecentEvents, generate, type Sizes } from './audience-data.ts'
import { type BenchDatabase, startBenchDatabase } from './bench-database.ts'

/** Events that come when the others have been counted. */
const RECENT = 20_000

/**
 * A project of that size, whose events are counted but for those of the last minute. In a `kept` directory it is
 * made once.
 */
export async function startAudienceDatabase(sizes: Sizes, kept?: string): Promise<BenchDatabase> {
  const database = await startBenchDatabase(kept)
  try {
    await fillDatabase(database, sizes)
    return database
  } catch (error) {
    await database.stop()
    throw error
  }
}

async function fillDatabase({ superuserUrl, services, project }: BenchDatabase, sizes: Sizes): Promise<void> {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  try {
    const { rows } = await client.query('select from contacts where project_id = $1 limit 1', [project.id])
    if (rows.length === 0) await generate(client, project.id, sizes, new Date())
    const startedAt = performance.now()
    await countEvents(createCtx(services, systemOf(project.id), 'bench'), { hasTime: () => true })
    console.error(`counted in ${Math.round((performance.now() - startedAt) / 1000)} s`)
    await addRecentEvents(client, project.id, sizes, RECENT)
  } finally {
    await client.end()
  }
}
