import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemOf } from '../src/admission/access.ts'
import { loadConfig } from '../src/config.ts'
import { actingFor, type Ctx, createCtx, type Services } from '../src/ctx.ts'
import { startEmbeddedPostgres } from '../src/db/embedded/embedded-postgres.ts'
import { forceVerified } from '../src/features/domains/domains.ts'
import { createProject, type NewProject } from '../src/features/projects/projects.ts'
import { freePort } from '../src/lib/net/free-port.ts'
import { createLog } from '../src/observe/log.ts'
import { startServices } from '../src/services.ts'

export const BENCH_DOMAIN = 'bench.example'

export type BenchDatabase = {
  url: string
  superuserUrl: string
  services: Services
  project: NewProject
  /** A DKIM key (PEM) of the same kind as the service's, for the bare loop. */
  privateKey: string
  /** Environment of a service on this database; every limit is on, and none is reached. */
  env: (extra?: Record<string, string>) => Promise<Record<string, string>>
  stop: () => Promise<void>
}

/**
 * A Postgres of its own with its usual settings (commits reach the disk), a project and a sender domain. It is
 * removed at the end; in a `kept` directory it stays, and is used again with its project.
 */
export async function startBenchDatabase(kept?: string): Promise<BenchDatabase> {
  const directory = kept ?? mkdtempSync(path.join(tmpdir(), 'mailwright-bench-'))
  mkdirSync(directory, { recursive: true })
  const postgres = await startEmbeddedPostgres({ dataDir: path.join(directory, 'postgres') })
  const variables = {
    DATABASE_URL: postgres.url,
    DATA_DIR: directory,
    JWT_SECRET: 'a secret of the benchmark, 32 characters or more',
    RATE_LIMIT_PER_MINUTE: '100000000',
    PROJECT_SEND_RATE_PER_SECOND: '100000000',
  }
  const { services, stop } = await startServices(loadConfig(variables), createLog('warn'))
  const ctx = createCtx(services, systemOf(''), 'bench')
  const project = await projectIn(directory, ctx)
  return {
    url: postgres.url,
    superuserUrl: postgres.superuserUrl,
    services,
    project,
    privateKey: generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    }).privateKey,
    env: async (extra = {}) => ({ ...variables, PORT: String(await freePort('127.0.0.1')), ...extra }),
    stop: async () => {
      await stop()
      await postgres.stop()
      if (!kept) rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** The project of this database, with its keys, which only a new project shows. */
async function projectIn(directory: string, ctx: Ctx): Promise<NewProject> {
  const file = path.join(directory, 'project.json')
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  const project = await createProject(ctx, { name: 'Bench' })
  await forceVerified(actingFor(ctx, project.id), BENCH_DOMAIN)
  writeFileSync(file, JSON.stringify(project), { mode: 0o600 })
  return project
}
