import { timingSafeEqual } from 'node:crypto'
import { hashKey } from '../../access.ts'
import { pendingMigrations } from '../../db/migrate.ts'
import { AppError } from '../../errors.ts'
import { type Exchange, reply, replyJson } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import type { ServerRoute } from '../../http/server.ts'
import { within } from '../../lib/within.ts'

const CHECK_TIMEOUT_MS = 2_000
const LOOPBACK = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/

const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip']

/** Liveness, readiness and metrics, for whatever runs the service. */
export const healthRoutes = (parts: HttpParts): ServerRoute[] => [
  { method: 'GET', path: '/health/live', handle: (exchange) => replyJson(exchange, 200, { status: 'ok' }) },
  { method: 'GET', path: '/health/ready', handle: (exchange) => ready(exchange, parts) },
  { method: 'GET', path: '/metrics', handle: (exchange) => metrics(exchange, parts) },
]

type Check = 'ok' | 'failed'

async function ready(exchange: Exchange, { services, metrics: { ready: gauge } }: HttpParts): Promise<void> {
  const checks = (await within(CHECK_TIMEOUT_MS, readiness(services))) ?? FAILED
  const ok = Object.values(checks).every((check) => check === 'ok')
  gauge.set(ok ? 1 : 0)
  replyJson(exchange, ok ? 200 : 503, { status: ok ? 'ok' : 'unavailable', checks })
}

type Checks = { database: Check; migrations: Check; queue: Check }

const FAILED: Checks = { database: 'failed', migrations: 'failed', queue: 'failed' }

async function readiness(services: HttpParts['services']): Promise<Checks> {
  try {
    const pending = await pendingMigrations(services.database.pool)
    const queue = await services.boss.isInstalled()
    return {
      database: 'ok',
      migrations: pending.length === 0 ? 'ok' : 'failed',
      queue: queue ? 'ok' : 'failed',
    }
  } catch (error) {
    services.log.debug({ err: error }, 'not ready')
    return FAILED
  }
}

/** Figures about the whole service: for this machine, or for who has METRICS_TOKEN. */
async function metrics(exchange: Exchange, { services, metrics: { registry } }: HttpParts): Promise<void> {
  const { metricsToken } = services.config
  const { headers, socket } = exchange.request
  // A proxy on this machine speaks for callers from anywhere.
  const proxied = PROXY_HEADERS.some((name) => headers[name] !== undefined)
  const local = LOOPBACK.test(socket.remoteAddress ?? '') && !proxied
  const given = headers.authorization ?? ''
  const allowed = metricsToken && timingSafeEqual(hashKey(given), hashKey(`Bearer ${metricsToken}`))
  if (!local && !allowed) throw new AppError('FORBIDDEN', 'Metrics need the bearer token METRICS_TOKEN.')
  reply(exchange, 200, { 'content-type': registry.contentType }, await registry.metrics())
}
