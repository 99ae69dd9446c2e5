import { costLimitPlugin } from '@escape.tech/graphql-armor-cost-limit'
import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth'
import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention'
import { type ExecutionResult, GraphQLError, type GraphQLSchema } from 'graphql'
import {
  createYoga,
  type GraphiQLOptions,
  isAsyncIterable,
  mapAsyncIterator,
  type YogaServerInstance,
} from 'graphql-yoga'
import type { Logger } from 'pino'
import { logUnexpected } from '../observe/unexpected.ts'
import { isPublic, publicGraphQLError, setOwnStatus } from './graphql-error.ts'
import { createDocuments } from './limits/documents.ts'
import { introspection } from './limits/introspection.ts'
import { chargeRootFields, type GraphQLPlugin, type GraphQLRequest } from './limits/root-fields.ts'

/** Limits of one GraphQL request. */
export const GRAPHQL_LIMITS = { depth: 10, cost: 5_000, aliases: 15, tokens: 2_000 }

export type GraphQL = YogaServerInstance<GraphQLRequest, object>

/** GraphQL over HTTP: one operation a request, limited in depth, cost, aliases and tokens. */
export function createGraphQL(schema: GraphQLSchema, development: boolean, log: Logger): GraphQL {
  const documents = createDocuments(GRAPHQL_LIMITS.tokens)
  return createYoga<GraphQLRequest>({
    schema,
    graphqlEndpoint: '/graphql',
    graphiql: development
      ? { title: 'Mailwright', favicon: 'favicon.svg', defaultQuery: FIRST_QUERY }
      : false,
    renderGraphiQL: renderEditor,
    landingPage: false,
    batching: false,
    multipart: false,
    // graphql.http.ts has read the body within the limits of the service.
    maxRequestBodySize: false,
    cors: false,
    logging: false,
    maskedErrors: { maskError: publicGraphQLError },
    parserAndValidationCache: documents.caches,
    plugins: [
      useCSRFPrevention({ requestHeaders: ['x-graphql-yoga-csrf', 'authorization'] }),
      bodiesOfJson(),
      documents.plugin,
      maxDepthPlugin({ n: GRAPHQL_LIMITS.depth }),
      maxAliasesPlugin({ n: GRAPHQL_LIMITS.aliases }),
      costLimitPlugin({ maxCost: GRAPHQL_LIMITS.cost }),
      chargeRootFields(),
      introspection(development),
      finishErrors(log),
    ],
  })
}

const FIRST_QUERY = `# Set the key of a project under "Headers", below: { "Authorization": "Bearer sk_..." }
# Ctrl-Space lists what can be asked for, Ctrl-Enter asks.
query Newest {
  contacts(limit: 5) {
    data { id email subscribed }
  }
}
`

/**
 * Served from our own package, loaded at its first use: the default page fetches its scripts from elsewhere.
 * It lacks a heading, a main part and a width for narrow screens.
 */
async function renderEditor(options: GraphiQLOptions): Promise<string> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  return renderGraphiQL(options)
    .replace('<title>', '<meta name="viewport" content="width=device-width, initial-scale=1"><title>')
    .replace(
      '<div id="root"></div>',
      '<main><h1 style="position: absolute; clip-path: inset(50%)">Mailwright GraphQL</h1><div id="root"></div></main>',
    )
}

/**
 * A body that is not JSON was not understood, so the status is 400 whatever the client accepts (GraphQL over
 * HTTP, 6.4.1.1.1).
 */
const bodiesOfJson = (): GraphQLPlugin => ({
  onRequestParse({ requestParser, setRequestParser }) {
    if (!requestParser) return
    setRequestParser(async (request) => {
      try {
        return await requestParser(request)
      } catch (error) {
        if (!(error instanceof GraphQLError)) throw error
        throw new GraphQLError(error.message, { extensions: { http: { status: 400 } } })
      }
    })
  },
})

/**
 * Completes the errors of an answer, or of each value of a stream: the ones of validation are not masked, and masking
 * does not know the request, by whose id the cause is found in the log.
 */
const finishErrors = (log: Logger): GraphQLPlugin => ({
  async onResultProcess({ request, result, setResult, resultProcessor, serverContext }) {
    const { requestId, reads } = serverContext
    const finish = (part: ExecutionResult) => withFinishedErrors(part, log, requestId)
    if (isAsyncIterable(result)) {
      if (resultProcessor) setResult(mapAsyncIterator(result, finish))
      // The client does not accept the body, and will not read it.
      else void result[Symbol.asyncIterator]().return?.()
    } else if (!Array.isArray(result)) {
      await reads?.takeWhole(result.data)
      const answer = finish(result)
      const { errors = [] } = answer
      const wantsStream = request.headers.get('accept')?.includes('text/event-stream')
      // A stream that could not begin: the status of the answer says why.
      const isRefused = !('data' in answer) && (wantsStream || errors.some(({ path }) => path !== undefined))
      if (isRefused) for (const error of errors) setOwnStatus(error)
      setResult(answer)
    }
  },
})

function withFinishedErrors(result: ExecutionResult, log: Logger, requestId: string): ExecutionResult {
  if (!result.errors) return result
  const errors = result.errors.map((error) => (isPublic(error) ? error : publicGraphQLError(error)))
  for (const { extensions, originalError } of errors) {
    extensions.requestId = requestId
    logUnexpected(originalError, log, requestId)
  }
  return { ...result, errors }
}
