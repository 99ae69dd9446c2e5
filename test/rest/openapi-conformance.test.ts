import * as assert from 'uvu/assert'
import { printedOpenApi } from '../../src/rest/openapi.ts'
import type { OpenApiDocument, Schema } from '../../src/rest/openapi-types.ts'
import { schema } from '../../src/schema.ts'
import { type BrowserSession, join, member } from '../support/browser-session.ts'
import { scenario } from '../support/scenario.ts'
import {
  type Answer,
  type CallOptions,
  type Project,
  type Service,
  startService,
} from '../support/service.ts'
import { startStripeApi } from '../support/stripe-api.ts'
import { checkerOf, type Described, describedFailures, describedOperations } from './openapi-checker.ts'
import { type Case, FAILING, SUCCEEDING } from './openapi-requests.ts'

/** Small, so that a body over the limit is quickly sent. */
const ENVIRONMENT = {
  // Locks are held for longer than that, to see what is answered then.
  DATABASE_STATEMENT_TIMEOUT_SECONDS: '5',
  ROLES: 'http',
  RATE_LIMIT_PER_MINUTE: '100000',
  MAX_MESSAGE_MB: '1',
}
const OVER_LIMIT = 4 * 1024 * 1024
const OVER_FILE_LIMIT = 11 * 1024 * 1024
const MULTIPART = { 'content-type': 'multipart/form-data; boundary=x' }

const document: OpenApiDocument = JSON.parse(await printedOpenApi(schema))
const checker = checkerOf(document)

/** Nothing listens on port 1. */
const UNREACHABLE = {
  MAIL_PROVIDER: 'mailgun',
  MAILGUN_API_KEY: 'key',
  MAILGUN_URL: 'http://127.0.0.1:1',
  STRIPE_API_URL: 'http://127.0.0.1:1',
  S3_BUCKET: 'images',
  S3_REGION: 'eu-central-1',
  S3_ENDPOINT: 'http://127.0.0.1:1',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
}

type World = {
  service: Service
  withoutDatabase: Service
  /** Whatever other services it needs are away. */
  isolated: Service
  disabled: Project
  limited: Project
  /** Of each service an owner of all of its projects. */
  owners: Map<Service, BrowserSession>
}

async function start() {
  const stripe = await startStripeApi()
  const service = await startService({ ...ENVIRONMENT, ...stripe.env })
  const withoutDatabase = await startService(ENVIRONMENT)
  const isolated = await startService({ ...ENVIRONMENT, ...stripe.env, ...UNREACHABLE })
  const stop = async () => {
    await isolated.stop()
    await withoutDatabase.stop()
    await service.stop()
    await stripe.stop()
  }
  const disabled = await service.newProject()
  await service.sql('update projects set disabled = true where id = $1', [disabled.id])
  const limited = await service.newProject()
  await service.sql('update projects set rate_limit_per_minute = 1 where id = $1', [limited.id])
  const owners = new Map<Service, BrowserSession>()
  for (const one of [service, withoutDatabase, isolated]) owners.set(one, await member(one, 'OWNER'))
  const owner = owners.get(service)
  for (const project of [disabled, limited]) if (owner) await join(service, owner, project, 'OWNER')
  await withoutDatabase.app.services.database.close()
  return { service, withoutDatabase, isolated, disabled, limited, owners, stop }
}

const takesPublicKey = ({ operation }: Described) => operation.security.some((one) => 'publicKey' in one)

const takesSessionOnly = ({ operation }: Described) =>
  operation.security.length > 0 && operation.security.every((one) => 'session' in one)

/** How the caller of an operation shows who it is, for a project. */
function credentialsFor(
  { owners }: World,
  service: Service,
  described: Described,
  project: Project,
): CallOptions {
  if (takesSessionOnly(described)) return { headers: owners.get(service)?.headers(project.id) ?? {} }
  return { key: takesPublicKey(described) ? project.public : project.secret }
}

type RequestOptions = CallOptions & { query?: string; service?: Service; project?: Project }

/** Makes the request of a case, for a project of a service; `options` win over it. */
function request(
  world: World,
  described: Described,
  { params = {}, body, headers = {}, query = '' }: Case,
  { service = world.service, project = service.project, ...options }: RequestOptions = {},
): Promise<Answer> {
  const credentials = credentialsFor(world, service, described, project)
  const path = described.path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => {
    const value = params[name]
    if (value === undefined) throw new Error(`${described.operation.operationId}: the case lacks ${name}`)
    return value === service.project.id ? project.id : value
  })
  return service.call(described.method, `${path}${options.query ?? query}`, {
    ...credentials,
    ...(body !== undefined && { body }),
    ...options,
    headers: { ...credentials.headers, ...headers, ...options.headers },
  })
}

