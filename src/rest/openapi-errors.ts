import { getNamedType, isRequiredArgument } from 'graphql'
import { type ErrorCode, publicCodeOf, statusOf } from '../errors.ts'
import { type Answer, referenceTo, type Schema } from './openapi-types.ts'
import type { RestOperation } from './operations.ts'
import { isHeaderArgument } from './query-arguments.ts'

/** When a code is answered; for the readers of the API description. */
const MEANING: Record<ErrorCode, string> = {
  BAD_REQUEST: 'A parameter is missing or not valid.',
  INVALID_REQUEST_BODY:
    'The body is not a JSON object or, where a file is sent, no valid multipart/form-data.',
  INVALID_IDEMPOTENCY_KEY: 'The Idempotency-Key is empty, too long or not printable ASCII.',
  CONTACT_UNSUBSCRIBED:
    'A recipient is not subscribed and the template is not transactional; nothing was sent. `details.emails` names them.',
  MISSING_AUTH: 'The request has no `Authorization` header and no session that goes on.',
  INVALID_API_KEY: 'The key is unknown or rotated, or of the wrong kind for this endpoint.',
  INVALID_CREDENTIALS: 'The address or the password is wrong; the answer does not say which.',
  PROJECT_ACCESS_DENIED: 'The header `X-Project-Id` names no project that the signed-in user is a member of.',
  EMAIL_VERIFICATION_REQUIRED: 'The address of the signed-in user is not verified yet.',
  BILLING_LIMIT_EXCEEDED:
    'A cap of the project on messages in a month leaves no room: `details` holds `{ category, limit, usage, resetsAt }`.',
  FORBIDDEN: 'The caller may not do this, or the session cookie came without an allowed `Origin`.',
  PROJECT_DISABLED: 'The project is disabled: it can be read, but not changed or sent from.',
  DOMAIN_NOT_VERIFIED:
    'The sender domain is not verified: `details` holds `{ reason: "domain_not_verified", domain }`.',
  RESOURCE_NOT_FOUND: 'The project has no such record.',
  CONTACT_NOT_FOUND: 'The project has no such contact.',
  TEMPLATE_NOT_FOUND: 'The project has no such template.',
  SEGMENT_NOT_FOUND: 'The project has no such segment.',
  CAMPAIGN_NOT_FOUND: 'The project has no such campaign.',
  WORKFLOW_NOT_FOUND: 'The project has no such workflow.',
  DOMAIN_NOT_FOUND: 'The project has no such domain.',
  METHOD_NOT_ALLOWED: 'The path has no such method; `Allow` names the ones it has.',
  CONFLICT: 'The request contradicts the present state of the project; the message says how.',
  IDEMPOTENCY_KEY_REUSED:
    'The project has used this Idempotency-Key: `details` holds `key`, `originalRequest`, `originalRequestAt` and `originalStatusCode` (null while that request still runs).',
  PAYLOAD_TOO_LARGE: 'The body is larger than this endpoint takes.',
  UNSUPPORTED_MEDIA_TYPE: 'The body, or the file in it, is not of a type that this endpoint takes.',
  VALIDATION_ERROR:
    'Fields are not valid; `errors` has one entry for each of them. Of a quota that has no room `details` holds `{ reason: "quota_reached", quota, limit }`.',
  RATE_LIMIT_EXCEEDED: 'The project has sent too many requests in this minute; see `Retry-After`.',
  INTERNAL_SERVER_ERROR: 'Something went wrong in the service; the log has it under the request id.',
  EXTERNAL_SERVICE_ERROR: 'Another service that is needed for this has failed or did not answer in time.',
  SERVICE_UNAVAILABLE:
    'The service cannot reach its database or its storage, or other large requests or answers take all the room there is; see `Retry-After`.',
}

