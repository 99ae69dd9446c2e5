import { fromPrisma, type PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import { type Actor, type KeyRing, projectOf, systemOf } from './admission/access.ts'
import type { Passwords } from './admission/accounts/passwords.ts'
import type { Sessions } from './admission/accounts/sessions.ts'
import type { HeldKey } from './admission/idempotency.sql.ts'
import type { MailPermits } from './admission/metering/permits.ts'
import type { RememberedNames } from './admission/remembered-names.ts'
import type { Config } from './config.ts'
import type { Database } from './db/database.ts'
import { isDatabaseUnavailable, type Sql, sqlState, valuesOf } from './db/sql.ts'
import { internalError, missingAuth } from './errors.ts'
import type { Prisma, PrismaClient } from './generated/prisma/client.ts'
import type { Reads } from './graphql/limits/reads.ts'
import type { SingleFile } from './lib/async/pauses.ts'
import type { Slots } from './lib/async/slots.ts'
import type { MessageReader } from './lib/mime/message-reader.ts'
import type { DnsResolver } from './lib/net/dns-resolver.ts'
import type { AnswerBytes } from './paging/answer-bytes.ts'
import type { Pieces } from './paging/pieces.ts'
import type { JobQueue, SendJobOptions, WorkKind } from './queue/job-queue.ts'
import type { Priority, Standing } from './queue/priorities.ts'
import type { QueueConnections } from './queue/queue-connections.ts'
import type { WorkRequests } from './queue/work-requests.ts'
import type { RenderBudget } from './templating/render-budget.ts'
import type { Rendering } from './templating/rendering.ts'
import type { Watchers } from './watchers.ts'

/** The parts that a process has once. Tests replace `now`. */
export type Services = {
  config: Config
  database: Database
  boss: PgBoss
  keyRing: KeyRing
  sessions: Sessions
  passwords: Passwords
  /** Null where nothing is billed. */
  mailPermits: MailPermits | null
  dns: DnsResolver
  log: Logger
  now: () => Date
  /** Milliseconds that tests add to the database's clock; 0 otherwise. */
  clockShift: () => number
  /** Asks for turns of background work. */
  work: WorkRequests
  queueConnections: QueueConnections
  /** Names of events and of custom fields that this process knows to be on record. */
  rememberedNames: RememberedNames
  watchers: Watchers
  rendering: Rendering
  messageReader: MessageReader
  /** Turns at what keeps a core busy for long, such as new DKIM keys. */
  heavyWork: Slots
  /** Turns at what holds the event loop for tens of milliseconds. */
  longSteps: SingleFile
}

export type Enqueue = <Payload extends object>(
  job: JobQueue<Payload>,
  payload: Payload,
  options?: SendJobOptions,
) => Promise<void>

/**
 * Everything that a service needs to work for one caller. `db`, `sql` and `enqueue` belong together: inside
 * `atomically` all three write to the same transaction.
 */
export type Ctx = {
  services: Services
  config: Config
  actor: Actor
  /** What sign-in needs of the connection; null without a request. */
  caller: Caller | null
  requestId: string
  log: Logger
  now: () => Date
  db: PrismaClient | Prisma.TransactionClient
  sql: Sql
  enqueue: Enqueue
  /** Says that the caller's project has work of a kind: after the commit, when there is a transaction. */
  requestWork: (kind: WorkKind, priority?: Priority, standing?: Standing) => void
  /** Runs the work in one transaction; inside another `atomically` it joins that one. */
  atomically: <Result>(work: (ctx: Ctx) => Promise<Result>) => Promise<Result>
  /** Whose connections it uses. */
  connections: ConnectionClass
  /** The Idempotency-Key that this request holds, if it came with one. */
  heldKey: HeldKey | null
  /** The cost that rendering may still have, for all operations of a request together. */
  renderBudget: RenderBudget
  /** Where the room for a large answer comes from. */
  answerBytes: AnswerBytes
  /** Reads of a GraphQL request; null for all others. */
  reads: Reads | null
  /** Pieces of an answer over REST that is written in parts; null when it is written in one. */
  pieces: Pieces | null
}

export type Caller = {
  /** Network address, as trusted proxies tell it; of IPv6 the /64. */
  address: string
  /** Counts a request that costs work before anyone is signed in; throws RATE_LIMIT_EXCEEDED. */
  countAsStranger: () => void
  /** Adds a header Set-Cookie to the answer. */
  setCookie: (cookie: string) => void
}

/** For work without a caller, by the CLI or in the background: no limits. */
const UNLIMITED: AnswerBytes = { takeAnswer: async () => {}, taken: 0, mustAnswer: () => {} }

/** Requests and background work have connections of their own, so that neither waits for the other. */
type ConnectionClass = 'request' | 'worker'

type CtxOptions = { connections?: ConnectionClass; caller?: Caller | null }

const TRANSACTION_MS = { request: 15_000, worker: 60_000 }

export function createCtx(
  services: Services,
  actor: Actor,
  requestId: string,
  { connections = 'request', caller = null }: CtxOptions = {},
): Ctx {
  const { database, boss, config } = services
  const { prisma, sql } = connections === 'worker' ? database.worker : database
  const ctx: Ctx = {
    services,
    config,
    actor,
    caller,
    requestId,
    log: services.log,
    now: services.now,
    db: prisma,
    sql,
    enqueue: async (job, payload, options = {}) => {
      await boss.send(job.name, job.payload.parse(payload), options)
    },
    requestWork: (kind, priority, standing) =>
      services.work.ask(kind, { projectId: projectIdOf(ctx), priority, standing }),
    atomically: async (work) => {
      const { result, requested } = await withRetries(() => {
        const requested: (() => void)[] = []
        const options = { maxWait: 5_000, timeout: TRANSACTION_MS[connections] }
        return prisma.$transaction(
          async (tx) => ({ result: await work(bindTo(ctx, tx, requested)), requested }),
          options,
        )
      })
      for (const request of requested) request()
      return result
    },
    connections,
    heldKey: null,
    renderBudget: services.rendering.newBudget(),
    answerBytes: UNLIMITED,
    reads: null,
    pieces: null,
  }
  return ctx
}

/** The same request of the same caller, as another actor: one who acts for a project. */
export function actingAs(ctx: Ctx, actor: Actor): Ctx {
  const { services, requestId, connections, caller } = ctx
  const { atomically, requestWork } = createCtx(services, actor, requestId, { connections, caller })
  return { ...ctx, actor, atomically, requestWork }
}

/** The same for one project, as background work that serves all of them needs it. */
export const forProject = (ctx: Ctx, projectId: string): Ctx =>
  createCtx({ ...ctx.services, log: ctx.log }, systemOf(projectId), ctx.requestId, {
    connections: ctx.connections,
  })

/** The same inside its transaction, acting for a project. */
export const actingFor = (tx: Ctx, projectId: string): Ctx => ({
  ...tx,
  actor: systemOf(projectId),
  atomically: (work) => tx.atomically((inner) => work(actingFor(inner, projectId))),
})

/** `requested` gathers the work to ask for after the commit. */
function bindTo(ctx: Ctx, tx: Prisma.TransactionClient, requested: (() => void)[]): Ctx {
  const bound: Ctx = {
    ...ctx,
    db: tx,
    sql: (query, params) => tx.$queryRawUnsafe(query.text, ...valuesOf(query, params)),
    enqueue: async (job, payload, options = {}) => {
      await ctx.services.boss.send(job.name, job.payload.parse(payload), { ...options, db: fromPrisma(tx) })
    },
    requestWork: (kind, priority, standing) =>
      void requested.push(() => ctx.requestWork(kind, priority, standing)),
    atomically: (work) => work(bound),
  }
  return bound
}

const RETRYABLE = new Set(['40001', '40P01'])
const ATTEMPTS = 3

/**
 * Two transactions may wait for each other without a mistake of either: the one that was ended runs again.
 */
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

/** The id of the caller's project. `access` has checked that there is one before a resolver runs. */
export function projectIdOf({ actor }: Ctx): string {
  const project = projectOf(actor)
  if (project) return project.id
  if (actor.kind === 'system' && actor.projectId !== null) return actor.projectId
  throw actor.kind === 'anonymous' ? missingAuth() : internalError()
}