/** The request of the table; where an answer has another status than usually, the one for that status. */
async function succeeding(service: Service, { operation }: Described, status?: string): Promise<Case> {
  const make = SUCCEEDING[`${operation.operationId} ${status}`] ?? SUCCEEDING[operation.operationId]
  if (!make) throw new Error(`SUCCEEDING of openapi-requests.ts has no ${operation.operationId}`)
  return make(service)
}

type Provoke = (world: World, described: Described, valid: Case) => Promise<Answer>

/** How to get the failures that follow from what kind of operation it is. */
const PROVOKE: Record<string, Provoke> = {
  '400 BAD_REQUEST': (world, described, valid) =>
    request(world, described, valid, {
      query: `?${queryParameter(described, /integer|boolean/)}=nonsense`,
    }),
  '400 INVALID_IDEMPOTENCY_KEY': (world, described, valid) =>
    request(world, described, valid, { headers: { 'idempotency-key': 'x'.repeat(256) } }),
  '400 INVALID_REQUEST_BODY': (world, described, valid) =>
    takesFile(described)
      ? request(world, described, valid, { body: '--x', headers: MULTIPART })
      : request(world, described, valid, { body: '{' }),
  '400 short': (world, described, valid) =>
    request(world, described, valid, { body: takesFile(described) ? new FormData() : {} }),
  '401 INVALID_API_KEY': (world, described, valid) => {
    const { project } = world.service
    return request(world, described, valid, {
      key: takesPublicKey(described) ? project.secret : project.public,
    })
  },
  '401 MISSING_AUTH': (world, described, valid) =>
    request(world, described, valid, { key: '', headers: { cookie: '' } }),
  '403 EMAIL_VERIFICATION_REQUIRED': async (world, described, valid) => {
    const set = (time: string) => world.service.sql(`update users set email_verified_at = ${time}`)
    await set('null')
    try {
      return await request(world, described, valid)
    } finally {
      await set('now()')
    }
  },
  '403 FORBIDDEN': async (world, described, valid) =>
    request(world, described, valid, { headers: { origin: 'https://elsewhere.example' } }),
  '403 PROJECT_DISABLED': (world, described, valid) =>
    request(world, described, valid, { project: world.disabled }),
  '404 RESOURCE_NOT_FOUND': (world, described, { params = {}, ...valid }) =>
    request(world, described, {
      ...valid,
      params: Object.fromEntries(Object.keys(params).map((name) => [name, '%zz'])),
    }),
  '409 IDEMPOTENCY_KEY_REUSED': async (world, described, valid) => {
    const options = { headers: { 'idempotency-key': `reused by ${described.operation.operationId}` } }
    await request(world, described, valid, options)
    return request(world, described, valid, options)
  },
  '413 PAYLOAD_TOO_LARGE': (world, described, valid) =>
    takesFile(described)
      ? request(world, described, valid, { body: 'x'.repeat(OVER_FILE_LIMIT), headers: MULTIPART })
      : request(world, described, valid, { body: { padding: 'x'.repeat(OVER_LIMIT) } }),
  '415 UNSUPPORTED_MEDIA_TYPE': (world, described, valid) =>
    request(world, described, valid, { body: 'x', headers: { 'content-type': 'text/plain' } }),
  '422 VALIDATION_ERROR': (world, described, valid) =>
    described.operation.requestBody
      ? request(world, described, valid, {
          body: takesFile(described) ? new FormData() : wrongTypes(described),
        })
      : request(world, described, valid, { query: `?${queryParameter(described, /string/)}=%00` }),
  '429 RATE_LIMIT_EXCEEDED': async (world, described, valid) => {
    const call = () => request(world, described, valid, { project: world.limited })
    let answer = await call()
    // A minute may end between the first two.
    for (let more = 3; more > 0 && answer.status !== 429; more -= 1) answer = await call()
    return answer
  },
  '500 INTERNAL_SERVER_ERROR': async (world, described, valid) => {
    const { service } = world
    await service.sql('alter table projects rename to projects_elsewhere')
    try {
      return await request(world, described, valid)
    } finally {
      await service.sql('alter table projects_elsewhere rename to projects')
    }
  },
  '502 EXTERNAL_SERVICE_ERROR': async (world, described) => {
    const service = world.isolated
    return request(world, described, await succeeding(service, described), { service })
  },
  '503 SERVICE_UNAVAILABLE': (world, described, valid) =>
    request(world, described, valid, { service: world.withoutDatabase }),
}

const takesFile = ({ operation }: Described): boolean =>
  operation.requestBody?.content['multipart/form-data'] !== undefined

function queryParameter({ operation }: Described, type: RegExp): string {
  for (const parameter of operation.parameters) {
    if ('in' in parameter && parameter.in === 'query' && type.test(String(parameter.schema.type))) {
      return parameter.name
    }
  }
  throw new Error(`${operation.operationId} has no query parameter of the type ${type}`)
}

