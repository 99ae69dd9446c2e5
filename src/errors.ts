import { BEING_RESET } from './admission/project-states.ts'

/** Every code that an answer can carry, with its HTTP status. The one table of the service. */
const STATUS_OF = {
  BAD_REQUEST: 400,
  INVALID_REQUEST_BODY: 400,
  INVALID_IDEMPOTENCY_KEY: 400,
  CONTACT_UNSUBSCRIBED: 400,
  MISSING_AUTH: 401,
  INVALID_API_KEY: 401,
  INVALID_CREDENTIALS: 401,
  BILLING_LIMIT_EXCEEDED: 402,
  FORBIDDEN: 403,
  PROJECT_ACCESS_DENIED: 403,
  PROJECT_DISABLED: 403,
  EMAIL_VERIFICATION_REQUIRED: 403,
  DOMAIN_NOT_VERIFIED: 403,
  RESOURCE_NOT_FOUND: 404,
  TEMPLATE_NOT_FOUND: 404,
  DOMAIN_NOT_FOUND: 404,
  CONTACT_NOT_FOUND: 404,
  SEGMENT_NOT_FOUND: 404,
  CAMPAIGN_NOT_FOUND: 404,
  WORKFLOW_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  IDEMPOTENCY_KEY_REUSED: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  VALIDATION_ERROR: 422,
  RATE_LIMIT_EXCEEDED: 429,
  INTERNAL_SERVER_ERROR: 500,
  EXTERNAL_SERVICE_ERROR: 502,
  SERVICE_UNAVAILABLE: 503,
} as const

export type ErrorCode = keyof typeof STATUS_OF

/**
 * The contract names INTERNAL_SERVER_ERROR as the code of an unverified sender domain (with status 403).
 * Inside, the error has a name of its own; only the answer carries the contract's.
 */
const PUBLIC_CODE_OF: Partial<Record<ErrorCode, ErrorCode>> = { DOMAIN_NOT_VERIFIED: 'INTERNAL_SERVER_ERROR' }

export const statusOf = (code: ErrorCode): number => STATUS_OF[code]

/** The code that the answer carries. */
export const publicCodeOf = (code: ErrorCode): ErrorCode => PUBLIC_CODE_OF[code] ?? code

/** The error of one field of the input. `received` names a type, never a value. */
export type FieldError = { field: string; message: string; code: string; received?: string }

export type ErrorExtras = {
  errors?: FieldError[]
  details?: Record<string, unknown>
  suggestion?: string
  /** Response headers, such as Allow or Retry-After. */
  headers?: Record<string, string>
  /** The request was refused before it did anything, though the failure is ours: the same one may come again. */
  nothingDone?: true
}

/** The only error that reaches a client as it is: everything in it is public. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly extras: ErrorExtras

  constructor(code: ErrorCode, message: string, extras: ErrorExtras = {}) {
    super(message)
    this.name = 'AppError'
    this.code = code
    this.extras = extras
  }

  get statusCode(): number {
    return statusOf(this.code)
  }
}

/** The body of an error in GraphQL's `extensions` and in the REST envelope's `error`. */
export type PublicError = {
  code: ErrorCode
  message: string
  statusCode: number
  requestId: string
  errors?: FieldError[]
  details?: Record<string, unknown>
  suggestion?: string
}

export function toPublicError(error: AppError, requestId: string): PublicError {
  const { errors, details, suggestion } = error.extras
  return {
    code: publicCodeOf(error.code),
    message: error.message,
    statusCode: error.statusCode,
    requestId,
    ...(errors && { errors }),
    ...(details && { details }),
    ...(suggestion && { suggestion }),
  }
}

export const badRequest = (message: string) => new AppError('BAD_REQUEST', message)

export const invalidBody = (message: string) => new AppError('INVALID_REQUEST_BODY', message)

/**
 * The 422. The gate of both doors (graphql/run-endpoint.ts) has `checkInput` (admission/check-input.ts) throw it for
 * what the schema of an input refuses; services throw `fieldError` for other rules. REST answers it in http/server.ts, on
 * some endpoints as a short 400 (rest/facade.ts), and GraphQL in graphql/graphql-error.ts.
 */
export const validationError = (errors: FieldError[]) =>
  new AppError('VALIDATION_ERROR', 'The request has fields that are not valid; see errors.', { errors })

export const fieldError = (field: string, code: string, message: string) =>
  validationError([{ field, code, message }])

export const conflict = (message: string) => new AppError('CONFLICT', message)

export const tooLarge = (message: string) => new AppError('PAYLOAD_TOO_LARGE', message)

export const renderedTooLarge = () =>
  new AppError('PAYLOAD_TOO_LARGE', 'The message becomes too large when its variables are filled in.', {
    suggestion: 'Loop over less, or split the request into several.',
  })

export const fileTooLarge = (maxBytes: number) =>
  tooLarge(`The file is larger than ${Math.floor(maxBytes / 1024 / 1024)} MB, the limit of this endpoint.`)

export const notFound = (
  what: string,
  code: Extract<ErrorCode, `${string}_NOT_FOUND`> = 'RESOURCE_NOT_FOUND',
) => new AppError(code, `${what} was not found in this project.`)

export const missingAuth = (
  message = 'No API key was given.',
  suggestion = 'Send the header "Authorization: Bearer <API key>".',
) => new AppError('MISSING_AUTH', message, { suggestion })

/** A cookie that was signed by someone else, has expired, or whose session was ended. */
export const sessionEnded = () =>
  missingAuth('The session has ended.', 'Sign in again with POST /auth/login.')

