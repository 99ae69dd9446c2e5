import { z } from 'zod'
import { isSchemaName, schemaOf } from './db/database-url.ts'
import { isServerAddress } from './lib/net/dns-resolver.ts'
import { asciiDomain, isDomain } from './lib/net/domain-name.ts'
import { isEhloName } from './lib/net/ehlo-name.ts'
import { isNetwork } from './lib/net/networks.ts'
import { dailyLimit, destinationLimit, MAX_DAYS } from './lib/net/sending-limits.ts'

const ROLES = ['http', 'worker', 'smtp'] as const

const number = (fallback: number, minimum = 0, maximum = 2_147_483_647) =>
  z.coerce.number().int().min(minimum).max(maximum).default(fallback)
/** Nothing looks at events and mail of the last month in vain. */
const keptDays = number(0, 0, 36_500).refine(
  (days) => days === 0 || days >= 35,
  'must be 0, which keeps all, or at least 35',
)
const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((value) => value === 'true')
export const list = z.string().transform((value) =>
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
const port = z.coerce.number().int().min(0).max(65535)
const network = z.string().refine(isNetwork, 'must be an IP address, or a network such as 10.0.0.0/8')

/** Every variable that the service reads, with its default. Units are in the names or in the descriptions. */
export const variables = z.object({
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
  PORT: port.default(4000).describe('0 takes any free port'),
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
  DATABASE_STATEMENT_TIMEOUT_SECONDS: number(5, 1, 60).describe(
    'the longest that a statement of a request may take, or wait for a connection',
  ),
  DATABASE_PIPELINES: number(3, 1).describe('pipelined connections per process for the hot paths'),
  DATA_DIR: z.string().default('.data').describe('embedded database, mailbox, uploads, development secrets'),
  ROLES: list
    .pipe(z.array(z.enum(ROLES)).min(1))
    .optional()
    .describe('http, worker and smtp; http,worker when absent, and smtp when one of its ports is set'),
  API_URL: url.optional().describe('public address of this service, used in links'),
  DASHBOARD_URL: url.optional().describe('the browser origin that may call everything outside /v1'),
  JWT_SECRET: z.string().min(32).optional().describe('at least 32 characters; random in development'),
  ENCRYPTION_SECRET: z
    .string()
    .min(32)
    .optional()
    .describe('encrypts secrets at rest (DKIM keys); JWT_SECRET when absent'),
  DISABLE_SIGNUPS: flag.describe('true: nobody can create an account, but the first user'),
  GITHUB_CLIENT_ID: z
    .string()
    .optional()
    .describe('with GITHUB_CLIENT_SECRET: people sign in through GitHub'),
  GITHUB_CLIENT_SECRET: z.string().optional(),
  GITHUB_URL: url.default('https://github.com').describe('of GitHub Enterprise'),
  GOOGLE_CLIENT_ID: z
    .string()
    .optional()
    .describe('with GOOGLE_CLIENT_SECRET: people sign in through Google'),
  GOOGLE_CLIENT_SECRET: z.string().optional(),
  GOOGLE_URL: url.optional().describe("in place of Google's own addresses, for tests"),
  SERVICE_MAIL_FROM: z
    .email({ error: 'must be an e-mail address' })
    .optional()
    .describe(
      "sender of the service's own mails (verification, password reset, invitations); without it there are none, except in the mailbox",
    ),
  ENCRYPTION_SECRET_PREVIOUS: list
    .pipe(z.array(z.string().min(32)).min(1))
    .optional()
    .describe('secrets that ENCRYPTION_SECRET has replaced: they open and verify, and seal and sign nothing'),
  MAIL_PROVIDER: z.enum(['mailbox', 'smtp', 'mailgun', 'ses']).optional(),
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
  SMTP_SPF: z
    .string()
    .regex(/^(?:(?:include|ip4|ip6|a|mx|exists):?\S*)(?: (?:include|ip4|ip6|a|mx|exists):?\S*)*$/, {
      error: 'must be mechanisms of SPF, such as include:spf.example.net or ip4:192.0.2.1',
    })
    .optional()
    .describe('what SPF records of sender domains have to name for the SMTP server (RFC 7208, 5)'),
  INBOUND_MX: z
    .string()
    .refine(isDomain, 'must be the name of a host')
    .transform((value) => asciiDomain(value))
    .optional()
    .describe('the host that takes mail for the sender domains; without it they get no MX record'),
  AWS_REGION: z
    .string()
    .regex(/^[a-z0-9-]+$/, 'must be the name of a region')
    .optional()
    .describe('of Amazon SES'),
  AWS_ACCESS_KEY_ID: z.string().optional(),
  AWS_SECRET_ACCESS_KEY: z.string().optional(),
  AWS_SESSION_TOKEN: z.string().optional(),
  SES_ENDPOINT: url.optional().describe('of another place than the region of Amazon SES'),
  SES_CONFIGURATION_SET: z
    .string()
    .max(64)
    .optional()
    .describe('the configuration set that mail is sent with'),
  SMTP_DOOR_PORT: port
    .optional()
    .describe(
      'takes mail of clients, with STARTTLS; with the role smtp and no port 587, 2525 in development',
    ),
  SMTP_DOOR_TLS_PORT: port
    .optional()
    .describe('takes mail of clients over TLS from the first byte, usually 465'),
  SMTP_DOOR_INBOUND_PORT: port
    .optional()
    .describe('takes mail of anyone for the verified domains, usually 25 of the host that their MX names'),
  SMTP_DOOR_HOST: z.string().optional().describe('address that the SMTP ports listen on; HOST when absent'),
  SMTP_DOOR_DOMAIN: z
    .string()
    .refine(isDomain, 'must be the name of a host')
    .optional()
    .describe('name of the SMTP server, as in its certificate; the host of API_URL when absent'),
  SMTP_DOOR_CERT_FILE: z
    .string()
    .optional()
    .describe('certificate with its chain (PEM); read again when it changes'),
  SMTP_DOOR_KEY_FILE: z.string().optional().describe('private key of the certificate (PEM)'),
  MAILGUN_API_KEY: z.string().optional(),
  MAILGUN_URL: url.default('https://api.mailgun.net'),
  MAILGUN_WEBHOOK_KEY: z.string().optional().describe('without it POST /webhooks/mailgun refuses all'),
  SNS_TOPIC_ARNS: list.default([]).describe('topics that POST /webhooks/sns takes; others are refused'),
  SNS_ENDPOINT: url.optional().describe('where a stand-in of Amazon SNS answers, for tests'),
  AUTO_PROJECT_DISABLE: z.enum(['true', 'false']).default('true').describe('false: warned, not disabled'),
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
  STRIPE_SECRET_KEY: z.string().optional().describe('turns billing on'),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .startsWith('whsec_', 'must be the signing secret of a webhook endpoint, whsec_…')
    .optional()
    .describe("of Stripe's webhook endpoint for /webhooks/incoming/stripe"),
  STRIPE_PRICES: list
    .pipe(z.array(z.string()).min(1).max(20))
    .optional()
    .describe('the prices of the subscription that a checkout begins, by their ids and separated by commas'),
  STRIPE_API_URL: url.default('https://api.stripe.com'),
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
  DESTINATION_PAUSE_SECONDS: number(10, 0, 600).describe(
    'SMTP: the first pause of mail from a sender domain to a destination that asks for less; 0 = off',
  ),
  DESTINATION_LIMITS: list
    .pipe(z.array(destinationLimit))
    .default([])
    .transform((limits) => new Map(limits))
    .describe(
      'messages per second and connections at a time, by destination, for each sender domain and process: gmail=20/s:10,other=2/s',
    ),
  DOMAIN_WARM_UP: list
    .pipe(z.array(dailyLimit).max(MAX_DAYS))
    .default([])
    .describe('messages on the first, second, … day of sender domains that are added: 50,100,500'),
  IDEMPOTENCY_TTL_HOURS: number(24, 1, 8_760),
  EMAIL_BODY_RETENTION_DAYS: number(90, 1, 36_500),
  EVENT_RETENTION_DAYS: keptDays.describe(
    'days for which events are kept, at least 35, then removed by whole months; 0 keeps them',
  ),
  EMAIL_RETENTION_DAYS: keptDays.describe(
    'days for which emails are kept, at least 35 and EMAIL_BODY_RETENTION_DAYS, then removed by whole months; 0 keeps them',
  ),
  CONTACT_JOB_RETENTION_DAYS: number(30, 1, 36_500),
  ALLOW_PRIVATE_WEBHOOKS: flag.describe(
    'true lets webhooks call private networks and this machine: for tests and trusted networks only',
  ),
  UPLOAD_RETENTION_DAYS: number(0, 0, 36_500).describe(
    'days after which uploaded images are deleted, even when mail shows them; 0 keeps them',
  ),
  EVENT_COUNT_RETENTION_DAYS: number(400, 100, 36_500).describe(
    'days for which counts of events by day, and of mail by the hour, are kept; events of earlier days are counted when they are asked for',
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
