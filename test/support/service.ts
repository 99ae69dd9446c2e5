import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import type { Logger } from 'pino'
import { systemOf } from '../../src/admission/access.ts'
import { type App, startApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { type Ctx, createCtx } from '../../src/ctx.ts'
import { isDatabaseUnavailable } from '../../src/db/sql.ts'
import { addDomain } from '../../src/features/domains/domains.ts'
import { createProject } from '../../src/features/projects/projects.ts'
import { createLog } from '../../src/observe/log.ts'
import { type Clock, shiftedClock } from './clock.ts'
import { keptServices } from './kept-services.ts'
import { administer, TEMPLATE_DATABASE } from './test-server.ts'

export type Project = { id: string; public: string; secret: string; domain: string }

/** Whatever JSON an answer holds; tests look into it with assertions. */
// biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what the tests are about
export type Body = any

export type Answer = { status: number; headers: Headers; body: Body; text: string }

export type CallOptions = {
  key?: string
  headers?: Record<string, string>
  /** Sent as JSON; a string, bytes or a form are sent as they are. */
  body?: unknown
}

/** Requests with one key. */
export type Caller = {
  call: (method: string, path: string, body?: unknown, options?: CallOptions) => Promise<Answer>
  get: (path: string, options?: CallOptions) => Promise<Answer>
  post: (path: string, body?: unknown, options?: CallOptions) => Promise<Answer>
  patch: (path: string, body?: unknown, options?: CallOptions) => Promise<Answer>
  delete: (path: string, body?: unknown, options?: CallOptions) => Promise<Answer>
  graphql: (query: string, variables?: object, options?: CallOptions) => Promise<Answer>
}

/** A service in this process, on a database of its own, with a clock to move. */
export type Service = {
  app: App
  url: string
  /** Straight to the database, past whatever `reach` put in between. */
  databaseUrl: string
  clock: Clock
  /** A project with the verified domain `<something>.example`. */
  project: Project
  sql: <Row extends object = Record<string, Body>>(text: string, values?: unknown[]) => Promise<Row[]>
  /** The context of the service itself, for one project. */
  ctx: (projectId?: string) => Ctx
  call: (method: string, path: string, options?: CallOptions) => Promise<Answer>
  graphql: (query: string, variables?: object, options?: CallOptions) => Promise<Answer>
  /** Requests with the secret key of a project, or with the key that is given. Default: the own project. */
  as: (who?: Pick<Project, 'secret'> | string) => Caller
  newProject: (name?: string) => Promise<Project>
  stop: () => Promise<void>
}

/** A database made from the template; `drop` removes it. */
export async function cloneDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const { TEST_DATABASE_URL: serverUrl, TEST_SERVICE_URL: serviceUrl } = process.env
  if (!serverUrl || !serviceUrl) throw new Error('Run tests with "npm test -- part-of-the-file-name".')
  const name = `t_${randomUUID().replaceAll('-', '')}`
  await administer(
    serverUrl,
    `create database ${name} template ${TEMPLATE_DATABASE} owner ${new URL(serviceUrl).username}`,
  )
  const url = new URL(serviceUrl)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => administer(serverUrl, `drop database ${name} with (force)`) }
}

export type StartOptions = {
  log?: Logger
  /** Leads the service to its database another way: other parameters, a proxy in between. */
  reach?: (databaseUrl: string) => string
  /** For scenarios that count what belongs to no project, or change what all projects share. */
  alone?: boolean
}

/** What most scenarios need; they take over the service of the one before, and have a project of their own in it. */
const SHAREABLE = { ROLES: 'http' }

/** Starts a service with the given environment variables on top of the test defaults. */
export async function startService(
  env: Record<string, string> = {},
  options: StartOptions = {},
): Promise<Service> {
  const isShareable = isDeepStrictEqual(env, SHAREABLE) && Object.keys(options).length === 0
  if (!isShareable) return startPatiently(env, options)
  const kept = keptServices.take()
  return await shareable(
    kept ? withProject(kept, await kept.newProject()) : await startPatiently(env, options),
  )
}

/**
 * The same service, which is kept for the next scenario when it is stopped: unless its clock was moved, as time does not go
 * back, or the tables were changed, by a trigger that makes them slow for example.
 */
async function shareable(service: Service): Promise<Service> {
  const before = await latestDefinition(service)
  let isOver = false
  const stop = async () => {
    if (isOver) return
    isOver = true
    const isAsBefore = service.clock.shift() === 0 && (await latestDefinition(service)) === before
    if (!isAsBefore || !keptServices.keep(service)) await service.stop()
  }
  return { ...service, stop }
}

/** The transaction that was the last one to define a table, a trigger or a function. */
async function latestDefinition({ sql }: Service): Promise<string | undefined> {
  const [row] = await sql<{ latest: string }>(
    `select max(xmin::text::bigint)::text as latest from (
       select xmin from pg_class union all select xmin from pg_trigger union all select xmin from pg_proc
     ) as definitions`,
  )
  return row?.latest
}

/**
 * A machine that stands still for some seconds breaks the connections that are being opened, so a database that cannot be
 * reached is tried once more.
 */
