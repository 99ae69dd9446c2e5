import { once } from 'node:events'
import type { Logger } from 'pino'
import { SYSTEM } from './admission/access.ts'
import { RateLimiter } from './admission/limits.ts'
import { type Config, hostInUrl } from './config.ts'
import { createCtx, type Services } from './ctx.ts'
import { mailDeliveryWork } from './features/delivery/mail-delivery.ts'
import { countMail } from './features/operations/dead-letters.ts'
import { graphqlRoutes } from './graphql/graphql.http.ts'
import { createGraphQL } from './graphql/yoga.ts'
import { Admission } from './http/admission.ts'
import { limitConnections } from './http/budgets/connections.ts'
import { StrangerLimit } from './http/budgets/stranger-limit.ts'
import { createHttpServer, serveRoutes } from './http/server.ts'
import { deliverMailJob, JOBS, PROJECT_WORKS, WORK_KINDS } from './jobs.ts'
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

export { type App, startServices } from './services.ts'

/** Starts the roles of this process and returns when they serve. Nothing is left running when it throws. */
export async function startApp(given: Config, log: Logger, clock: Clock = {}): Promise<App> {
  const config = await withPort(given)
  const app = await startServices(config, log, clock)
  const roles: Part[] = []
  const stop = async () => {
    // Together: neither stands on the other, and a stop has little time.
    await Promise.all(roles.splice(0).map((role) => stopPart(role, log)))
    await app.stop()
  }
  const metrics = createMetrics()
  try {
    if (config.roles.includes('worker')) roles.push(await startWorker(app.services, metrics))
    if (config.roles.includes('http')) roles.push(await startHttp(app.services, metrics))
  } catch (error) {
    await stop()
    throw error
  }
  return { ...app, stop }
}

async function startWorker(services: Services, metrics: Metrics): Promise<Part> {
  const mailer = chooseMailer(services.config.mail, services.now)
  const delivery = deliverMailJob(services, mailer, metrics, () => running.wake(mailDeliveryWork))
  await runJobs(services, JOBS, metrics)
  const running: RunningWork = runProjectWork(services, [delivery.work, ...PROJECT_WORKS], metrics)
  delivery.start()
  const stop = async () => {
    await running.stop()
    await delivery.stop()
  }
  return { name: 'worker', stop }
}

async function startHttp(services: Services, metrics: Metrics): Promise<Part> {
  const { config, log, now, database } = services
  const development = config.environment !== 'production'
  const strangers = new StrangerLimit({
    perMinute: config.strangerRateLimitPerMinute,
    trustedProxies: config.connections.trustedProxies,
  })
  const admission = new Admission({
    keyRing: services.keyRing,
    rateLimiter: new RateLimiter(database.sql, config.rateLimitPerMinute),
    strangers,
    now,
  })
  const operations = await restOperations(schema)
  const graphql = createGraphQL(schema, development, log)
  const routes = [
    ...restRoutes({ services, admission }, operations),
    ...graphqlRoutes(graphql, services, admission),
    ...openApiRoutes(schema, operations, config),
    ...httpRoutes({
      services,
      metrics,
      strangers,
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
    throw explained(error, config)
  })
  return { name: 'http', stop: close }
}

/** Says why the server cannot listen, and how to fix it. */
function explained(error: unknown, { host, port }: Config): unknown {
  switch (error instanceof Error && 'code' in error && error.code) {
    case 'EADDRINUSE':
      return new OperatorError(
        `Port ${port} of ${host} is taken. Stop what uses it, or start with another PORT (PORT=0 takes any free one).`,
      )
    case 'EACCES':
      return new OperatorError(`Port ${port} may not be used by this account. Use a PORT above 1023.`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new OperatorError(`This machine has no address ${host}. Correct HOST.`)
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

/** Port 0 is any free port; links in mail need to know which. */
async function withPort(config: Config): Promise<Config> {
  if (config.port !== 0) return config
  const port = await freePort(config.host)
  const apiUrl = config.apiUrl.endsWith(':0') ? `http://${hostInUrl(config.host)}:${port}` : config.apiUrl
  return Object.freeze({ ...config, port, apiUrl })
}
