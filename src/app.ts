import { once } from 'node:events'
import type { Server } from 'node:http'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { KeyRing } from './access.ts'
import type { Config } from './config.ts'
import type { Services } from './ctx.ts'
import { type Database, openDatabase } from './db/database.ts'
import { startEmbeddedPostgres } from './db/embedded-postgres.ts'
import { migrate } from './db/migrate.ts'
import { isDatabaseUnavailable } from './db/sql.ts'
import { DeliveryWorker } from './features/emails/delivery-worker.ts'
import { graphqlRoutes } from './graphql/graphql.http.ts'
import { createGraphQL } from './graphql/yoga.ts'
import { createHttpServer, serveRoutes } from './http/server.ts'
import { httpRoutes } from './http.ts'
import { jobs } from './jobs.ts'
import { freePort } from './lib/free-port.ts'
import { RateLimiter } from './limits.ts'
import { chooseMailer, mailboxReader } from './mail/choose-mailer.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { createQueue, defineQueues, runJobs } from './queue/queue.ts'
import { WakeUp } from './queue/wake-up.ts'
import { restRoutes } from './rest/facade.ts'
import { openApiRoutes } from './rest/openapi.http.ts'
import { restOperations } from './rest/operations.ts'
import { schema } from './schema.ts'

export type App = { config: Config; services: Services; stop: () => Promise<void> }

type Part = { name: string; stop: () => Promise<void> }

/** How long a start waits for a database that is not there yet. */
const DATABASE_WAIT_MS = 60_000
const REQUESTS_MS = 10_000

/**
 * The services alone, without roles: what the CLI works with. Starts the embedded database when no other one
 * is configured, and brings it up to date.
 */
export async function startServices(
  config: Config,
  log: Logger,
  now: () => Date = () => new Date(),
): Promise<App> {
  const parts: Part[] = []
  const stop = () => stopAll(parts, log)
  try {
    const url = config.databaseUrl ?? (await startEmbedded(config, parts))
    await migrateWhenThere(url, log)
    const database = openDatabase(url, {
      poolSize: config.databasePoolSize,
      onError: (error) => log.warn({ err: error }, 'database connection lost'),
    })
    parts.push({ name: 'database', stop: () => database.close() })
    const services = await createServices(config, database, log, now, parts)
    return { config, services, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function createServices(
  config: Config,
  database: Database,
  log: Logger,
  now: () => Date,
  parts: Part[],
): Promise<Services> {
  const boss = createQueue(database, log, config.roles.includes('worker'))
  await boss.start()
  parts.push({ name: 'queue', stop: () => boss.stop({ graceful: true, timeout: REQUESTS_MS }) })
  await defineQueues(boss, jobs)
  const wakeUp = new WakeUp(database, log)
  parts.push({ name: 'wake-up', stop: () => wakeUp.close() })
  const keyRing = new KeyRing({ database, now })
  return { config, database, boss, keyRing, log, now, wakeUp }
}

/** Starts the roles of this process and returns when they serve. Nothing is left running when it throws. */
export async function startApp(given: Config, log: Logger, now?: () => Date): Promise<App> {
  const config = await withPort(given)
  const app = await startServices(config, log, now)
  const parts: Part[] = [{ name: 'services', stop: app.stop }]
  const metrics = createMetrics()
  try {
    if (config.roles.includes('worker')) parts.push(await startWorker(app.services, metrics))
    if (config.roles.includes('http')) parts.push(await startHttp(app.services, metrics))
  } catch (error) {
    await stopAll(parts, log)
    throw error
  }
  return { ...app, stop: () => stopAll(parts, log) }
}

async function startEmbedded(config: Config, parts: Part[]): Promise<string> {
  const dataDir = path.join(config.dataDir, 'postgres')
  const postgres = await startEmbeddedPostgres({ dataDir })
  parts.push({ name: 'postgres', stop: () => postgres.stop() })
  return postgres.url
}

async function migrateWhenThere(url: string, log: Logger): Promise<void> {
  const deadline = Date.now() + DATABASE_WAIT_MS
  for (;;) {
    try {
      const { applied } = await migrate(url)
      if (applied.length > 0) log.info({ applied }, 'database migrated')
      return
    } catch (error) {
      if (!isDatabaseUnavailable(error) || Date.now() > deadline) throw error
      log.warn({ err: error }, 'waiting for the database')
      await pause(1_000)
    }
  }
}

async function startWorker(services: Services, metrics: Metrics): Promise<Part> {
  const mailer = chooseMailer(services.config.mail, services.now)
  const worker = new DeliveryWorker(services, mailer, metrics)
  worker.start()
  await services.wakeUp.listen(() => worker.wake())
  await runJobs(services, jobs, metrics)
  return { name: 'worker', stop: () => worker.stop() }
}

async function startHttp(services: Services, metrics: Metrics): Promise<Part> {
  const { config, log, now, database } = services
  const development = config.environment !== 'production'
  const rateLimiter = new RateLimiter(database.sql, config.rateLimitPerMinute)
  const operations = await restOperations(schema)
  const graphql = createGraphQL(schema, development, log)
  const routes = [
    ...restRoutes({ schema, services, rateLimiter }, operations),
    ...graphqlRoutes(graphql, services, rateLimiter),
    ...openApiRoutes(schema, operations, config),
    ...httpRoutes({ services, metrics, mailbox: mailboxReader(config.mail) }),
  ]
  const server = createHttpServer()
  serveRoutes(server, { routes, dashboardUrl: config.dashboardUrl, log, metrics, now })
  server.listen(config.port, config.host)
  await once(server, 'listening')
  return { name: 'http', stop: () => closeServer(server) }
}

/** Lets requests under way finish, for a while. */
async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const cut = setTimeout(() => server.closeAllConnections(), REQUESTS_MS)
  await closed
  clearTimeout(cut)
}

/** In the reverse order of starting, so that nothing loses what it stands on. */
async function stopAll(parts: Part[], log: Logger): Promise<void> {
  for (const part of parts.splice(0).toReversed()) {
    try {
      await part.stop()
    } catch (error) {
      log.error({ err: error, part: part.name }, 'a part did not stop cleanly')
    }
  }
}

/** Port 0 is any free port; links in mail need to know which. */
async function withPort(config: Config): Promise<Config> {
  if (config.port !== 0) return config
  const port = await freePort(config.host)
  const apiUrl = config.apiUrl.endsWith(':0') ? `http://${config.host}:${port}` : config.apiUrl
  return Object.freeze({ ...config, port, apiUrl })
}
