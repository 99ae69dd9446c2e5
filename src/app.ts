import { once } from 'node:events'
import type { Logger } from 'pino'
import { SYSTEM } from './admission/access.ts'
import { RateLimiter } from './admission/limits.ts'
import { type Config, hostInUrl, type SmtpDoorConfig } from './config.ts'
import { createCtx, type Services } from './ctx.ts'
import { mailDeliveryWork } from './features/delivery/mail-delivery.ts'
import { countMail } from './features/operations/dead-letters.ts'
import { assertSecretsOpen } from './features/operations/stored-secrets.ts'
import { graphqlRoutes } from './graphql/graphql.http.ts'
import { createGraphQL } from './graphql/yoga.ts'
import { Admission } from './http/admission.ts'
import { limitConnections } from './http/budgets/connections.ts'
import { StrangerLimit } from './http/budgets/stranger-limit.ts'
import { createHttpServer, serveRoutes } from './http/server.ts'
import { deliverMailJob, JOBS, PROJECT_WORKS, SWEEPS, serviceMailJob, WORK_KINDS } from './jobs.ts'
import { freePort } from './lib/net/free-port.ts'
import { OperatorError } from './lib/operator-error.ts'
import { chooseMailer, mailboxReader } from './mail/choose-mailer.ts'
import { createMetrics, type Metrics } from './observe/metrics.ts'
import { countJobs } from './queue/dead-jobs.ts'
import { type RunningWork, runJobs, runProjectWork } from './queue/queue.ts'
import { restRoutes } from './rest/facade.ts'
import { openApiRoutes } from './rest/openapi.http.ts'
import { restOperations } from './rest/operations.ts'
import { httpRoutes } from './routes.ts'
import { schema } from './schema.ts'
import { type App, type Clock, type Part, startServices, stopPart } from './services.ts'
import { startSmtpDoor } from './smtp/smtp-door.ts'

export { type App, startServices } from './services.ts'

/** They follow from the schema alone, for every service that this process starts. */
const OPERATIONS = await restOperations(schema)

/** Starts the roles of this process and returns when they serve. Nothing is left running when it throws. */
export async function startApp(given: Config, log: Logger, clock: Clock = {}): Promise<App> {
  const config = await withPorts(given)
  const app = await startServices(config, log, clock)
  const roles: Part[] = []
  const stop = async () => {
    // Together: neither stands on the other, and a stop has little time.
    await Promise.all(roles.splice(0).map((role) => stopPart(role, log)))
    await app.stop()
  }
  const metrics = createMetrics()
  try {
    await assertSecretsOpen(createCtx(app.services, SYSTEM, 'start'))
    if (config.roles.includes('worker')) roles.push(await startWorker(app.services, metrics))
    const limits = limitsOf(app.services)
    if (config.roles.includes('http')) roles.push(await startHttp(app.services, limits, metrics))
    if (config.roles.includes('smtp') && config.smtpDoor) {
      roles.push(await startSmtp(app.services, limits, config.smtpDoor))
    }
  } catch (error) {
    await stop()
    throw error
  }
  return { ...app, stop }
}

async function startWorker(services: Services, metrics: Metrics): Promise<Part> {
  const mailer = chooseMailer(services.config.mail, services.now)
  const delivery = deliverMailJob(services, mailer, metrics, () => running.wake(mailDeliveryWork))
  await runJobs(services, [...JOBS, serviceMailJob(mailer)], metrics)
  const running: RunningWork = runProjectWork(
    services,
    { works: [delivery.work, ...PROJECT_WORKS], sweeps: SWEEPS },
    metrics,
  )
  delivery.start()
  const stop = async () => {
    await running.stop()
    await delivery.stop()
  }
  return { name: 'worker', stop }
}

type Limits = { rateLimiter: RateLimiter; strangers: StrangerLimit }

/** One count for all doors of the process. */
const limitsOf = ({ config, database }: Services): Limits => ({
  rateLimiter: new RateLimiter(database.sql, config.rateLimitPerMinute),
  strangers: new StrangerLimit({
    perMinute: config.strangerRateLimitPerMinute,
    trustedProxies: config.connections.trustedProxies,
  }),
})

async function startSmtp(services: Services, limits: Limits, door: SmtpDoorConfig): Promise<Part> {
  try {
    return await startSmtpDoor({ services, ...limits }, door)
  } catch (error) {
    const port = error instanceof Error && 'port' in error ? Number(error.port) : 0
    throw explained(error, { host: door.host, port }, { host: 'SMTP_DOOR_HOST', port: 'SMTP_DOOR_…PORT' })
  }
}

async function startHttp(
  services: Services,
  { rateLimiter, strangers }: Limits,
  metrics: Metrics,
): Promise<Part> {
  const { config, log, now } = services
  const development = config.environment !== 'production'
  const admission = new Admission({
    keyRing: services.keyRing,
    sessions: services.sessions,
    rateLimiter,
    strangers,
    now,
  })
  const graphql = createGraphQL(schema, development, log)
  const routes = [
    ...restRoutes({ services, admission }, OPERATIONS),
    ...graphqlRoutes(graphql, services, admission),
    ...openApiRoutes(schema, OPERATIONS, config),
    ...httpRoutes({
      services,
      metrics,
      strangers,
      admission,
      mailbox: mailboxReader(config.mail),
      workStates: () => workStates(services),
    }),
  ]
  const server = createHttpServer()
  limitConnections(server, config.connections)
  const { basePath, dashboardUrl } = config
  const close = serveRoutes(server, { routes, basePath, dashboardUrl, log, metrics, now })
  server.listen(config.port, config.host)
  await once(server, 'listening').catch((error: unknown) => {
    throw explained(error, config, { host: 'HOST', port: 'PORT' })
  })
  return { name: 'http', stop: close }
}

/** Says why the server cannot listen, and how to fix it. */
function explained(
  error: unknown,
  { host, port }: { host: string; port: number },
  variable: { host: string; port: string },
): unknown {
  switch (error instanceof Error && 'code' in error && error.code) {
    case 'EADDRINUSE':
      return new OperatorError(
        `Port ${port} of ${host} is taken. Stop what uses it, or start with another ${variable.port} (0 takes any free one).`,
      )
    case 'EACCES':
      return new OperatorError(
        `Port ${port} may not be used by this account. Use a ${variable.port} above 1023.`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new OperatorError(`This machine has no address ${host}. Correct ${variable.host}.`)
    default:
      return error
  }
}

/** The waiting work of each kind. */
async function workStates(services: Services) {
  const ctx = createCtx(services, SYSTEM, 'metrics')
  const states = await countJobs(
    ctx,
    WORK_KINDS.map(({ name }) => name),
  )
  return states.set(mailDeliveryWork.name, await countMail(ctx))
}

/** Port 0 is any free port; links in mail and GET /config need to know which. */
async function withPorts(given: Config): Promise<Config> {
  const config = { ...given, smtpDoor: given.smtpDoor && (await withFreePorts(given.smtpDoor)) }
  if (config.port !== 0) return Object.freeze(config)
  const port = await freePort(config.host)
  const apiUrl = config.apiUrl.endsWith(':0') ? `http://${hostInUrl(config.host)}:${port}` : config.apiUrl
  return Object.freeze({ ...config, port, apiUrl })
}

async function withFreePorts(door: SmtpDoorConfig): Promise<SmtpDoorConfig> {
  const free = async (port: number | null) => (port === 0 ? freePort(door.host) : port)
  const { submission, tls, inbound } = door.ports
  return {
    ...door,
    ports: { submission: await free(submission), tls: await free(tls), inbound: await free(inbound) },
  }
}
