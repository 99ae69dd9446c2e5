import { Prisma } from '../generated/prisma/client.ts'

/**
 * On which connections a statement of a request runs: `short` ones share a few, `analytic` ones have a few of their own and a
 * share of them for each project, all others take one of the pool.
 */
type Kind = 'usual' | 'short' | 'analytic'

/**
 * SQL text with a name, under which each connection prepares it once (not when the name is empty). In its source
 * parameters have names (`:projectId`); here they are `$1` and so on, and `names` says which is which. `Row` is the
 * shape of what it returns; it is written beside the text because nothing else can know it.
 */
export type Statement<Params, Row> = {
  name: string
  text: string
  names: readonly string[]
  kind: Kind
  /** Types of its parameters and rows; they exist for the compiler only. */
  types?: (params: Params) => Row
}

/** Parameters of a statement without any. */
export type None = Record<string, never>

/**
 * Texts, quoted names and comments, in which a colon means nothing, or else a parameter. A colon behind a word, a bracket
 * or another colon belongs to a slice of an array or to a cast. Texts between dollars and those with backslashes are not
 * known here, nor are comments within comments.
 */
const TOKENS = /'(?:[^']|'')*'|"[^"]*"|--.*|\/\*[\s\S]*?\*\/|(?<![\w:\])]):([a-z]\w*)/gi

/** A parameter that is named twice is one. */
function compile<Params, Row>(kind: Kind, name: string, source: string): Statement<Params, Row> {
  const places = new Map<string, string>()
  const text = source.replace(TOKENS, (token: string, parameter: string | undefined) => {
    if (parameter === undefined) return token
    const place = places.get(parameter) ?? `$${places.size + 1}`
    places.set(parameter, place)
    return place
  })
  return { name, text, names: [...places.keys()], kind }
}

/** The values of a statement in the order of its text. Throws for a parameter that is named in it and not given. */
export function valuesOf({ text, names }: Statement<never, unknown>, params: Given): unknown[] {
  return names.map((name) => {
    const value = params[name]
    if (value === undefined) throw new Error(`The parameter :${name} is not given: ${text}`)
    return value
  })
}

type Given = Record<string, unknown>

/** A statement that each connection prepares once, with a name of its own. */
export const statement = <Params extends Given, Row = object>(
  name: string,
  text: string,
): Statement<Params, Row> => compile('usual', name, text)

/**
 * A statement of a hot path: by a key, of a few rows, never waiting for anything but the rows it writes. It may
 * share a connection with others under way.
 */
export const shortStatement = <Params extends Given, Row = object>(
  name: string,
  text: string,
): Statement<Params, Row> => compile('short', name, text)

/**
 * A statement that is planned anew for the values of each call, because the best plan depends on them; also
 * one whose text is put together from parts, in too many ways to keep them all prepared.
 */
export const unpreparedStatement = <Params extends Given, Row = object>(
  text: string,
): Statement<Params, Row> => compile('usual', '', text)

/**
 * A read that may look at a large part of a project's rows, planned anew for its values. Few of one project
 * run at the same time, so that other projects do not wait for them.
 */
export const analyticStatement = <Params extends Given & { projectId: string }, Row = object>(
  text: string,
): Statement<Params, Row> => compile('analytic', '', text)

/** Ends statements of the transaction that take longer than `milliseconds`. */
export const limitTime = statement<{ milliseconds: string }>(
  'limit-time',
  `select set_config('statement_timeout', :milliseconds, true)`,
)

/** Runs a statement on a connection of its own, or inside the transaction that the context is bound to. */
export type Sql = <Params extends Given, Row extends object>(
  query: Statement<Params, Row>,
  params: NoInfer<Params>,
) => Promise<Row[]>

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
  /Connection terminated|timeout expired|timeout exceeded when trying to connect|Cannot use a pool after|Client has encountered a connection error|Query read timeout|Server has closed the connection|Can't reach database/

/** Thrown when a project has so many long reads running that one more would wait too long. */
export class ProjectBusyError extends Error {
  constructor() {
    super('too many analytic statements of one project')
    this.name = 'ProjectBusyError'
  }
}

/** Errors of a server that is running but has no capacity. */
const TOO_SLOW = new Set(['57014', '55P03', '53300', '40001', '40P01', 'P2024', 'P2028'])
const TOO_SLOW_TEXT = /timeout exceeded when trying to connect|Query read timeout/

/**
 * Errors of a statement that has certainly not been run, only because of its connection: the statement could
 * not be prepared, the driver wrongly believed it to be prepared, or it was not sent.
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

/** Statement time-outs, lock time-outs, deadlocks after all retries, transactions that took too long. */
const TIME_OUTS = new Set(['57014', '55P03', '40P01', 'P2028'])

/** Whether the database took too long: a smaller request may succeed. */
export const isTimeOut = (error: unknown): boolean => TIME_OUTS.has(sqlState(error) ?? '')

/** Whether the statement broke the constraint of that name. */
export function violates(error: unknown, constraint: string): boolean {
  for (const cause of causes(error)) {
    if ('constraint' in cause && cause.constraint === constraint) return true
    if (cause.message.includes(`"${constraint}"`)) return true
  }
  return false
}
