import type { GraphQLSchema } from 'graphql'
import type { Config } from '../config.ts'
import { replyHtml, replyJson } from '../http/exchange.ts'
import type { ServerRoute } from '../http/server.ts'
import { docsPage } from './docs.ts'
import { openApiDocument } from './openapi.ts'
import type { RestOperation } from './operations.ts'

/** The description of the API, for programs at /openapi.json and for people at /docs. */
export function openApiRoutes(
  schema: GraphQLSchema,
  operations: readonly RestOperation[],
  config: Config,
): ServerRoute[] {
  const { apiUrl: serverUrl, trackAcceptsSecretKey } = config
  const document = openApiDocument(schema, operations, { serverUrl, trackAcceptsSecretKey })
  const page = docsPage(document)
  return [
    { method: 'GET', path: '/openapi.json', handle: (exchange) => replyJson(exchange, 200, document) },
    { method: 'GET', path: '/docs', handle: (exchange) => replyHtml(exchange, 200, page) },
  ]
}
