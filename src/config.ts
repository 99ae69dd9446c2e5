import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { z } from 'zod'
import { isServerAddress } from './lib/dns-resolver.ts'
import { ehloNameOf, isEhloName } from './lib/ehlo-name.ts'

const ROLES = ['http', 'worker'] as const
export type RoleName = (typeof ROLES)[number]

const number = (fallback: number, minimum = 0, maximum = 2_147_483_647) =>
  z.coerce.number().int().min(minimum).max(maximum).default(fallback)
const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((value) => value === 'true')
const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean),
)
const url = z
  .url({ protocol: /^https?$/ })
  .refine((value) => !/[?#]/.test(value), 'must have no query and no fragment')
  .transform((value) => value.replace(/\/+$/, ''))

const dnsServer = z
  .string()
  .refine(isServerAddress, 'must be an IP address with or without a port; names cannot be used')

/** Every variable that the service reads, with its default. Units are in the names or in the descriptions. */
const variables = z.object({
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
  PORT: z.coerce.number().int().min(0).max(65535).default(4000).describe('0 takes any free port'),
  HOST: z.string().optional().describe('127.0.0.1 in development, 0.0.0.0 in production'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .describe('PostgreSQL 15 to 18; without it an embedded server runs under DATA_DIR'),
  DATABASE_POOL_SIZE: number(10, 2).describe(
    'connections for requests per process, beside DATABASE_PIPELINES',
  ),
  DATABASE_WORKER_POOL_SIZE: number(5, 2).describe(
    'connections for background work of a process that does it',
  ),
  DATABASE_PIPELINES: number(3, 1).describe('pipelined connections per process for the hot paths'),
  DATA_DIR: z.string().default('.data').describe('embedded database, mailbox, uploads, development secrets'),
  ROLES: list.pipe(z.array(z.enum(ROLES)).min(1)).prefault(ROLES.join(',')),
  API_URL: url.optional().describe('public address of this service, used in links'),
  DASHBOARD_URL: url.optional().describe('the browser origin that may call everything outside /v1'),
  JWT_SECRET: z.string().min(32).optional().describe('at least 32 characters; random in development'),
  ENCRYPTION_SECRET: z
    .string()
    .min(32)
    .optional()
    .describe('encrypts secrets at rest (DKIM keys); JWT_SECRET when absent'),
  MAIL_PROVIDER: z.enum(['mailbox', 'smtp', 'mailgun']).optional(),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/ })
    .refine((value) => URL.canParse(value) && new URL(value).hostname !== '', 'must name a host')
    .optional()
    .describe('smtp://user:password@host:587 or smtps://…'),
  SMTP_EHLO_NAME: z
    .string()
    .refine(isEhloName, 'must be a full host name, or an IP address in brackets')
    .optional()
    .describe('what this host calls itself to the SMTP server; the host of API_URL when absent'),
  SMTP_CONNECTIONS: number(10, 1).describe('connections to the SMTP server per worker process'),
  MAILGUN_API_KEY: z.string().optional(),
  MAILGUN_URL: url.default('https://api.mailgun.net'),
  S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional()
    .describe('keeps uploaded images, instead of DATA_DIR'),
  S3_REGION: z
    .string()
    .regex(/^[a-z0-9-]+$/, 'must be the name of a region')
    .optional(),
  S3_ENDPOINT: url.optional().describe('of another service than Amazon; its buckets are parts of the path'),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
  S3_PUBLIC_URL: url.optional().describe('where readers load the objects; the bucket itself when absent'),
  DNS_SERVERS: list
    .pipe(z.array(dnsServer).min(1))
    .optional()
    .describe('such as 192.0.2.1:53,[2001:db8::1]:53; the servers of the system when absent'),
  RATE_LIMIT_PER_MINUTE: number(1000).describe('requests per project; 0 = off'),
  PROJECT_SEND_RATE_PER_SECOND: number(50).describe('messages per project; 0 = off'),
  IDEMPOTENCY_TTL_HOURS: number(24, 1, 8_760),
  EMAIL_BODY_RETENTION_DAYS: number(90, 1, 36_500),
  CONTACT_JOB_RETENTION_DAYS: number(30, 1, 36_500),
  MAX_ATTACHMENTS: number(10),
  MAX_ATTACHMENT_MB: number(10).describe('all attachments of a message together, decoded'),
  MAX_MESSAGE_MB: number(40, 1).describe('the whole message'),
  TRACK_ACCEPTS_SECRET_KEY: flag,
  METRICS_TOKEN: z.string().min(16).optional().describe('bearer token for GET /metrics from elsewhere'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),
})

export type MailConfig =
  | { provider: 'mailbox'; directory: string }
  | { provider: 'smtp'; url: string; connections: number; ehloName: string }
  | { provider: 'mailgun'; apiKey: string; url: string }

export type S3Config = {
  kind: 's3'
  bucket: string
  region: string
  /** Null for Amazon's own. */
  endpoint: string | null
  accessKeyId: string
  secretAccessKey: string
  /** Objects are below it, by their keys. */
  publicUrl: string
}

/** Where uploaded images are kept; `local` is under DATA_DIR. */
export type StorageConfig = { kind: 'local' } | S3Config

export type Config = Readonly<ReturnType<typeof build>>

/** Thrown with every bad variable in one message, so that a set-up is mended in one go. */
export class ConfigurationError extends Error {
  override name = 'ConfigurationError'
}

/** Reads the environment once. Nothing else in the service looks at `process.env`. */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim() !== ''))
  const parsed = variables.safeParse(present)
  const bad = (parsed.error?.issues ?? []).map((issue) => `${issue.path.join('.')}: ${issue.message}`)
  const problems = [...bad, ...contradictions(present)]
  if (!parsed.success || problems.length > 0) throw new ConfigurationError(problems.join('\n'))
  return Object.freeze(build(parsed.data))
}