async function startPatiently(env: Record<string, string>, options: StartOptions): Promise<Service> {
  try {
    return await startOnce(env, options)
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error
    return await startOnce(env, options)
  }
}

async function startOnce(
  env: Record<string, string>,
  { log = createLog(process.env.LOG_LEVEL ?? 'silent'), reach = (url) => url }: StartOptions,
): Promise<Service> {
  const database = await cloneDatabase()
  const dataDir = mkdtempSync(path.join(tmpdir(), 'mailwright-service-'))
  const discard = async () => {
    await database.drop()
    rmSync(dataDir, { recursive: true, force: true })
  }
  const clock = shiftedClock()
  const config = loadConfig({
    NODE_ENV: 'test',
    DATABASE_URL: reach(database.url),
    DATA_DIR: dataDir,
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: '0',
    STRANGER_RATE_LIMIT_PER_MINUTE: '0',
    PROJECT_SEND_RATE_PER_SECOND: '0',
    // Nobody listens there: tests ask no DNS but their own.
    DNS_SERVERS: '127.0.0.1:1',
    // A machine that does other things too takes its time, which is no failure of what a test is about.
    DATABASE_STATEMENT_TIMEOUT_SECONDS: '20',
    ...env,
  })
  const app = await startApp(config, log, clock).catch(async (error: unknown) => {
    await discard()
    throw error
  })
  const project = await makeProject(app, 'Test').catch(async (error: unknown) => {
    await app.stop()
    await discard()
    throw error
  })
  const pool = new pg.Pool({ connectionString: database.url, max: 4 })
  // The forced drop may end a connection that is still saying goodbye.
  pool.on('error', () => {})
  const url = `http://${app.config.host}:${app.config.port}`
  const call: Service['call'] = (method, pathname, options) => requestTo(`${url}${pathname}`, method, options)
  return {
    app,
    url,
    databaseUrl: database.url,
    clock,
    project,
    sql: async <Row extends object>(text: string, values: unknown[] = []) =>
      (await pool.query<Row>(text, values)).rows,
    ctx: (projectId) => createCtx(app.services, projectId ? systemOf(projectId) : systemOf(''), 'test'),
    call,
    graphql: (query, variables, options) =>
      call('POST', '/graphql', { ...options, body: { query, variables } }),
    as: (who = project) => callerOf(url, who),
    newProject: (name = 'Test') => makeProject(app, name),
    stop: async () => {
      await app.stop()
      await pool.end()
      await discard()
    },
  }
}

/** The same service with another project as its own. */
export const withProject = (service: Service, project: Project): Service => ({
  ...service,
  project,
  as: (who = project) => service.as(who),
})

/** Requests to the service at this address, with the secret key of a project or the key that is given. */
export function callerOf(url: string, who: Pick<Project, 'secret'> | string): Caller {
  const key = typeof who === 'string' ? who : who.secret
  const call: Caller['call'] = (method, path, body, options) =>
    requestTo(`${url}${path}`, method, { ...options, key, body })
  return {
    call,
    get: (path, options) => call('GET', path, undefined, options),
    post: (path, body, options) => call('POST', path, body, options),
    patch: (path, body, options) => call('PATCH', path, body, options),
    delete: (path, body, options) => call('DELETE', path, body, options),
    graphql: (query, variables, options) => call('POST', '/graphql', { query, variables }, options),
  }
}

async function makeProject(app: App, name: string): Promise<Project> {
  const ctx = createCtx(app.services, systemOf(''), 'test')
  const { id, public: publicKey, secret } = await createProject(ctx, { name })
  const domain = `d${randomUUID().slice(0, 8)}.example`
  await addDomain(createCtx(app.services, systemOf(id), 'test'), { domain }, { vouched: true })
  await app.services.database.prisma.domain.updateMany({
    where: { projectId: id },
    data: { status: 'VERIFIED' },
  })
  // Tests of other things find bodies as they were sent.
  await app.services.database.prisma.project.update({ where: { id }, data: { tracking: 'DISABLED' } })
  return { id, public: publicKey, secret, domain }
}

/** One request, with its answer read and parsed. */
export async function requestTo(url: string, method: string, options: CallOptions = {}): Promise<Answer> {
  const { key, headers = {}, body } = options
  const response = await fetch(url, {
    method,
    headers: {
      // A form has a boundary, which fetch names.
      ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
      ...(key && { authorization: `Bearer ${key}` }),
      ...headers,
    },
    ...(body !== undefined && { body: bodyFrom(body) }),
    signal: AbortSignal.timeout(60_000),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: parsed(text) }
}

function bodyFrom(body: unknown): BodyInit {
  if (body instanceof FormData) return body
  if (typeof body === 'string' || body instanceof Uint8Array) return new Uint8Array(Buffer.from(body))
  return JSON.stringify(body)
}

function parsed(text: string): Body {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Waits until the probe returns something; fails after a while with what was waited for. */
export async function until<Result>(
  what: string,
  probe: () => Promise<Result | null | undefined | false> | Result | null | undefined | false,
  timeoutMs = 60_000,
): Promise<Result> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const result = await probe()
    if (result) return result
    if (Date.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
