import { Prisma } from '../generated/prisma/client.ts'

/**
 * On which connections a statement of a request runs: `short` ones share a few, `analytic` ones have a few of their own and a
 * share of them for each project, all others take one of the pool.
 */
type Kind = 'usual' | 'short' | 'analytic'

/**
 * SQL text with a name, under which each connection prepares it once (not when the name is empty). `Row` is the shape of what it returns;
 * it is written beside the text because nothing else can know it.
 */
export type Statement<Row> = { name: string; text: string; kind: Kind; row?: Row }

export const statement = <Row>(name: string, text: string): Statement<Row> => ({ name, text, kind: 'usual' })

/**
 * A statement of a hot path: by a key, of a few rows, never waiting for anything but the rows it writes. It may
 * share a connection with others under way.
 */
export const shortStatement = <Row>(name: string, text: string): Statement<Row> => ({
  name,
  text,
  kind: 'short',
})

/**
 * A statement that is planned anew for the values of each call, because the best way depends on them; also one
 * whose text is made of parts, of which there are too many to keep them prepared.
 */
export const unpreparedStatement = <Row>(text: string): Statement<Row> => ({ name: '', text, kind: 'usual' })

/**
 * A read that may look at a large part of what a project has, planned anew for its values. Few of one project run
 * at the same time, so that nobody else waits for them. Its first value is the project.
 */
export const analyticStatement = <Row>(text: string): Statement<Row> => ({ name: '', text, kind: 'analytic' })

/** Ends the statements of the transaction that take longer than $1 milliseconds (text). */
export const limitTime: Statement<object> = statement(
  'limit-time',
  `select set_config('statement_timeout', $1, true)`,
)

/** Runs a statement on a connection of its own, or inside the transaction that the context is bound to. */
export type Sql = <Row extends object>(query: Statement<Row>, values?: unknown[]) => Promise<Row[]>

const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  '08000',
  '08001',
  '08003',
  '08006',
  '25006', // read only: a standby, or a hosted database whose disk is full
  '53100', // disk full
  '53200', // out of memory
  '53300', // too many connections
  '57P01', // shut down by an administrator
  '57P02', // crashed
  '57P03', // starting up or shutting down
  '57014', // statement time-out
  '55P03', // lock time-out
  '40001', // serialisation failure that was retried in vain
  '40P01', // deadlock that was retried in vain
  'P1001',
  'P1002',
  'P1008',
  'P1017',
  'P2024',
  'P2028',
  'P2034',
])

/** pg and its pool report these without a code. */
const UNREACHABLE_TEXT =
  /Connection terminated|timeout exceeded when trying to connect|Cannot use a pool after|Client has encountered a connection error|Query read timeout|Server has closed the connection|Can't reach database/

/** Thrown when a project has so many long reads under way that one more would have to wait too long. */
export class ProjectBusyError extends Error {
  constructor() {
    super('too many analytic statements of one project')
    this.name = 'ProjectBusyError'
  }
}

/** What a server says that is there, and has no time. */
const TOO_SLOW = new Set(['57014', '55P03', '53300', '40001', '40P01', 'P2024', 'P2028'])
const TOO_SLOW_TEXT = /timeout exceeded when trying to connect|Query read timeout/

/**
 * What a statement fails with that has certainly not been run, only because of the connection it was sent on: what
 * it was to be prepared for, what the driver believed to be prepared, and what it did not send any more.
 */
const NOT_RUN = new Set(['0A000', '26000', '42P05'])
const NOT_RUN_TEXT = /^Client .* is not queryable$/

function* causes(error: unknown): Generator<Error> {
  for (let current = error; current instanceof Error; current = current.cause) yield current
}

const codeOf = (error: Error): string | undefined => {
  if (error instanceof Prisma.PrismaClientKnownRequestError) return originalCode(error) ?? error.code
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Prisma wraps a database error of a raw query; the SQLSTATE is in its `meta`. */
function originalCode(error: Prisma.PrismaClientKnownRequestError): string | undefined {
  const cause = error.meta?.driverAdapterError
  if (!(cause instanceof Error) || typeof cause.cause !== 'object' || cause.cause === null) return undefined
  const { originalCode: code } = cause.cause as { originalCode?: unknown }
  return typeof code === 'string' ? code : undefined
}

/** Whether the database, not the request, is the reason: it is away, starting, overloaded or too slow. */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (const cause of causes(error)) {
    if (cause instanceof ProjectBusyError) return true
    if (UNREACHABLE.has(codeOf(cause) ?? '')) return true
    if (UNREACHABLE_TEXT.test(cause.message)) return true
    if (cause instanceof Prisma.PrismaClientInitializationError) return true
  }
  return false
}

/** Whether the database is there and took too long. */
export function isDatabaseSlow(error: unknown): boolean {
  for (const cause of causes(error)) {
    if (TOO_SLOW.has(codeOf(cause) ?? '') || TOO_SLOW_TEXT.test(cause.message)) return true
  }
  return false
}

/** Whether a statement may be sent again over another connection: this one has not let it begin. */
export const hasNotRun = (error: unknown): boolean =>
  error instanceof Error && (NOT_RUN.has(codeOf(error) ?? '') || NOT_RUN_TEXT.test(error.message))

/** The SQLSTATE of a failed statement, whichever door it went through. */
export function sqlState(error: unknown): string | undefined {
  for (const cause of causes(error)) {
    const code = codeOf(cause)
    if (code) return code
  }
  return undefined
}

/** Statement time-outs, lock time-outs, deadlocks that were retried in vain, transactions that took too long. */
const TIME_OUTS = new Set(['57014', '55P03', '40P01', 'P2028'])

/** Whether what was asked of the database at once took it too long: less of it may not. */
export const isTimeOut = (error: unknown): boolean => TIME_OUTS.has(sqlState(error) ?? '')

/** Whether the statement broke the constraint of that name. */
export function violates(error: unknown, constraint: string): boolean {
  for (const cause of causes(error)) {
    if ('constraint' in cause && cause.constraint === constraint) return true
    if (cause.message.includes(`"${constraint}"`)) return true
  }
  return false
}
