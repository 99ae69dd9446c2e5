import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import { DateTimeResolver, JSONObjectResolver, JSONResolver } from 'graphql-scalars'
import type { Ctx } from '../ctx.ts'
import type PrismaTypes from '../generated/pothos-types.ts'
import { getDatamodel } from '../generated/pothos-types.ts'
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
    JSON: { Input: JsonValue; Output: JsonValue }
    JSONObject: { Input: InputJsonObject; Output: JsonValue }
    Recipients: { Input: unknown; Output: unknown }
    Sender: { Input: unknown; Output: unknown }
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

builder.queryType({ description: 'Reads. Nothing here changes anything.' })
builder.mutationType({ description: 'Changes. Each is one commit: all of it happens, or nothing.' })
