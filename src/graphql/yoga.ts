import { costLimitPlugin } from '@escape.tech/graphql-armor-cost-limit'
import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth'
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens'
import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention'
import type { GraphQLSchema } from 'graphql'
import { createYoga, type Plugin, type YogaServerInstance } from 'graphql-yoga'
import type { Logger } from 'pino'
import type { Ctx } from '../ctx.ts'
import { logUnexpected } from '../unexpected.ts'
import { isPublic, publicGraphQLError } from './public-error.ts'

/** What one GraphQL request may ask for. */
export const GRAPHQL_LIMITS = { depth: 10, cost: 5_000, aliases: 15, tokens: 2_000 }

export type GraphQL = YogaServerInstance<Ctx, object>

/** GraphQL over HTTP: one operation a request, limited in depth, cost, aliases and tokens. */
export function createGraphQL(schema: GraphQLSchema, development: boolean, log: Logger): GraphQL {
  return createYoga<Ctx>({
    schema,
    graphqlEndpoint: '/graphql',
    graphiql: development ? { title: 'Mailwright' } : false,
    // From our own package, loaded when it is asked for: the default page fetches its scripts from elsewhere.
    renderGraphiQL: async (options) =>
      (await import('@graphql-yoga/render-graphiql')).renderGraphiQL(options),
    landingPage: false,
    batching: false,
    multipart: false,
    // graphql.http.ts has read the body within the limits of the service.
    maxRequestBodySize: false,
    cors: false,
    logging: false,
    maskedErrors: { maskError: publicGraphQLError },
    plugins: [
      useCSRFPrevention({ requestHeaders: ['x-graphql-yoga-csrf', 'authorization'] }),
      maxTokensPlugin({ n: GRAPHQL_LIMITS.tokens }),
      maxDepthPlugin({ n: GRAPHQL_LIMITS.depth }),
      maxAliasesPlugin({ n: GRAPHQL_LIMITS.aliases }),
      costLimitPlugin({ maxCost: GRAPHQL_LIMITS.cost }),
      finishErrors(log),
    ],
  })
}

/**
 * Completes the errors of an answer: the ones of validation are not masked, and masking does not know the
 * request, by whose id the cause is found in the log.
 */
const finishErrors = (log: Logger): Plugin<object, Ctx> => ({
  onResultProcess({ result, setResult, serverContext: { requestId } }) {
    if (!('errors' in result) || !result.errors) return
    const errors = result.errors.map((error) => (isPublic(error) ? error : publicGraphQLError(error)))
    for (const { extensions, originalError } of errors) {
      extensions.requestId = requestId
      logUnexpected(originalError, log, requestId)
    }
    setResult({ ...result, errors })
  },
})
