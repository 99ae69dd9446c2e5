import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type {
  Answer as DescribedAnswer,
  Media,
  OpenApiDocument,
  Operation,
} from '../../src/rest/openapi-types.ts'
import type { Answer } from '../support/service.ts'

/** An operation of the document, with where it is. */
export type Described = { method: string; path: string; pointer: string; operation: Operation }

const escapePointer = (part: string) => part.replaceAll('~', '~0').replaceAll('/', '~1')

export const describedOperations = (document: OpenApiDocument): Described[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      pointer: `#/paths/${escapePointer(path)}/${method}`,
      operation,
    })),
  )

/** What the document says of one status of an operation, and where. */
function describedAnswer(
  document: OpenApiDocument,
  { operation, pointer }: Described,
  status: number,
): { answer: DescribedAnswer; at: string } | null {
  const given = operation.responses[status]
  if (!given) return null
  if (!('$ref' in given)) return { answer: given, at: `${pointer}/responses/${status}` }
  const answer = document.components.responses[given.$ref.split('/').at(-1) ?? '']
  return answer ? { answer, at: given.$ref } : null
}

/** The failures that an operation is described to have, as `status code`; `400 short` is the short body. */
export function describedFailures(document: OpenApiDocument, described: Described): string[] {
  return Object.keys(described.operation.responses).flatMap((status) => {
    const found = describedAnswer(document, described, Number(status))
    const media = found?.answer.content?.['application/json']
    return Number(status) < 400 || !media ? [] : codesOf(media).map((code) => `${status} ${code}`)
  })
}

function codesOf({ schema }: Media): string[] {
  const text = JSON.stringify(schema)
  const codes = [...text.matchAll(/"enum":\[([^\]]*)\]/g)].flatMap(([, list = '']) =>
    list.split(',').map((code) => code.slice(1, -1)),
  )
  return text.includes('/ShortError"') ? [...codes, 'short'] : codes
}

/** A copy in which every object has the described fields and no others. */
function closed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(closed)
  const copy = Object.fromEntries(Object.entries(value).map(([key, part]) => [key, closed(part)]))
  const isOpen = copy.type === 'object' && 'properties' in copy && !('additionalProperties' in copy)
  return isOpen ? { ...copy, additionalProperties: false } : copy
}

/** JSON Schema 2020-12 with formats; a keyword that nobody knows is an error. */
export function strictAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true })
  addFormats.default(ajv)
  return ajv
}

export type Checker = {
  /** What is wrong with a real answer, by the document; empty when nothing is. */
  answer: (described: Described, answer: Answer) => string[]
  /** What is wrong with a value, by a schema of the document. */
  value: (component: string, value: unknown) => string[]
}

const DESCRIBED_HEADERS = /^(x-|ratelimit-|idempotency-|retry-after$)/
/** Belongs to every answer of the server and is no matter of an API description. */
const TRANSPORT_HEADERS = new Set(['x-content-type-options'])

export function checkerOf(document: OpenApiDocument): Checker {
  const ajv = strictAjv()
  // The document itself is no schema; it is only where the schemas are.
  ajv.addVocabulary(Object.keys(document))
  ajv.addSchema({ $id: 'openapi', ...Object(closed(document)) }, undefined, undefined, false)

  const problems = (pointer: string, value: unknown): string[] => {
    const validate = ajv.getSchema(`openapi${pointer}`)
    if (!validate) return [`the document has no ${pointer}`]
    if (validate(value)) return []
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    )
  }

  const headerProblems = (described: DescribedAnswer, answer: Answer): string[] => {
    const known = new Map(
      Object.entries(described.headers).map(([name, { $ref }]) => [name.toLowerCase(), $ref]),
    )
    const undocumented = [...answer.headers.keys()].filter(
      (name) => DESCRIBED_HEADERS.test(name) && !TRANSPORT_HEADERS.has(name) && !known.has(name),
    )
    const bad = [...known].flatMap(([name, reference]) => {
      const text = answer.headers.get(name)
      const header = document.components.headers[reference.split('/').at(-1) ?? '']
      if (!header) return [`the document has no ${reference}`]
      if (text === null) return header.required ? [`the header ${name} is missing`] : []
      const value: unknown = header.schema.type === 'string' ? text : JSON.parse(text)
      return problems(`${reference}/schema`, value)
    })
    return [...undocumented.map((name) => `the header ${name} is not described`), ...bad]
  }

  return {
    value: (component, value) => problems(`#/components/schemas/${component}`, value),
    answer: (described, answer) => {
      const found = describedAnswer(document, described, answer.status)
      if (!found) return [`the status ${answer.status} is not described`]
      const headers = headerProblems(found.answer, answer)
      if (!found.answer.content) return [...headers, ...(answer.text === '' ? [] : ['there is a body'])]
      const type = answer.headers.get('content-type')
      if (!type?.startsWith('application/json')) return [...headers, `the content type is ${type}`]
      return [...headers, ...problems(`${found.at}/content/application~1json/schema`, answer.body)]
    },
  }
}
