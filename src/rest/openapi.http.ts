import type { GraphQLSchema } from 'graphql'
import type { Config } from '../config.ts'
import { fixedAnswer, type Headers, HTML_HEADERS, JSON_HEADERS, replyFixed } from '../http/exchange.ts'
import type { ServerRoute } from '../http/server.ts'
import { lazily } from '../lib/lazily.ts'
import { docsPage } from './docs.ts'
import { openApiDocument } from './openapi.ts'
import type { RestOperation } from './operations.ts'

/** Asked for again each time, and answered with 304 as long as it is the same. */
const REVALIDATED = { 'cache-control': 'no-cache' }

/** The description of the API, for programs at /openapi.json and for people at /docs; created when it is first asked for. */
export function openApiRoutes(
  schema: GraphQLSchema,
  operations: readonly RestOperation[],
  config: Config,
): ServerRoute[] {
  const { apiUrl: serverUrl, trackAcceptsSecretKey } = config
  const document = lazily(() => openApiDocument(schema, operations, { serverUrl, trackAcceptsSecretKey }))
  const get = (path: string, headers: Headers, textOf: () => string): ServerRoute => {
    const answer = lazily(() => fixedAnswer({ ...headers, ...REVALIDATED }, textOf()))
    return { method: 'GET', path, handle: (exchange) => replyFixed(exchange, answer()) }
  }
  return [
    get('/openapi.json', JSON_HEADERS, () => JSON.stringify(document())),
    get('/docs', HTML_HEADERS, () => docsPage(document())),
  ]
}
