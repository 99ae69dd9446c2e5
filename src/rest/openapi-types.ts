import type { z } from 'zod'

/** JSON Schema 2020-12, as OpenAPI 3.1 uses it. */
export type Schema = z.core.JSONSchema.JSONSchema

export type Reference = { $ref: string }

export type Parameter = {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: Schema
}

export type Header = { description: string; required: boolean; schema: Schema }

export type Media = { schema: Schema; example?: unknown }

export type Content = { 'application/json': Media }

export type BodyContent = Partial<Record<'application/json' | 'multipart/form-data', Media>>

export type Answer = {
  description: string
  headers: Record<string, Reference>
  /** Without it the answer has no body. */
  content?: Content
}

export type Operation = {
  operationId: string
  summary: string
  description: string
  tags: [string]
  security: Record<string, []>[]
  parameters: (Parameter | Reference)[]
  requestBody?: { required: boolean; content: BodyContent }
  responses: Record<string, Answer | Reference>
}

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

export type OpenApiDocument = {
  openapi: '3.1.0'
  info: {
    title: string
    version: string
    description: string
    contact: { name: string; url: string }
    license: { name: string; identifier: string }
  }
  servers: { url: string }[]
  tags: { name: string; description?: string }[]
  paths: Record<string, Partial<Record<Method, Operation>>>
  components: {
    securitySchemes: Record<
      string,
      { description: string } & (
        | { type: 'http'; scheme: 'bearer' }
        | { type: 'apiKey'; in: 'cookie'; name: string }
      )
    >
    parameters: Record<string, Parameter>
    headers: Record<string, Header>
    responses: Record<string, Answer>
    schemas: Record<string, Schema>
  }
}

export const referenceTo = (kind: keyof OpenApiDocument['components'], name: string): Reference => ({
  $ref: `#/components/${kind}/${name}`,
})
