import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { KeyRing } from './admission/access.ts'
import { Passwords } from './admission/accounts/passwords.ts'
import { Sessions } from './admission/accounts/sessions.ts'
import { MailPermits } from './admission/metering/permits.ts'
import { RememberedNames } from './admission/remembered-names.ts'
import type { Config } from './config.ts'
import type { Services } from './ctx.ts'
import { type Database, openDatabase } from './db/database.ts'
import { withSearchPath } from './db/database-url.ts'
import { startEmbeddedPostgres } from './db/embedded/embedded-postgres.ts'
import { migrate } from './db/migrations/migrate.ts'
import { isDatabaseUnavailable } from './db/sql.ts'
import { SingleFile } from './lib/async/pauses.ts'
import { Slots } from './lib/async/slots.ts'
import { within } from './lib/async/within.ts'
import { MessageReader } from './lib/mime/message-reader.ts'
import { createDnsResolver } from './lib/net/dns-resolver.ts'
import { logDatabaseAway } from './observe/log.ts'
import { createQueue, defineQueues } from './queue/queue.ts'
import { QueueConnections } from './queue/queue-connections.ts'
import { WorkRequests } from './queue/work-requests.ts'
import { Rendering } from './templating/rendering.ts'
import { Watchers } from './watchers.ts'

export type App = { config: Config; services: Services; stop: () => Promise<void> }

export type Part = { name: string; stop: () => Promise<void> }

/** Time as tests move it: the clock of the process, and the milliseconds that are added to the database's. */
export type Clock = { now?: () => Date; shift?: () => number }

export type ServicesOptions = Clock & {
  /** How long to wait for a database that is not there yet. Default: a minute. */
  databaseWaitMs?: number
  /** Whether the job queue is opened, without which nothing can be enqueued. Default: true. */
  queue?: boolean
}

/** Connections for fetching, failing and heartbeats; as many for asking for work and removing turns that have ended. */
const QUEUE_CONNECTIONS = 2
const QUEUE_CONNECTIONS_OF_CALLERS = 1
const DATABASE_WAIT_MS = 60_000
const QUEUE_STOP_MS = 10_000
/**
 * Milliseconds that one part may take to stop: a database that does not answer must not keep the process
 * running.
 */
const STOP_MS = 15_000

/**
 * Opens the services alone, without roles, as the CLI uses them. Starts the embedded database when no other
 * one is configured, and migrates it.
 */
export async function startServices(
  config: Config,
  log: Logger,
  options: ServicesOptions = {},
): Promise<App> {
  const { databaseWaitMs = DATABASE_WAIT_MS, queue = true } = options
  const parts: Part[] = []
  const stop = () => stopAll(parts, log)
  try {
    const server = await startDatabaseServer(config)
    parts.push({ name: 'postgres', stop: server.stop })
    await migrateWhenThere(server.url, log, databaseWaitMs)
    const database = openDatabase(server.url, {
      poolSize: config.databasePoolSize,
      workerPoolSize: config.databaseWorkerPoolSize,
      pipelines: config.databasePipelines,
      statementTimeoutMs: config.databaseStatementTimeoutMs,
      onError: (error) => logDatabaseAway(log, error),
    })
    parts.push({ name: 'database', stop: () => database.close() })
    const services = createServices(config, database, log, options)
    parts.push({ name: 'queue connections', stop: () => services.queueConnections.close() })
    parts.push({ name: 'rendering', stop: () => services.rendering.stop() })
    parts.push({ name: 'message reader', stop: () => services.messageReader.stop() })
    if (queue) await openQueue(services, parts)
    parts.push({ name: 'work requests', stop: () => services.work.close() })
    return { config, services, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The configured database server, or the embedded one, started or joined. */
export async function startDatabaseServer(
  config: Config,
): Promise<{ url: string; stop: () => Promise<void> }> {
  if (config.databaseUrl !== null) return { url: withSearchPath(config.databaseUrl), stop: async () => {} }
  return startEmbeddedPostgres({ dataDir: path.join(config.dataDir, 'postgres') })
}

function createServices(config: Config, database: Database, log: Logger, clock: Clock): Services {
  const { now = () => new Date(), shift = () => 0 } = clock
  const isWorker = config.roles.includes('worker')
  const queueConnections = new QueueConnections(
    database.url,
    log,
    isWorker ? QUEUE_CONNECTIONS : QUEUE_CONNECTIONS_OF_CALLERS,
  )
  const boss = createQueue(queueConnections, database.queueSchema, log, isWorker)
  return {
    config,
    database,
    boss,
    keyRing: new KeyRing({ database, now, log }),
    passwords: new Passwords(),
    mailPermits: config.billing && new MailPermits({ sql: database.sql, log, clockShift: shift }),
    sessions: new Sessions({ config, database, now }),
    dns: createDnsResolver({ servers: config.dnsServers, now }),
    log,
    now,
    clockShift: shift,
    work: new WorkRequests({ boss, db: queueConnections.quick, log }),
    queueConnections,
    rememberedNames: new RememberedNames(),
    watchers: new Watchers(config.subscriptions),
    rendering: new Rendering(),
    longSteps: new SingleFile(),
    messageReader: new MessageReader(),
    heavyWork: new Slots(1),
  }
}

async function openQueue({ boss }: Services, parts: Part[]): Promise<void> {
  // Its handlers import most of the product, which processes that enqueue nothing need not load.
  const { JOBS, MAIL_QUEUES, WORK_KINDS } = await import('./jobs.ts')
  parts.push({ name: 'queue', stop: () => boss.stop({ graceful: true, timeout: QUEUE_STOP_MS }) })
  await boss.start()
  await defineQueues(boss, [...JOBS, ...MAIL_QUEUES], WORK_KINDS)
}

async function migrateWhenThere(url: string, log: Logger, waitMs: number): Promise<void> {
  const deadline = Date.now() + waitMs
  for (;;) {
    try {
      const { applied } = await migrate(url)
      if (applied.length > 0) log.info({ applied }, 'database migrated')
      return
    } catch (error) {
      if (!isDatabaseUnavailable(error) || Date.now() >= deadline) throw error
      logDatabaseAway(log, error)
      await pause(1_000)
    }
  }
}

/** Stops in the reverse order of starting, so that no part loses what it depends on. */
export async function stopAll(parts: Part[], log: Logger): Promise<void> {
  for (const part of parts.splice(0).toReversed()) await stopPart(part, log)
}

/** Stops one part, for a while, and never fails: the others have to be stopped as well. */
export async function stopPart({ name, stop }: Part, log: Logger): Promise<void> {
  const stopped = stop().then(
    () => true,
    (error: unknown) => {
      log.error({ err: error, part: name }, 'a part did not stop cleanly')
      return true
    },
  )
  if ((await within(STOP_MS, stopped)) === null) log.error({ part: name }, 'a part did not stop in time')
}
