import type { GraphQLSchema } from 'graphql'
import type { Config } from '../config.ts'
import { replyJson } from '../http/exchange.ts'
import type { ServerRoute } from '../http/server.ts'
import type { RestOperation } from './operations.ts'

export const openApiRoutes = (
  _schema: GraphQLSchema,
  _operations: RestOperation[],
  _config: Config,
): ServerRoute[] => [
  { method: 'GET', path: '/openapi.json', handle: (exchange) => replyJson(exchange, 200, {}) },
]