/** Every code that the operation can answer with: what its kind implies, and what its route names. */
export function errorCodesOf(operation: RestOperation): ErrorCode[] {
  const { endpoint, route, path } = operation
  const { inputSchema } = endpoint
  const guarded = endpoint.access !== 'anyone'
  const isForUsers = endpoint.access === 'user'
  const hasProject = !isForUsers || endpoint.projectArgument !== null
  const query = queryArgumentsOf(operation)
  const texts = query.filter(({ type }) => ['String', 'ID'].includes(getNamedType(type).name))
  const when = (applies: boolean, ...codes: ErrorCode[]) => (applies ? codes : [])
  return [
    ...when(query.length > texts.length || query.some(isRequiredArgument), 'BAD_REQUEST'),
    // Text that cannot be stored.
    ...when(texts.length > 0, 'VALIDATION_ERROR'),
    ...when(endpoint.idempotent, 'INVALID_IDEMPOTENCY_KEY', 'IDEMPOTENCY_KEY_REUSED'),
    ...when(guarded, 'MISSING_AUTH', 'INVALID_API_KEY'),
    ...when(guarded && endpoint.writes && hasProject, 'PROJECT_DISABLED'),
    ...when(isForUsers && endpoint.writes && !endpoint.unverified, 'EMAIL_VERIFICATION_REQUIRED'),
    ...when((isForUsers || !guarded) && endpoint.writes, 'FORBIDDEN'),
    ...when(isForUsers && endpoint.role !== 'MEMBER', 'FORBIDDEN'),
    ...when(path.includes(':'), 'RESOURCE_NOT_FOUND'),
    ...when(inputSchema !== null, 'INVALID_REQUEST_BODY', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'),
    ...when(inputSchema !== null && route.shortErrorFor !== 'anyField', 'VALIDATION_ERROR'),
    'RATE_LIMIT_EXCEEDED',
    'INTERNAL_SERVER_ERROR',
    'SERVICE_UNAVAILABLE',
    ...route.errors,
  ]
}

/** The arguments of the field that the query string gives. */
export const queryArgumentsOf = ({ field, path, route }: Pick<RestOperation, 'field' | 'path' | 'route'>) =>
  field.args.filter(
    ({ name }) =>
      name !== 'input' &&
      !isHeaderArgument(name) &&
      !route.graphqlOnly.includes(name) &&
      !path.split('/').includes(`:${name}`),
  )

/** One kind of failed answer: all of its codes have its status. */
export type Failure = { status: number; name: string; answer: Answer }

/** The failed answers of an operation by status; the name is the same wherever the codes are. */
export function failuresOf(operation: RestOperation, headers: Answer['headers']): Failure[] {
  const codes = [...new Set(errorCodesOf(operation))].toSorted()
  const short = operation.route.shortErrorFor.length > 0
  const statuses = new Set(codes.map(statusOf))
  return [...statuses]
    .toSorted((a, b) => a - b)
    .map((status) => {
      const own = codes.filter((code) => statusOf(code) === status)
      // A failure of ours keeps the key, so a repeat gets it again.
      const replayable = operation.endpoint.idempotent && status >= 500
      return failure(status, own, { short: short && status === 400, replayable }, headers)
    })
}

const pascalCase = (code: string) =>
  code.toLowerCase().replace(/(^|_)(\w)/g, (_match, _mark, letter: string) => letter.toUpperCase())

type Flags = { short: boolean; replayable: boolean }

function failure(status: number, codes: ErrorCode[], flags: Flags, headers: Answer['headers']): Failure {
  const { short, replayable } = flags
  const suffixes = [...(short ? ['ShortError'] : []), ...(replayable ? ['Replay'] : [])]
  const lines = codes.map((code) => `- \`${publicCodeOf(code)}\`: ${MEANING[code]}`)
  if (short) lines.push('- A field is missing or not valid: the short body `{ error }`.')
  const envelope = envelopeOf(status, codes)
  const schema = short ? { anyOf: [envelope, referenceTo('schemas', 'ShortError')] } : envelope
  return {
    status,
    name: [...codes.map(pascalCase), ...suffixes].join('Or'),
    answer: {
      description: lines.join('\n'),
      headers: {
        ...headers,
        ...((status === 429 || status === 503) && { 'Retry-After': referenceTo('headers', 'RetryAfter') }),
        ...(replayable && { 'Idempotency-Replayed': referenceTo('headers', 'IdempotencyReplayed') }),
      },
      content: { 'application/json': { schema } },
    },
  }
}

const FIELD_ERRORS: Schema = { type: 'array', items: referenceTo('schemas', 'FieldError') }

/** The envelope, with the codes that can be in it. */
const envelopeOf = (status: number, codes: ErrorCode[]): Schema => ({
  ...referenceTo('schemas', 'Error'),
  properties: {
    error: {
      ...(status === 422 && { required: ['errors'] }),
      properties: {
        code: { enum: codes.map(publicCodeOf) },
        statusCode: { const: status },
        ...(status === 422 && { errors: { ...FIELD_ERRORS, minItems: 1 } }),
      },
    },
  },
})

const text = (description: string): Schema => ({ type: 'string', description })

/** The envelope of errors, and the short form of it. */
export const ERROR_SCHEMAS: Record<string, Schema> = {
  Error: {
    type: 'object',
    description: 'Body of the answer to every failed request.',
    required: ['success', 'error', 'timestamp'],
    properties: {
      success: { const: false },
      error: { $ref: '#/components/schemas/ErrorDetail' },
      timestamp: { type: 'string', format: 'date-time' },
    },
  },
  ErrorDetail: {
    type: 'object',
    description: 'Description of what went wrong, for programs and for people.',
    required: ['code', 'message', 'statusCode', 'requestId'],
    properties: {
      code: text('Code for programs; it stays the same.'),
      message: text('Sentence for people; the wording may change.'),
      statusCode: { type: 'integer', description: 'HTTP status of the answer.' },
      requestId: text('Id of the request, by which the logs of the service name it.'),
      errors: { ...FIELD_ERRORS, description: 'Fields that are not valid, one entry each.' },
      details: { type: 'object', additionalProperties: true, description: 'Facts that belong to the code.' },
      suggestion: text('Advice on what to do about it.'),
    },
  },
  FieldError: {
    type: 'object',
    description: 'Description of what is wrong with one field.',
    required: ['field', 'message', 'code'],
    properties: {
      field: text('Path of the field, such as `to.0.email`.'),
      message: text('Phrase for people that says what is wrong; the wording may change.'),
      code: {
        type: 'string',
        enum: [
          'required',
          'invalid_type',
          'invalid_string',
          'too_small',
          'too_big',
          'invalid_enum_value',
          'invalid_date',
          'unrecognized_keys',
          'reserved_event',
          'custom',
        ],
      },
      received: text('Type of the value that was received.'),
    },
  },
  ShortError: {
    type: 'object',
    description: 'Short body with which some endpoints answer when a field is missing or not valid.',
    required: ['error'],
    properties: { error: text('Sentence that says what is missing or not valid.') },
  },
}
