import { GraphQLError } from 'graphql'
import { AppError, type ErrorCode, toPublicError } from '../errors.ts'
import { publicCause } from '../observe/unexpected.ts'

/** Messages about a bad argument quote it, however long it is. */
const MAX_MESSAGE = 500

/**
 * Why an operation failed. GraphQL gives what a resolver throws a path; an error without one, or about a place
 * in the query, is about the request: syntax, validation, arguments.
 */
export function causeOf(error: GraphQLError): unknown {
  let cause: Error = error
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError
  if (cause instanceof AppError) return cause
  const aboutRequest = !error.path || (cause instanceof GraphQLError && cause.nodes !== undefined)
  if (!aboutRequest) return cause
  return new AppError(codeOf(error), error.message.slice(0, MAX_MESSAGE))
}

/** Yoga gives some of its errors a status of the HTTP answer. */
function codeOf({ extensions: { http } }: GraphQLError): ErrorCode {
  const status = typeof http === 'object' && http !== null && 'status' in http ? http.status : 400
  if (status === 403) return 'FORBIDDEN'
  return status === 405 ? 'METHOD_NOT_ALLOWED' : 'BAD_REQUEST'
}

/**
 * An error as GraphQL answers it: the same code, status, field errors, details and suggestion as over REST.
 * Its `originalError` is the one to log; the caller of this function fills in the request id.
 */
export function publicGraphQLError(error: unknown): GraphQLError {
  const located = error instanceof GraphQLError ? error : null
  const cause = located ? causeOf(located) : error
  const known = publicCause(cause)
  // Without a path nothing was executed: the status is that of the HTTP answer, where its media type lets it be.
  const http = located?.extensions.http ?? (located?.path ? httpHeadersOf(known) : httpStatusOf(known))
  return new GraphQLError(known.message, {
    nodes: located?.nodes ?? null,
    source: located?.source ?? null,
    positions: located?.positions ?? null,
    path: located?.path ?? null,
    originalError: cause instanceof Error ? cause : new Error(String(cause)),
    extensions: { ...(http && { http }), ...toPublicError(known, '') },
  })
}

/**
 * GraphQL over HTTP answers a request that it understood with 200 to clients that accept plain JSON (`spec`); who asks too
 * often must be able to see it without reading.
 */
const httpStatusOf = ({ statusCode, extras: { headers } }: AppError) => ({
  status: statusCode,
  spec: statusCode < 500 && statusCode !== 429,
  ...(headers && { headers }),
})

/** Headers such as Retry-After, for clients that read them. */
const httpHeadersOf = ({ extras: { headers } }: AppError) => headers && { headers }

/** Uses the error's status as that of the HTTP answer, whatever the client accepts. */
export function setOwnStatus({ extensions }: GraphQLError): void {
  extensions.http = { ...extensions.http, status: Number(extensions.statusCode), spec: false }
}

export const isPublic = ({ extensions }: GraphQLError): boolean => 'statusCode' in extensions

/** The answer to a request that was refused before GraphQL saw it: same shape, with the HTTP status. */
export const refusedGraphQL = (error: AppError, requestId: string) => ({
  status: error.statusCode,
  body: { errors: [{ message: error.message, extensions: toPublicError(error, requestId) }] },
})
