import { costLimitPlugin } from '@escape.tech/graphql-armor-cost-limit'
import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth'
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens'
import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention'
import { GraphQLError, type GraphQLSchema } from 'graphql'
import { createYoga, type Plugin, type YogaServerInstance } from 'graphql-yoga'
import type { Logger } from 'pino'
import type { Ctx } from '../ctx.ts'
import { type AppError, badRequest, toPublicError } from '../errors.ts'
import { toAppError } from '../unexpected.ts'

/** What one GraphQL request may ask for. */
export const GRAPHQL_LIMITS = { depth: 10, cost: 5_000, aliases: 15, tokens: 2_000 }

export type GraphQL = YogaServerInstance<Ctx, object>

/** GraphQL over HTTP: one operation a request, limited in depth, cost, aliases and tokens. */
export function createGraphQL(schema: GraphQLSchema, development: boolean, log: Logger): GraphQL {
  return createYoga<Ctx>({
    schema,
    graphqlEndpoint: '/graphql',
    graphiql: development ? { title: 'Mailwright' } : false,
    landingPage: false,
    batching: false,
    cors: false,
    logging: false,
    maskedErrors: { maskError: (error) => publicGraphQLError(error, log) },
    plugins: [
      useCSRFPrevention({ requestHeaders: ['x-graphql-yoga-csrf', 'authorization'] }),
      maxTokensPlugin({ n: GRAPHQL_LIMITS.tokens }),
      maxDepthPlugin({ n: GRAPHQL_LIMITS.depth }),
      maxAliasesPlugin({ n: GRAPHQL_LIMITS.aliases }),
      costLimitPlugin({ maxCost: GRAPHQL_LIMITS.cost }),
      nameRequestInErrors,
    ],
  })
}

/**
 * An error as GraphQL answers it: the same code, status, field errors, details and suggestion as over REST.
 * The request id is filled in by `nameRequestInErrors`, because masking does not know the request.
 */
export function publicGraphQLError(error: unknown, log: Logger): GraphQLError {
  if (!(error instanceof GraphQLError))
    return publicGraphQLError(new GraphQLError('', { originalError: asError(error) }), log)
  const { nodes, source, positions, path, originalError, extensions } = error
  const known = originalError ? toAppError(originalError, log, '') : badRequest(error.message)
  return new GraphQLError(known.message, {
    ...(nodes && { nodes }),
    ...(source && { source }),
    ...(positions && { positions }),
    ...(path && { path }),
    extensions: { ...(extensions.http ? { http: extensions.http } : {}), ...toPublicError(known, '') },
  })
}

const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)))

const nameRequestInErrors: Plugin<object, Ctx> = {
  onResultProcess({ result, serverContext }) {
    for (const single of Array.isArray(result) ? result : [result]) {
      if (!('errors' in single)) continue
      for (const { extensions } of single.errors ?? []) {
        if (extensions) extensions.requestId = serverContext.requestId
      }
    }
  },
}

/** The answer to a request that was refused before GraphQL saw it: same shape, with the HTTP status. */
export const refusedGraphQL = (error: AppError, requestId: string) => ({
  status: error.statusCode,
  body: { errors: [{ message: error.message, extensions: toPublicError(error, requestId) }] },
})