type Variables = z.output<typeof variables>

/** What is wrong with variables that may each be fine; looks at them unparsed, to tell everything at once. */
function contradictions(v: NodeJS.ProcessEnv): string[] {
  const problems: string[] = []
  if (v.MAIL_PROVIDER === 'smtp' && !v.SMTP_URL) problems.push('SMTP_URL: needed by MAIL_PROVIDER=smtp')
  if (v.MAIL_PROVIDER === 'mailgun' && !v.MAILGUN_API_KEY) {
    problems.push('MAILGUN_API_KEY: needed by MAIL_PROVIDER=mailgun')
  }
  problems.push(...missingForS3(v))
  if (v.NODE_ENV !== 'production') return problems
  if (!v.JWT_SECRET) problems.push('JWT_SECRET: needed in production (32 random characters or more)')
  for (const name of ['JWT_SECRET', 'ENCRYPTION_SECRET', 'METRICS_TOKEN']) {
    if (v[name] && isGuessable(v[name])) problems.push(`${name}: too simple for production; use a random one`)
  }
  if (!v.DATABASE_URL) problems.push('DATABASE_URL: needed in production')
  if (!v.API_URL) problems.push('API_URL: needed in production, links in mail point to it')
  if (!v.MAIL_PROVIDER && !v.SMTP_URL && !v.MAILGUN_API_KEY) {
    problems.push(
      'MAIL_PROVIDER: nothing is configured to send with; the mailbox must be asked for explicitly',
    )
  }
  return problems
}

