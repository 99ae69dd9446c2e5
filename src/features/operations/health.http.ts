import { timingSafeEqual } from 'node:crypto'
import { hashKey } from '../../admission/access.ts'
import { pendingMigrations } from '../../db/migrations/migrate.ts'
import { AppError } from '../../errors.ts'
import { type Exchange, reply, replyJson } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import { isLocalRequest } from '../../http/local-request.ts'
import type { ServerRoute } from '../../http/server.ts'
import { within } from '../../lib/async/within.ts'
import { hasTroubles } from '../provider-troubles/provider-troubles.ts'

const CHECK_TIMEOUT_MS = 2_000

/** Liveness, readiness and metrics, for whatever runs the service. */
export function healthRoutes(parts: HttpParts): ServerRoute[] {
  const check = once(() => readiness(parts.services))
  return [
    { method: 'GET', path: '/health/live', handle: (exchange) => replyJson(exchange, 200, { status: 'ok' }) },
    { method: 'GET', path: '/health/ready', handle: (exchange) => ready(exchange, parts, check) },
    { method: 'GET', path: '/metrics', handle: (exchange) => metrics(exchange, parts) },
  ]
}

/** Requests at the same time share one check and its answer: the check has one connection. */
function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | null = null
  return () => {
    running ??= work().finally(() => {
      running = null
    })
    return running
  }
}

type Check = 'ok' | 'failed'

async function ready(
  exchange: Exchange,
  { metrics: { ready: gauge } }: HttpParts,
  check: () => Promise<Checks>,
): Promise<void> {
  const checks = (await within(CHECK_TIMEOUT_MS, check())) ?? FAILED
  const ok = Object.values(checks).every((check) => check !== 'failed')
  gauge.set(ok ? 1 : 0)
  // Mail that waits is no reason to take no requests: they are accepted, and their mail waits as well.
  const status = !ok ? 'unavailable' : checks.mail === 'degraded' ? 'degraded' : 'ok'
  replyJson(exchange, ok ? 200 : 503, { status, checks })
}

type Checks = { database: Check; migrations: Check; queue: Check; mail: Check | 'degraded' }

const FAILED: Checks = { database: 'failed', migrations: 'failed', queue: 'failed', mail: 'failed' }

async function readiness({ database: { health, queueSchema }, log }: HttpParts['services']): Promise<Checks> {
  try {
    const pending = await pendingMigrations(health)
    const { rows } = await health.query<{ installed: boolean }>(
      'select to_regclass($1) is not null as installed',
      [`${queueSchema}.version`],
    )
    const queue = rows[0]?.installed
    const isTroubled = pending.length === 0 && (await hasTroubles(health))
    return {
      database: 'ok',
      migrations: pending.length === 0 ? 'ok' : 'failed',
      queue: queue ? 'ok' : 'failed',
      mail: isTroubled ? 'degraded' : 'ok',
    }
  } catch (error) {
    log.debug({ err: error }, 'not ready')
    return FAILED
  }
}

/** Figures about the whole service: for who has METRICS_TOKEN, and in development for this machine. */
async function metrics(exchange: Exchange, parts: HttpParts): Promise<void> {
  const { services, metrics } = parts
  const { metricsToken, environment } = services.config
  const given = exchange.request.headers.authorization ?? ''
  const isKnown = metricsToken && timingSafeEqual(hashKey(given), hashKey(`Bearer ${metricsToken}`))
  if (!isKnown && (environment === 'production' || !isLocalRequest(exchange.request))) {
    throw new AppError('FORBIDDEN', 'Metrics need the bearer token METRICS_TOKEN.')
  }
  await countWork(parts)
  const { registry } = metrics
  reply(exchange, 200, { 'content-type': registry.contentType }, await registry.metrics())
}

/** How much work waits, and for how long: asked of the database, so the same whichever process answers. */
async function countWork({ services, metrics, workStates }: HttpParts): Promise<void> {
  try {
    for (const [work, { pending, oldestSeconds }] of await workStates()) {
      metrics.workWaiting.labels(work).set(pending)
      metrics.workOldest.labels(work).set(oldestSeconds ?? 0)
    }
  } catch (error) {
    services.log.debug({ err: error }, 'waiting work was not counted')
  }
}
