import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import * as assert from 'uvu/assert'
import { createJob } from '../../src/features/contact-jobs/contact-jobs.ts'
import { openBackstage } from '../support/backstage.ts'
import { query } from '../support/query.ts'
import { scenario } from '../support/scenario.ts'
import { type Random, seeded } from '../support/seeded.ts'
import { type Body, cloneDatabase, type Project, until } from '../support/service.ts'
import { endProcess, ownPort, type ServiceProcess, startProcess } from '../support/service-process.ts'

const ROWS = 20_000
const KILLS = 2
/** A dead worker is noticed after 10 to 15 seconds. */
const RECOVERY_MS = 60_000

/** Every 50th row is bad, every 40th one is the same address as the one 20 rows before, in capitals. */
function csv(): string {
  const lines = Array.from({ length: ROWS }, (_, index) => {
    if (index % 50 === 7) return `nobody ${index},,${index}`
    const email = index % 40 === 20 ? `P${index - 20}@Example.org` : `p${index}@example.org`
    return `${email},${['', 'yes', 'no'][index % 3]},${index}`
  })
  return `email,subscribed,n\n${lines.join('\n')}\n`
}

async function start() {
  const database = await cloneDatabase()
  const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-import-'))
  const env = {
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    JWT_SECRET: randomBytes(32).toString('hex'),
    ROLES: 'http,worker',
    PORT: String(await ownPort()),
  }
  const backstage = await openBackstage(env)
  const state: { service: ServiceProcess | undefined } = { service: undefined }
  return {
    env,
    backstage,
    databaseUrl: database.url,
    state,
    stop: async () => {
      await endProcess(state.service)
      await backstage.stop()
      await database.drop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

type Context = Awaited<ReturnType<typeof start>>

const queued = ({ backstage }: Context, project: Project): Promise<string> =>
  createJob(backstage.ctx(project.id), { type: 'IMPORT', file: new TextEncoder().encode(csv()) })

async function jobOf({ databaseUrl }: Context, id: string): Promise<Body> {
  const [job] = await query<Body>(
    databaseUrl,
    'select state, position, progress, result, failed_reason, file from contact_jobs where id = $1',
    [id],
  )
  return job
}

const contactsOf = ({ databaseUrl }: Context, project: Project) =>
  query<Body>(
    databaseUrl,
    `select c.email, c.subscribed, c.data, (select count(*)::int from events e
       where e.project_id = c.project_id and e.contact_id = c.id) as events
     from contacts c where c.project_id = $1 order by c.email`,
    [project.id],
  )

const ended = (context: Context, id: string): Promise<Body> =>
  until(
    'the import to end',
    async () => {
      const job = await jobOf(context, id)
      return job.state === 'completed' || job.state === 'failed' ? job : null
    },
    RECOVERY_MS,
  )

/** Kills the service once the import has got a random part further. */
async function killedInTheMiddle(context: Context, id: string, random: Random): Promise<number> {
  const { position: from } = await jobOf(context, id)
  const wanted = from + random.between(1, Math.floor((ROWS - from) / 3))
  const position = await until(
    `row ${wanted}`,
    async () => {
      const job = await jobOf(context, id)
      return job.position >= wanted ? job.position : null
    },
    RECOVERY_MS,
  )
  await endProcess(context.state.service)
  return position
}

scenario('An import whose service is killed', start, (test) => {
  test('ends with the result of one that was left in peace', (context) =>
    seeded(async (random) => {
      const { backstage, state, env } = context
      const calm = await backstage.newProject()
      const project = await backstage.newProject()
      state.service = await startProcess(env)
      const expected = await ended(context, await queued(context, calm))
      const id = await queued(context, project)
      let inTheMiddle = 0
      for (let kill = 0; kill < KILLS; kill += 1) {
        const position = await killedInTheMiddle(context, id, random)
        if (position < ROWS) inTheMiddle += 1
        assert.is((await jobOf(context, id)).state, 'active')
        state.service = await startProcess(env)
      }
      assert.is(inTheMiddle, KILLS)
      const job = await ended(context, id)
      assert.equal(job, expected)
      assert.equal([job.state, job.position, job.file], ['completed', ROWS, null])
      const { totalRows, created, updated, unchanged, failed } = job.result
      assert.equal([totalRows, failed], [ROWS, ROWS / 50])
      assert.is(created + updated + unchanged + failed, ROWS)
      assert.equal(await contactsOf(context, project), await contactsOf(context, calm))
    }))
})
