import {
  type GraphQLField,
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from 'graphql'
import * as assert from 'uvu/assert'
import type { Guarded } from '../../src/admission/permission.ts'
import type { Role } from '../../src/generated/prisma/enums.ts'
import { endpointOf } from '../../src/graphql/endpoint-plugin.ts'
import { schema } from '../../src/schema.ts'
import { type BrowserSession, join, member, signedUp } from '../support/browser-session.ts'
import { firstEvent } from '../support/event-stream.ts'
import { scenario } from '../support/scenario.ts'
import { type Answer, type Project, startService } from '../support/service.ts'

/** A caller, with what it is: the table below says from this alone what it may do. */
type Caller = {
  headers: Record<string, string>
  is: 'nobody' | 'public' | 'secret' | Role | 'foreigner' | 'ended' | 'unverified'
}

const ROOTS = {
  query: schema.getQueryType(),
  mutation: schema.getMutationType(),
  subscription: schema.getSubscriptionType(),
}

type Operation = { kind: keyof typeof ROOTS; field: GraphQLField<unknown, unknown>; endpoint: Guarded }

const OPERATIONS: Operation[] = (['query', 'mutation', 'subscription'] as const).flatMap((kind) =>
  Object.values(ROOTS[kind]?.getFields() ?? {}).map((field) => {
    const endpoint = endpointOf(field.extensions)
    if (!endpoint) throw new Error(`${field.name} says nothing of who may use it`)
    return { kind, field, endpoint }
  }),
)

const RANKS: Record<Role, number> = { MEMBER: 0, ADMIN: 1, OWNER: 2 }

/** The code with which a caller is refused before anything else is looked at; null when it is let in. */
function refusalOf(
  { is }: Caller,
  { access, role, projectArgument, writes, unverified }: Guarded,
): string | null {
  if (access === 'anyone') return null
  if (is === 'nobody' || is === 'ended') return 'MISSING_AUTH'
  if (is === 'public') return access === 'publicKey' ? null : 'INVALID_API_KEY'
  if (is === 'secret') return access === 'secretKey' ? null : 'INVALID_API_KEY'
  if (access === 'publicKey') return 'INVALID_API_KEY'
  const hasProject = access !== 'user' || projectArgument !== null
  if (is === 'foreigner' && hasProject)
    return projectArgument === null ? 'PROJECT_ACCESS_DENIED' : 'RESOURCE_NOT_FOUND'
  if (is in RANKS && hasProject && RANKS[is as Role] < RANKS[role]) return 'FORBIDDEN'
  return is === 'unverified' && writes && !unverified ? 'EMAIL_VERIFICATION_REQUIRED' : null
}

/** Of refusals that come from who asks; others are about the request, which was let in. */
const OF_CALLERS = [
  'MISSING_AUTH',
  'INVALID_API_KEY',
  'PROJECT_ACCESS_DENIED',
  'FORBIDDEN',
  'EMAIL_VERIFICATION_REQUIRED',
]

/** A project that nothing of the others refers to: what the table lets in must not disturb the next row. */
const NOBODY = '0197a3c2-5e00-7000-8000-4d61696c7772'

/** A literal that the type takes, and the operation hardly. */
function literal(type: GraphQLInputType, project: Project, isProject = false): string {
  if (isNonNullType(type)) return literal(type.ofType, project, isProject)
  if (isListType(type)) return '[]'
  if (isEnumType(type)) return type.getValues()[0]?.name ?? ''
  if (isInputObjectType(type)) {
    const needed = Object.values(type.getFields()).filter((field) => isNonNullType(field.type))
    return `{ ${needed.map((field) => `${field.name}: ${literal(field.type, project)}`).join(', ')} }`
  }
  if (type.name === 'Boolean') return 'false'
  if (['Int', 'Float'].includes(type.name)) return '-1'
  if (type.name === 'JSON' || type.name === 'JSONObject') return '{}'
  if (type.name === 'DateTime') return '"2000-01-01T00:00:00Z"'
  if (type.name === 'File') return '""'
  return isProject ? `"${project.id}"` : type.name === 'ID' ? `"${NOBODY}"` : '""'
}

function documentOf({ kind, field, endpoint }: Operation, project: Project): string {
  const given = field.args
    .filter(({ type }) => isNonNullType(type))
    .map(({ name, type }) => `${name}: ${literal(type, project, name === endpoint.projectArgument)}`)
  const args = given.length > 0 ? `(${given.join(', ')})` : ''
  const isLeaf = /^\[?(Boolean|String|Int|Float|ID|JSON|JSONObject|DateTime)!?\]?!?$/.test(String(field.type))
  return `${kind} { ${field.name}${args}${isLeaf ? '' : ' { __typename }'} }`
}

const codeOf = ({ body }: Answer): string | null =>
  body?.errors?.[0]?.extensions?.code ?? body?.error?.code ?? null

async function start() {
  // With a worker, for which the deletion of a field waits.
  const service = await startService()
  const { project } = service
  const foreign = await service.newProject()
  const unverified = await signedUp(service, { verified: false })
  await join(service, unverified, project, 'OWNER')
  const ended = await member(service, 'OWNER')
  const expired = await member(service, 'OWNER')
  await service.sql('delete from sessions where user_id = (select id from users where email = $1)', [
    ended.email,
  ])
  await service.sql(
    `update sessions set expires_at = now() where user_id = (select id from users where email = $1)`,
    [expired.email],
  )
  const stranger = await member(service, 'OWNER', foreign)
  const of = ({ headers }: BrowserSession) => headers(project.id)
  const callers: Record<string, Caller> = {
    'no credentials': { is: 'nobody', headers: {} },
    'public key': { is: 'public', headers: { authorization: `Bearer ${project.public}` } },
    'secret key': { is: 'secret', headers: { authorization: `Bearer ${project.secret}` } },
    MEMBER: { is: 'MEMBER', headers: of(await member(service, 'MEMBER')) },
    ADMIN: { is: 'ADMIN', headers: of(await member(service, 'ADMIN')) },
    OWNER: { is: 'OWNER', headers: of(await member(service, 'OWNER')) },
    'owner of another project': { is: 'foreigner', headers: of(stranger) },
    'revoked session': { is: 'ended', headers: of(ended) },
    'expired session': { is: 'ended', headers: of(expired) },
    'unverified account': { is: 'unverified', headers: of(unverified) },
  }
  return { ...service, callers }
}

/** Operations that would do what was asked for, and end the sessions of the table with it. */
const ENDS_SOMETHING = ['logout', 'deleteProject', 'resetProject', 'regenerateKeys']

scenario('Who may use what', start, (test) => {
  const assertDecided = (name: string, caller: Caller, operation: Operation, answer: Answer) => {
    const expected = refusalOf(caller, operation.endpoint)
    const code = codeOf(answer)
    const text = `${name}, ${operation.field.name}: ${answer.text.slice(0, 300)}`
    if (expected !== null) assert.is(code, expected, text)
    else assert.not.ok(code !== null && OF_CALLERS.includes(code), text)
  }
  const allowed = (caller: Caller, { endpoint, field }: Operation) =>
    refusalOf(caller, endpoint) === null && ENDS_SOMETHING.includes(field.name)

  for (const operation of OPERATIONS) {
    test(`GraphQL: ${operation.field.name}`, async (service) => {
      const { call, callers, project } = service
      const query = documentOf(operation, project)
      for (const [name, caller] of Object.entries(callers)) {
        if (allowed(caller, operation)) continue
        const { headers } = caller
        const answer =
          operation.kind === 'subscription'
            ? await firstEvent(service, query, headers)
            : await call('POST', '/graphql', { headers, body: { query } })
        assertDecided(name, caller, operation, answer)
      }
    })

    const { rest } = endpointOf(operation.field.extensions) ?? {}
    if (!rest) continue
    test(`REST: ${rest.method} ${rest.path}`, async ({ call, callers, project }) => {
      const { projectArgument } = operation.endpoint
      const path = rest.path.replaceAll(/:(\w+)/g, (_match, name: string) =>
        name === projectArgument ? project.id : NOBODY,
      )
      for (const [name, caller] of Object.entries(callers)) {
        if (allowed(caller, operation)) continue
        const body = rest.method === 'GET' ? {} : { body: {} }
        const answer = await call(rest.method, path, { headers: caller.headers, ...body })
        assertDecided(name, caller, operation, answer)
      }
    })
  }

  test('every operation that has a project knows its caller', () => {
    assert.ok(OPERATIONS.length > 100)
    assert.ok(OPERATIONS.some(({ kind }) => kind === 'subscription'))
    const names = OPERATIONS.map(({ field }) => field.name)
    for (const name of ENDS_SOMETHING) assert.ok(names.includes(name), name)
    const open = OPERATIONS.filter(({ endpoint }) => endpoint.access === 'anyone').map(
      ({ field }) => field.name,
    )
    assert.equal(open.toSorted(), [...OPEN].toSorted())
  })
})

/** All that needs no sign-in: a field that is added here was thought about. */
const OPEN = [
  'config',
  'oauthConfiguration',
  'login',
  'signup',
  'logout',
  'confirmEmail',
  'requestPasswordReset',
  'resetPassword',
]
