import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import { GraphQLError } from 'graphql'
import { DateTimeResolver, JSONObjectResolver, JSONResolver } from 'graphql-scalars'
import type { Ctx } from '../ctx.ts'
import type PrismaTypes from '../generated/pothos-types.ts'
import { getDatamodel } from '../generated/pothos-types.ts'
import type { Prisma } from '../generated/prisma/client.ts'
import { isBase64 } from '../lib/base64.ts'
import type { InputJsonObject, JsonValue } from '../lib/json.ts'
import { endpointPlugin } from './endpoint-plugin.ts'

/** Without types of its own: each feature adds its nouns from its own file. */
export const builder = new SchemaBuilder<{
  Context: Ctx
  PrismaTypes: PrismaTypes
  DefaultFieldNullability: false
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    JSON: { Input: JsonValue; Output: JsonValue | Prisma.JsonValue }
    JSONObject: { Input: InputJsonObject; Output: JsonValue | Prisma.JsonValue }
    Recipients: { Input: unknown; Output: unknown }
    Sender: { Input: unknown; Output: unknown }
    File: { Input: Uint8Array; Output: Uint8Array }
  }
}>({
  plugins: [endpointPlugin(), PrismaPlugin],
  defaultFieldNullability: false,
  prisma: {
    client: (ctx) => ctx.services.database.prisma,
    dmmf: getDatamodel(),
    exposeDescriptions: true,
    onUnusedQuery: null,
  },
})

builder.addScalarType('DateTime', DateTimeResolver)
builder.addScalarType('JSON', JSONResolver)
builder.addScalarType('JSONObject', JSONObjectResolver)
builder.scalarType('File', {
  description: 'Content of a file, in base64. Over REST it is a part of multipart/form-data.',
  extensions: { jsonSchema: { type: 'string', contentMediaType: 'application/octet-stream' } },
  parseValue: fileFrom,
  serialize: (bytes) => Buffer.from(bytes).toString('base64'),
})

builder.queryType({ description: 'Operations that read. None of them changes anything.' })
builder.subscriptionType({
  description: 'Operations that follow something over server-sent events (Accept: text/event-stream).',
})
builder.mutationType({
  description: 'Operations that change something. Each is one commit: all of it happens, or nothing.',
})

/** Over REST the bytes are there already. */
function fileFrom(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (typeof value === 'string' && isBase64(value)) return Buffer.from(value, 'base64')
  throw new GraphQLError('File must be a string in base64.')
}
