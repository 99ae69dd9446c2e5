import { z } from 'zod'
import { isSchemaName, schemaOf } from './db/database-url.ts'
import { issueText } from './lib/issue-text.ts'
import { isServerAddress } from './lib/net/dns-resolver.ts'
import { isEhloName } from './lib/net/ehlo-name.ts'
import { isNetwork } from './lib/net/networks.ts'
import { OperatorError } from './lib/operator-error.ts'

const ROLES = ['http', 'worker'] as const

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
  .url({ protocol: /^https?$/, error: 'must be an address such as https://mail.example.com' })
  .refine((value) => !/[?#]/.test(value), 'must have no query and no fragment')
  .transform((value) => value.replace(/\/+$/, ''))

const dnsServer = z
  .string()
  .refine(isServerAddress, 'must be an IP address with or without a port; names cannot be used')

const isTlsChoice = (address: URL | null): boolean =>
  (address?.searchParams.getAll('tls') ?? []).every((choice) => choice === 'optional')
const network = z.string().refine(isNetwork, 'must be an IP address, or a network such as 10.0.0.0/8')

/** Every variable that the service reads, with its default. Units are in the names or in the descriptions. */
const variables = z.object({
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
  PORT: z.coerce.number().int().min(0).max(65535).default(4000).describe('0 takes any free port'),
  HOST: z.string().optional().describe('127.0.0.1 in development, 0.0.0.0 in production'),
  DATABASE_URL: z
    .url({
      protocol: /^postgres(ql)?$/,
      error: 'must be the address of a PostgreSQL database: postgres://user:password@host:5432/database',
    })
    .refine((value) => !URL.canParse(value) || isSchemaName(schemaOf(value)), {
      error:
        'its ?schema= must be lower-case letters, digits and _, at most 50, and not begin with a digit or pg_',
    })
    .optional()
    .describe(
      'PostgreSQL 15 to 18, and with ?schema= a schema other than public; without it an embedded server runs under DATA_DIR',
    ),
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
    .url({ protocol: /^smtps?$/, error: 'must be an address such as smtp://user:password@host:587' })
    .refine((value) => Boolean(URL.parse(value)?.hostname), 'must name a host')
    .refine((value) => isTlsChoice(URL.parse(value)), 'its parameter tls can only be optional')
    .optional()
    .describe(
      'smtp://user:password@host:587 or smtps://…; with a password TLS is required, but by tls=optional',
    ),
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
  MAX_CONNECTIONS: number(2_000, 1).describe('open connections of clients per process'),
  MAX_CONNECTIONS_PER_ADDRESS: number(250).describe(
    'open connections of one address per process; 0 = any number',
  ),
  TRUSTED_PROXIES: list
    .pipe(z.array(network))
    .prefault('127.0.0.0/8,::1')
    .describe(
      'reverse proxies, each an address or a network: their X-Forwarded-For is believed, and they may open any number of connections',
    ),
  RATE_LIMIT_PER_MINUTE: number(1000).describe('requests per project; 0 = off'),
  STRANGER_RATE_LIMIT_PER_MINUTE: number(300).describe(
    'requests of one address (IPv6: /64) without a valid key, per process, where they cost work: GraphQL, keys and links that have to be looked up; also requests with the same link from a mail; 0 = off',
  ),
  MAX_SUBSCRIPTIONS: number(100).describe('open GraphQL subscriptions per process'),
  MAX_SUBSCRIPTIONS_PER_PROJECT: number(20).describe('open GraphQL subscriptions of a project, per process'),
  PROJECT_SEND_RATE_PER_SECOND: number(50).describe('messages per project; 0 = off'),
  IDEMPOTENCY_TTL_HOURS: number(24, 1, 8_760),
  EMAIL_BODY_RETENTION_DAYS: number(90, 1, 36_500),
  CONTACT_JOB_RETENTION_DAYS: number(30, 1, 36_500),
  ALLOW_PRIVATE_WEBHOOKS: flag.describe(
    'true lets webhooks call private networks and this machine: for tests and trusted networks only',
  ),
  UPLOAD_RETENTION_DAYS: number(0, 0, 36_500).describe(
    'days after which uploaded images are deleted, even when mail shows them; 0 keeps them',
  ),
  EVENT_COUNT_RETENTION_DAYS: number(400, 100, 36_500).describe(
    'days for which counts of events by day are kept; events of earlier days are counted when they are asked for',
  ),
  WORKFLOW_EXECUTION_RETENTION_DAYS: number(90, 1, 36_500).describe(
    'days after their end for which executions of workflows are kept',
  ),
  UNUSED_FIELD_RETENTION_DAYS: number(30, 2, 36_500).describe(
    'days after which a custom field that no contact has is forgotten, unless it was set meanwhile',
  ),
  QUOTA_SEGMENTS: number(500).describe('per project, as all quotas; 0 = none'),
  QUOTA_TEMPLATES: number(5_000),
  QUOTA_DOMAINS: number(100),
  QUOTA_CAMPAIGNS: number(10_000),
  QUOTA_WORKFLOWS: number(500),
  QUOTA_EVENT_NAMES: number(10_000).describe('names of events, entries and exits of segments among them'),
  QUOTA_CONTACT_FIELDS: number(2_000).describe('names of custom fields'),
  QUOTA_IMAGES: number(10_000),
  QUOTA_IMAGE_MB: number(1_000).describe('all uploaded images together'),
  MAX_ATTACHMENTS: number(10),
  MAX_ATTACHMENT_MB: number(10).describe('all attachments of a message together, decoded'),
  MAX_MESSAGE_MB: number(40, 1).describe('the whole message'),
  TRACK_ACCEPTS_SECRET_KEY: flag,
  METRICS_TOKEN: z.string().min(16).optional().describe('bearer token for GET /metrics from elsewhere'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),
})

export type Variables = z.output<typeof variables>

/** Thrown with every bad variable in one message, so that a set-up is mended in one go. */
export class ConfigurationError extends OperatorError {
  override name = 'ConfigurationError'
}

/** Reads the variables. Throws ConfigurationError. */
export function readEnvironment(env: NodeJS.ProcessEnv): Variables {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim() !== ''))
  const parsed = variables.safeParse(present)
  const bad = (parsed.error?.issues ?? []).map((issue) => `${issue.path.join('.')}: ${issueText(issue)}`)
  const problems = [...bad, ...contradictions(present)]
  if (!parsed.success || problems.length > 0) throw new ConfigurationError(problems.join('\n'))
  return parsed.data
}

/**
 * Problems of variables that may each be valid alone. It reads them unparsed, to report all problems at once.
 */
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

/** One of the two alone is a mistake: images would be kept in an unexpected place. */
function missingForS3(v: NodeJS.ProcessEnv): string[] {
  const [given] = S3_VARIABLES.filter((name) => v[name])
  if (!given) return []
  return S3_NEEDED.filter((name) => !v[name]).map(
    (name) => `${name}: needed to keep images in S3 (${given} is set)`,
  )
}

/** Long enough, but typed with one finger; random ones have more different characters. */
const isGuessable = (secret: string): boolean => new Set(secret).size < 6
