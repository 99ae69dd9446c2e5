import { once } from 'node:events'
import type { Logger } from 'pino'
import { type Config, hostInUrl } from './config.ts'
import type { Services } from './ctx.ts'
import { DeliveryWorker } from './features/emails/delivery-worker.ts'
import { SegmentFollower } from './features/segments/segment-follower.ts'
import { graphqlRoutes } from './graphql/graphql.http.ts'
import { createGraphQL } from './graphql/yoga.ts'
import { followRequests } from './http/close-server.ts'
import { createHttpServer, serveRoutes } from './http/server.ts'
import { httpRoutes } from './http.ts'
import { jobs } from './jobs.ts'
import { freePort } from './lib/free-port.ts'
import { RateLimiter } from './limits.ts'
import { chooseMailer, mailboxReader } from './mail/choose-mailer.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { runJobs } from './queue/queue.ts'
import { restRoutes } from './rest/facade.ts'
import { openApiRoutes } from './rest/openapi.http.ts'
import { restOperations } from './rest/operations.ts'
import { schema } from './schema.ts'
import { type App, type Part, startServices, stopPart } from './services.ts'

export { type App, startServices } from './services.ts'

/** Starts the roles of this process and returns when they serve. Nothing is left running when it throws. */
export async function startApp(given: Config, log: Logger, now: () => Date = () => new Date()): Promise<App> {
  const config = await withPort(given)
  const app = await startServices(config, log, { now })
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
  const worker = new DeliveryWorker(services, mailer, metrics)
  await services.wakeUp.listen(() => worker.wake())
  await runJobs(services, jobs, metrics)
  worker.start()
  const follower = new SegmentFollower(services)
  follower.start()
  const stop = async () => {
    await Promise.all([worker.stop(), follower.stop()])
  }
  return { name: 'worker', stop }
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
  const close = followRequests(server)
  serveRoutes(server, { routes, dashboardUrl: config.dashboardUrl, log, metrics, now })
  server.listen(config.port, config.host)
  await once(server, 'listening')
  return { name: 'http', stop: close }
}

/** Port 0 is any free port; links in mail need to know which. */
async function withPort(config: Config): Promise<Config> {
  if (config.port !== 0) return config
  const port = await freePort(config.host)
  const apiUrl = config.apiUrl.endsWith(':0') ? `http://${hostInUrl(config.host)}:${port}` : config.apiUrl
  return Object.freeze({ ...config, port, apiUrl })
}