export const projectAccessDenied = () =>
  new AppError(
    'PROJECT_ACCESS_DENIED',
    'The header X-Project-Id names no project that you are a member of.',
    {
      suggestion: 'GET /users/@me/projects lists your projects with their ids.',
    },
  )

export const roleNeeded = (needed: string, role: string) =>
  new AppError('FORBIDDEN', `This takes the role ${needed} in the project; yours is ${role}.`, {
    suggestion: 'Ask the owner of the project to do it, or to give you the role.',
  })

export const emailVerificationRequired = () =>
  new AppError('EMAIL_VERIFICATION_REQUIRED', 'The address of your account is not verified yet.', {
    suggestion:
      'Follow the link in the mail that was sent to it; POST /auth/request-verification sends another one.',
  })

/** Another site made the browser send the request, or nothing shows that none did. */
export const originNotAllowed = () =>
  new AppError('FORBIDDEN', 'A request with the session cookie has to come from a page of this service.', {
    suggestion:
      'Send the header Origin with the address of the API or of the dashboard (DASHBOARD_URL), or use an API key.',
  })

/** A project of the path that does not exist, or that the caller may not know of. */
export const noSuchProject = () => new AppError('RESOURCE_NOT_FOUND', 'There is no such project of yours.')

const KEY_OF_NOBODY =
  'The key belongs to no project of this service; it may have been replaced. "npm run -s cli -- project rotate-keys" creates new ones.'

export const invalidApiKey = (message = 'The API key is not valid.', suggestion = KEY_OF_NOBODY) =>
  new AppError('INVALID_API_KEY', message, { suggestion })

export const projectDisabled = (reason: string | null) =>
  reason === BEING_RESET
    ? beingReset()
    : new AppError(
        'PROJECT_DISABLED',
        'The project is disabled: it can be read, but not changed or sent from.',
        { details: { reason } },
      )

const beingReset = () =>
  new AppError('SERVICE_UNAVAILABLE', 'The project is being reset: its contents are still being removed.', {
    suggestion: 'Try again in a few seconds. What is written after the reset stays.',
    headers: { 'retry-after': '5' },
    nothingDone: true,
  })

/** `isAdded`: the domain belongs to the project and waits for its verification. */
export const domainNotVerified = (domain: string, isAdded: boolean) =>
  new AppError(
    'DOMAIN_NOT_VERIFIED',
    isAdded
      ? `The sender domain ${domain} was added to this project, but is not verified yet.`
      : `The sender domain ${domain} is not verified for this project.`,
    {
      details: { reason: 'domain_not_verified', domain },
      suggestion: isAdded
        ? `Publish the DNS records of ${domain} (GET /domains/project/:projectId returns them), check them with GET /domains/:id/verify, and send again once it is verified. ${VOUCH}`
        : `Add ${domain} with POST /domains, publish the DNS records it returns, and send again once it is verified. A subdomain is added itself.`,
    },
  )

const VOUCH =
  'The operator of the service can vouch for it: npm run -s cli -- domain verify --project ID --domain NAME --force.'

export const contactUnsubscribed = (emails: string[]) =>
  new AppError(
    'CONTACT_UNSUBSCRIBED',
    'A recipient is not subscribed, and this template is not transactional. Nothing was sent.',
    {
      details: { emails },
      suggestion:
        'Send "subscribed": true when the person has agreed to get such mail, or use a TRANSACTIONAL template.',
    },
  )

export const serviceUnavailable = () =>
  new AppError('SERVICE_UNAVAILABLE', 'The service cannot reach its database right now.', {
    suggestion: 'Try again in a few seconds.',
    headers: { 'retry-after': '5' },
  })

export const databaseSlow = () =>
  new AppError('SERVICE_UNAVAILABLE', 'The database took too long to answer.', {
    suggestion:
      'Try again in a few seconds. If that does not help, ask for less at once: fewer filters, or a shorter range of time.',
    headers: { 'retry-after': '5' },
  })

export const projectBusy = () =>
  new AppError(
    'SERVICE_UNAVAILABLE',
    'Another large read of this project runs; this one has waited too long for its turn.',
    {
      suggestion: 'Ask for previews, counts over filters and statistics one after the other.',
      headers: { 'retry-after': '5' },
    },
  )

export const renderingBusy = () =>
  new AppError('SERVICE_UNAVAILABLE', 'Too many large messages of this project are being rendered.', {
    suggestion: 'Try again in a few seconds, and send large messages one after the other.',
    headers: { 'retry-after': '5' },
    nothingDone: true,
  })

export const tooManyWatchers = (reason: string) =>
  new AppError('SERVICE_UNAVAILABLE', `${reason} at this process, which is the limit.`, {
    suggestion: 'End one of them, or ask every few seconds instead.',
    headers: { 'retry-after': '5' },
  })

export const tooManyBodies = () =>
  new AppError(
    'SERVICE_UNAVAILABLE',
    'Other large requests are being received; there is no room for this one.',
    {
      suggestion: 'Send large requests one after the other, or try again in a few seconds.',
      headers: { 'retry-after': '5' },
      nothingDone: true,
    },
  )

export const tooManyAnswers = () =>
  new AppError(
    'SERVICE_UNAVAILABLE',
    'Other large answers are on their way; there is no room for this one.',
    {
      suggestion:
        'Ask for less at once and for one large answer after the other, or try again in a few seconds.',
      headers: { 'retry-after': '5' },
    },
  )

export const tooMuchAtOnce = (maxBytes: number) =>
  badRequest(
    `The records of this list take more than ${Math.floor(maxBytes / 1024 / 1024)} MB together. Ask for fewer at once, or over REST.`,
  )

export const internalError = () =>
  new AppError(
    'INTERNAL_SERVER_ERROR',
    'Something went wrong on our side. The request id identifies it in the logs.',
  )
