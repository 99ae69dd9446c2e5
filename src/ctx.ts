import { fromPrisma, type PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import { type Actor, type KeyRing, systemOf } from './access.ts'
import type { Config } from './config.ts'
import type { Database } from './db/database.ts'
import { isDatabaseUnavailable, type Sql, sqlState } from './db/sql.ts'
import { internalError, missingAuth } from './errors.ts'
import type { Prisma, PrismaClient } from './generated/prisma/client.ts'
import type { Reservation } from './idempotency.ts'
import type { DnsResolver } from './lib/dns-resolver.ts'
import type { JobQueue, SendJobOptions } from './queue/define-job.ts'
import type { WakeUp } from './queue/wake-up.ts'

/** What a process has one of, whoever asks. Tests replace `now`. */
export type Services = {
  config: Config
  database: Database
  boss: PgBoss
  keyRing: KeyRing
  dns: DnsResolver
  log: Logger
  now: () => Date
  /** Tells the delivery workers of all processes that mail is waiting. */
  wakeUp: WakeUp
}

export type Enqueue = <Payload extends object>(
  job: JobQueue<Payload>,
  payload: Payload,
  options?: SendJobOptions,
) => Promise<void>

/**
 * What a service needs to do its work for one caller. `db`, `sql` and `enqueue` belong together: inside
 * `atomically` all three write to the same transaction.
 */
export type Ctx = {
  services: Services
  config: Config
  actor: Actor
  requestId: string
  log: Logger
  now: () => Date
  db: PrismaClient | Prisma.TransactionClient
  sql: Sql
  enqueue: Enqueue
  /** Runs the work in one transaction; inside another `atomically` it joins that one. */
  atomically: <Result>(work: (ctx: Ctx) => Promise<Result>) => Promise<Result>
  /** The Idempotency-Key that this request holds, if it came with one. */
  reservation: Reservation | null
  /** The REST facade has checked the input already. */
  inputIsChecked: boolean
}

export function createCtx(services: Services, actor: Actor, requestId: string): Ctx {
  const { database, boss, config } = services
  const ctx: Ctx = {
    services,
    config,
    actor,
    requestId,
    log: services.log,
    now: services.now,
    db: database.prisma,
    sql: database.sql,
    enqueue: async (job, payload, options = {}) => {
      await boss.send(job.name, job.payload.parse(payload), options)
    },
    atomically: (work) =>
      withRetries(() =>
        database.prisma.$transaction((tx) => work(bindTo(ctx, tx)), { maxWait: 5_000, timeout: 15_000 }),
      ),
    reservation: null,
    inputIsChecked: false,
  }
  return ctx
}

/** The same for one project, as background work that serves all of them needs it. */
export const forProject = (ctx: Ctx, projectId: string): Ctx =>
  createCtx({ ...ctx.services, log: ctx.log }, systemOf(projectId), ctx.requestId)

function bindTo(ctx: Ctx, tx: Prisma.TransactionClient): Ctx {
  const bound: Ctx = {
    ...ctx,
    db: tx,
    sql: (query, values = []) => tx.$queryRawUnsafe(query.text, ...values),
    enqueue: async (job, payload, options = {}) => {
      await ctx.services.boss.send(job.name, job.payload.parse(payload), { ...options, db: fromPrisma(tx) })
    },
    atomically: (work) => work(bound),
  }
  return bound
}

const RETRYABLE = new Set(['40001', '40P01'])
const ATTEMPTS = 3

/** Two transactions that wait for each other are nobody's fault: the one that was ended runs again. */
async function withRetries<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      const retryable = isDatabaseUnavailable(error) && RETRYABLE.has(sqlState(error) ?? '')
      if (!retryable || attempt === ATTEMPTS) throw error
    }
  }
}

/** The id of the caller's project. `access` has made sure that there is one before a resolver runs. */
export function projectIdOf({ actor }: Ctx): string {
  if (actor.kind === 'key') return actor.project.id
  if (actor.kind === 'system' && actor.projectId !== null) return actor.projectId
  throw actor.kind === 'anonymous' ? missingAuth() : internalError()
}