/** A body in which every field is a number below every limit, or an object where a number is right. */
function wrongTypes({ operation }: Described): Record<string, unknown> {
  const name = operation.requestBody?.content['application/json']?.schema.$ref?.split('/').at(-1) ?? ''
  const properties = document.components.schemas[name]?.properties ?? {}
  const isNumeric = (part: Schema | boolean) => /"(integer|number)"/.test(JSON.stringify(part))
  return Object.fromEntries(Object.entries(properties).map(([key, part]) => [key, isNumeric(part) ? {} : -1]))
}

function assertDescribed(described: Described, answer: Answer): void {
  assert.equal(checker.answer(described, answer), [], `${answer.status} ${answer.text}`)
}

const describedSuccesses = ({ operation }: Described): string[] =>
  Object.keys(operation.responses).filter((status) => Number(status) < 300)

const codeOf = ({ status, body }: Answer): string =>
  `${status} ${typeof body?.error === 'string' ? 'short' : body?.error?.code}`

scenario('Answers and their description', start, (test) => {
  for (const described of describedOperations(document)) {
    const { operationId } = described.operation

    for (const status of describedSuccesses(described)) {
      test(`${operationId} succeeds as described: ${status}`, async (world) => {
        const answer = await request(world, described, await succeeding(world.service, described, status))
        assert.is(answer.status, Number(status), answer.text)
        assertDescribed(described, answer)
        assert.ok(answer.headers.has('ratelimit-remaining'))
      })
    }

    for (const failure of describedFailures(document, described)) {
      test(`${operationId} fails as described: ${failure}`, async (world) => {
        const { service } = world
        const own = FAILING[`${operationId} ${failure}`]
        const provoke = PROVOKE[failure]
        if (!own && !provoke)
          throw new Error(`FAILING of openapi-requests.ts has no ${operationId} ${failure}`)
        const answer = own
          ? await request(world, described, await own(service))
          : await provoke?.(world, described, await succeeding(service, described))
        if (!answer) throw new Error('there is no answer')
        assert.is(codeOf(answer), failure, answer.text)
        assertDescribed(described, answer)
        if (answer.status === 429 || answer.status === 503) assert.ok(answer.headers.get('retry-after'))
      })
    }

    if (describedFailures(document, described).includes('409 IDEMPOTENCY_KEY_REUSED')) {
      test(`${operationId} repeats its answer as described`, async (world) => {
        const valid = await succeeding(world.service, described)
        const headers = { 'idempotency-key': `replayed by ${operationId}`, 'idempotency-replay': 'true' }
        const first = await request(world, described, valid, { headers })
        const second = await request(world, described, valid, { headers })
        assert.equal(second.body, first.body)
        assert.is(second.headers.get('idempotency-replayed'), 'true')
        assertDescribed(described, second)
      })
    }
  }

  test('every request of the tables belongs to something that is described', () => {
    const all = describedOperations(document)
    const operations = all.flatMap((described) => {
      const { operationId } = described.operation
      return [operationId, ...describedSuccesses(described).map((status) => `${operationId} ${status}`)]
    })
    const failures = all.flatMap((described) =>
      describedFailures(document, described).map(
        (failure) => `${described.operation.operationId} ${failure}`,
      ),
    )
    assert.equal(
      Object.keys(SUCCEEDING).filter((name) => !operations.includes(name)),
      [],
    )
    assert.equal(
      Object.keys(FAILING).filter((name) => !failures.includes(name)),
      [],
    )
  })

  test('an answer that is not as described is noticed', async (world) => {
    const { service } = world
    const described = describedOperations(document).find(
      ({ operation }) => operation.operationId === 'domains',
    )
    if (!described) throw new Error('there is no operation "domains"')
    const answer = await request(world, described, await succeeding(service, described))
    const [domain] = answer.body
    const { verifiedAt: _removed, ...incomplete } = domain
    const noticed = (change: Partial<Answer>) => checker.answer(described, { ...answer, ...change }).join()
    assert.is(noticed({}), '')
    assert.match(noticed({ body: [{ ...domain, secret: 'x' }] }), /additional properties.*secret/)
    assert.match(noticed({ body: [incomplete] }), /required property 'verifiedAt'/)
    assert.match(noticed({ body: [{ ...domain, createdAt: 'today' }] }), /date-time/)
    assert.match(noticed({ body: [{ ...domain, status: 'GONE' }] }), /allowed values/)
    assert.match(noticed({ status: 418 }), /418 is not described/)
    assert.match(
      noticed({ headers: new Headers({ 'content-type': 'application/json' }) }),
      /x-request-id is missing/,
    )
    const more = new Headers(answer.headers)
    more.set('x-secret', '1')
    assert.match(noticed({ headers: more }), /x-secret is not described/)
    const refused = await request(world, described, await succeeding(service, described), { key: '' })
    const { error } = refused.body
    assert.equal(checker.answer(described, refused), [])
    const other = { ...refused, body: { ...refused.body, error: { ...error, code: 'FORBIDDEN' } } }
    assert.match(checker.answer(described, other).join(), /code.*allowed values/)
  })
})