const S3_NEEDED = ['S3_BUCKET', 'S3_REGION', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']
const S3_VARIABLES = [...S3_NEEDED, 'S3_ENDPOINT', 'S3_PUBLIC_URL']

/** A half of it is a mistake: images would be kept where nobody expects them. */
function missingForS3(v: NodeJS.ProcessEnv): string[] {
  const [given] = S3_VARIABLES.filter((name) => v[name])
  if (!given) return []
  return S3_NEEDED.filter((name) => !v[name]).map(
    (name) => `${name}: needed to keep images in S3 (${given} is set)`,
  )
}

/** Long enough, but typed with one finger; random ones have more different characters. */
const isGuessable = (secret: string): boolean => new Set(secret).size < 6

function build(v: Variables) {
  const production = v.NODE_ENV === 'production'
  const host = v.HOST ?? (production ? '0.0.0.0' : '127.0.0.1')
  const dataDir = path.resolve(v.DATA_DIR)
  const jwtSecret = v.JWT_SECRET ?? developmentSecret(dataDir)
  /** With port 0 and no API_URL, startApp puts the port in that it got. */
  const apiUrl = v.API_URL ?? `http://${hostInUrl(host)}:${v.PORT}`
  return {
    environment: v.NODE_ENV,
    host,
    port: v.PORT,
    databaseUrl: v.DATABASE_URL ?? null,
    databasePoolSize: v.DATABASE_POOL_SIZE,
    databaseWorkerPoolSize: v.DATABASE_WORKER_POOL_SIZE,
    databasePipelines: v.DATABASE_PIPELINES,
    dataDir,
    roles: v.ROLES,
    apiUrl,
    dashboardUrl: v.DASHBOARD_URL ?? null,
    encryptionSecret: v.ENCRYPTION_SECRET ?? jwtSecret,
    mail: mailConfig(v, dataDir, apiUrl),
    storage: storageConfig(v),
    /** None: the servers of the system. */
    dnsServers: v.DNS_SERVERS ?? [],
    rateLimitPerMinute: v.RATE_LIMIT_PER_MINUTE,
    sendRatePerSecond: v.PROJECT_SEND_RATE_PER_SECOND,
    idempotencyTtlHours: v.IDEMPOTENCY_TTL_HOURS,
    emailBodyRetentionDays: v.EMAIL_BODY_RETENTION_DAYS,
    contactJobRetentionDays: v.CONTACT_JOB_RETENTION_DAYS,
    maxAttachments: v.MAX_ATTACHMENTS,
    maxAttachmentBytes: v.MAX_ATTACHMENT_MB * 1024 * 1024,
    maxMessageBytes: v.MAX_MESSAGE_MB * 1024 * 1024,
    trackAcceptsSecretKey: v.TRACK_ACCEPTS_SECRET_KEY,
    metricsToken: v.METRICS_TOKEN ?? null,
    logLevel: v.LOG_LEVEL,
  }
}

/** A name by which this machine reaches itself, for links in development. */
export function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

function mailConfig(v: Variables, dataDir: string, apiUrl: string): MailConfig {
  const provider = v.MAIL_PROVIDER ?? (v.MAILGUN_API_KEY ? 'mailgun' : v.SMTP_URL ? 'smtp' : 'mailbox')
  if (provider === 'mailgun' && v.MAILGUN_API_KEY) {
    return { provider, apiKey: v.MAILGUN_API_KEY, url: v.MAILGUN_URL }
  }
  if (provider === 'smtp' && v.SMTP_URL) {
    const ehloName = v.SMTP_EHLO_NAME ?? ehloNameOf(apiUrl, hostname())
    return { provider, url: v.SMTP_URL, connections: v.SMTP_CONNECTIONS, ehloName }
  }
  return { provider: 'mailbox', directory: path.join(dataDir, 'mailbox') }
}

function storageConfig(v: Variables): StorageConfig {
  const { S3_BUCKET: bucket, S3_REGION: region, S3_ENDPOINT: endpoint = null } = v
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = v
  if (!bucket || !region || !accessKeyId || !secretAccessKey) return { kind: 'local' }
  const publicUrl = v.S3_PUBLIC_URL ?? bucketUrl(bucket, region, endpoint)
  return { kind: 's3', bucket, region, endpoint, accessKeyId, secretAccessKey, publicUrl }
}

function bucketUrl(bucket: string, region: string, endpoint: string | null): string {
  const service = `s3.${region}.amazonaws.com`
  if (endpoint !== null) return `${endpoint}/${bucket}`
  // The certificate of the service covers one label.
  return bucket.includes('.') ? `https://${service}/${bucket}` : `https://${bucket}.${service}`
}

/** Made once and kept, so that what it protects survives a restart. */
function developmentSecret(dataDir: string): string {
  const file = path.join(dataDir, 'secret')
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  mkdirSync(dataDir, { recursive: true })
  const secret = randomBytes(32).toString('hex')
  // "wx": when two processes start at once, the second one reads what the first wrote.
  try {
    writeFileSync(file, secret, { mode: 0o600, flag: 'wx' })
    return secret
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      return readFileSync(file, 'utf8').trim()
    throw error
  }
}
