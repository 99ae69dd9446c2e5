import { hostname } from 'node:os'
import path from 'node:path'
import { ConfigurationError, readEnvironment } from './environment.ts'
import { keptSecret } from './lib/files/kept-secret.ts'
import { ehloNameOf } from './lib/net/ehlo-name.ts'
import { isLoopbackHost } from './lib/net/loopback.ts'
import { deriveKey, type Keys, Sealing } from './lib/secrets.ts'
import type { Variables } from './variables.ts'

/** How Amazon SES is reached. */
export type SesAccess = {
  region: string
  /** Null for Amazon's own. */
  endpoint: string | null
  /** Null: what the SDK finds, such as the role of the machine. */
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string | undefined } | null
}

export type MailConfig =
  | { provider: 'mailbox'; directory: string }
  | { provider: 'smtp'; url: string; connections: number; ehloName: string }
  | { provider: 'mailgun'; apiKey: string; url: string }
  | ({ provider: 'ses'; configurationSet: string | null } & SesAccess)

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

/** The ports that take mail over SMTP; null for those that are off. */
export type SmtpDoorConfig = {
  host: string
  /** Name of the server. */
  domain: string
  ports: {
    /** Clients with a key, with STARTTLS where there is a certificate. */
    submission: number | null
    /** The same over TLS. */
    tls: number | null
    /** Anyone, for the verified domains. */
    inbound: number | null
  }
  /** Paths of PEM files; null in development only, where clients of this machine need no TLS. */
  certificate: { certFile: string; keyFile: string } | null
}

export type BillingConfig = {
  secretKey: string
  webhookSecret: string
  /** Of Stripe's API. */
  address: string
  /** Ids of prices of the subscription. */
  prices: string[]
}

/** Where uploaded images are kept; `local` is under DATA_DIR. */
export type StorageConfig = { kind: 'local' } | S3Config

export type Config = Readonly<ReturnType<typeof build>>

/** Reads the environment once. Nothing else in the service looks at `process.env`. Throws ConfigurationError. */
export const loadConfig = (env: NodeJS.ProcessEnv = process.env): Config =>
  Object.freeze(build(readEnvironment(env)))

function build(v: Variables) {
  const production = v.NODE_ENV === 'production'
  const host = v.HOST ?? (production ? '0.0.0.0' : '127.0.0.1')
  const dataDir = path.resolve(v.DATA_DIR)
  const jwtSecret = v.JWT_SECRET ?? developmentSecret(dataDir)
  const encryptionSecret = v.ENCRYPTION_SECRET ?? jwtSecret
  const previousSecrets = v.ENCRYPTION_SECRET_PREVIOUS ?? []
  const keysFor = (purpose: string): Keys => [
    deriveKey(encryptionSecret, purpose),
    ...previousSecrets.map((secret) => deriveKey(secret, purpose)),
  ]
  /** With port 0 and no API_URL, startApp puts the port in that it got. */
  const apiUrl = v.API_URL ?? `http://${hostInUrl(host)}:${v.PORT}`
  const mail = mailConfig(v, dataDir, apiUrl)
  return {
    environment: v.NODE_ENV,
    host,
    port: v.PORT,
    databaseUrl: v.DATABASE_URL ?? null,
    databasePoolSize: v.DATABASE_POOL_SIZE,
    databaseWorkerPoolSize: v.DATABASE_WORKER_POOL_SIZE,
    databasePipelines: v.DATABASE_PIPELINES,
    databaseStatementTimeoutMs: v.DATABASE_STATEMENT_TIMEOUT_SECONDS * 1_000,
    dataDir,
    roles: v.ROLES ?? [...BASIC_ROLES, ...(hasSmtpPort(v) ? (['smtp'] as const) : [])],
    /** Null when no process takes mail over SMTP, as far as this one is told. */
    smtpDoor: smtpDoorConfig(v, v.SMTP_DOOR_HOST ?? host, apiUrl),
    apiUrl,
    /** Whether the operator has set the address of this service. */
    isApiUrlGiven: v.API_URL !== undefined,
    /** The path of API_URL, where a proxy leads to this service; empty for none. */
    basePath: new URL(apiUrl).pathname.replace(/\/$/, ''),
    dashboardUrl: v.DASHBOARD_URL ?? null,
    encryptionSecret,
    /** What signs session cookies. */
    sessionKey: deriveKey(jwtSecret, 'mailwright sessions'),
    signupsDisabled: v.DISABLE_SIGNUPS,
    /** How the database keeps secrets. */
    sealing: new Sealing(keysFor('mailwright secrets at rest')),
    /** Providers through which people sign in; null for those that are off. */
    oauth: oauthConfig(v),
    /** What seals a sign-in through a provider while the browser is there. */
    flowKey: deriveKey(jwtSecret, 'mailwright sign-in flows'),
    /** What signs links in mail. */
    linkKeys: {
      subscriptions: keysFor('mailwright subscription links'),
      tracked: keysFor('mailwright tracked links'),
    },
    mail,
    /** Sender of the service's own mails; null when it sends none, so that no address can be verified. */
    serviceMail: serviceMail(v, mail),
    senderDomains: {
      /** What an SPF record has to name for the SMTP server; null when nobody has said. */
      spf: v.SMTP_SPF ?? null,
      /** The host that takes mail for the domains; null when none does. */
      inboundMx: v.INBOUND_MX ?? null,
    },
    /** What signs Mailgun's notifications; null: none are taken. */
    mailgunWebhookKey: v.MAILGUN_WEBHOOK_KEY ?? null,
    /** Topics that notifications are taken of; null: SNS is where Amazon has it. */
    sns: { topics: v.SNS_TOPIC_ARNS, endpoint: v.SNS_ENDPOINT ?? null },
    autoProjectDisable: v.AUTO_PROJECT_DISABLE === 'true',
    storage: storageConfig(v),
    /** Null: nothing is billed, counted or capped. */
    billing: billingConfig(v),
    /** None: the servers of the system. */
    dnsServers: v.DNS_SERVERS ?? [],
    connections: {
      total: v.MAX_CONNECTIONS,
      perAddress: v.MAX_CONNECTIONS_PER_ADDRESS,
      trustedProxies: v.TRUSTED_PROXIES,
    },
    rateLimitPerMinute: v.RATE_LIMIT_PER_MINUTE,
    strangerRateLimitPerMinute: v.STRANGER_RATE_LIMIT_PER_MINUTE,
    subscriptions: { total: v.MAX_SUBSCRIPTIONS, perProject: v.MAX_SUBSCRIPTIONS_PER_PROJECT },
    sendRatePerSecond: v.PROJECT_SEND_RATE_PER_SECOND,
    destinationPauseSeconds: v.DESTINATION_PAUSE_SECONDS,
    destinationLimits: v.DESTINATION_LIMITS,
    /** Messages on each day of the warm-up of new sender domains. */
    domainWarmUp: v.DOMAIN_WARM_UP,
    idempotencyTtlHours: v.IDEMPOTENCY_TTL_HOURS,
    emailBodyRetentionDays: v.EMAIL_BODY_RETENTION_DAYS,
    /** 0: kept. Whole months are removed. */
    ...keptMail(v),
    contactJobRetentionDays: v.CONTACT_JOB_RETENTION_DAYS,
    allowPrivateWebhooks: v.ALLOW_PRIVATE_WEBHOOKS,
    /** 0: kept. */
    uploadRetentionDays: v.UPLOAD_RETENTION_DAYS,
    executionRetentionDays: v.WORKFLOW_EXECUTION_RETENTION_DAYS,
    eventCountRetentionDays: v.EVENT_COUNT_RETENTION_DAYS,
    unusedFieldRetentionDays: v.UNUSED_FIELD_RETENTION_DAYS,
    /** Quotas of one project; 0: no quota. */
    quotas: {
      segments: v.QUOTA_SEGMENTS,
      templates: v.QUOTA_TEMPLATES,
      domains: v.QUOTA_DOMAINS,
      campaigns: v.QUOTA_CAMPAIGNS,
      workflows: v.QUOTA_WORKFLOWS,
      eventNames: v.QUOTA_EVENT_NAMES,
      contactFields: v.QUOTA_CONTACT_FIELDS,
      images: v.QUOTA_IMAGES,
      imageBytes: v.QUOTA_IMAGE_MB * 1024 * 1024,
    },
    maxAttachments: v.MAX_ATTACHMENTS,
    maxAttachmentBytes: v.MAX_ATTACHMENT_MB * 1024 * 1024,
    maxMessageBytes: v.MAX_MESSAGE_MB * 1024 * 1024,
    trackAcceptsSecretKey: v.TRACK_ACCEPTS_SECRET_KEY,
    metricsToken: v.METRICS_TOKEN ?? null,
    logLevel: v.LOG_LEVEL,
  }
}

const BASIC_ROLES = ['http', 'worker'] as const

const hasSmtpPort = (v: Variables): boolean =>
  [v.SMTP_DOOR_PORT, v.SMTP_DOOR_TLS_PORT, v.SMTP_DOOR_INBOUND_PORT].some((port) => port !== undefined)

function smtpDoorConfig(v: Variables, host: string, apiUrl: string): SmtpDoorConfig | null {
  const { SMTP_DOOR_CERT_FILE: certFile, SMTP_DOOR_KEY_FILE: keyFile } = v
  if (!hasSmtpPort(v) && !v.ROLES?.includes('smtp')) return null
  const usual = v.NODE_ENV === 'production' ? 587 : 2525
  return {
    host,
    domain: v.SMTP_DOOR_DOMAIN ?? new URL(apiUrl).hostname,
    ports: {
      submission: v.SMTP_DOOR_PORT ?? (hasSmtpPort(v) ? null : usual),
      tls: v.SMTP_DOOR_TLS_PORT ?? null,
      inbound: v.SMTP_DOOR_INBOUND_PORT ?? null,
    },
    certificate: certFile && keyFile ? { certFile, keyFile } : null,
  }
}

/** Whether this machine reaches the service by a name of its own, as the mailbox asks for. */
export const listensOnLoopback = (host: string): boolean =>
  host === '0.0.0.0' || host === '::' || isLoopbackHost(host)

/** A name by which this machine reaches itself, for links in development. */
export function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

function mailConfig(v: Variables, dataDir: string, apiUrl: string): MailConfig {
  const { AWS_REGION: region, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = v
  const credentials =
    accessKeyId && secretAccessKey
      ? { accessKeyId, secretAccessKey, sessionToken: v.AWS_SESSION_TOKEN }
      : null
  const hasSes = region !== undefined && credentials !== null
  const configured = v.MAILGUN_API_KEY ? 'mailgun' : hasSes ? 'ses' : v.SMTP_URL ? 'smtp' : 'mailbox'
  const provider = v.MAIL_PROVIDER ?? configured
  if (provider === 'ses' && region) {
    const { SES_ENDPOINT: endpoint = null, SES_CONFIGURATION_SET: configurationSet = null } = v
    return { provider, region, endpoint, credentials, configurationSet }
  }
  if (provider === 'mailgun' && v.MAILGUN_API_KEY) {
    return { provider, apiKey: v.MAILGUN_API_KEY, url: v.MAILGUN_URL }
  }
  if (provider === 'smtp' && v.SMTP_URL) {
    const ehloName = v.SMTP_EHLO_NAME ?? ehloNameOf(apiUrl, hostname())
    return { provider, url: v.SMTP_URL, connections: v.SMTP_CONNECTIONS, ehloName }
  }
  return { provider: 'mailbox', directory: path.join(dataDir, 'mailbox') }
}

function serviceMail(v: Variables, { provider }: MailConfig): { from: string } | null {
  const from = v.SERVICE_MAIL_FROM ?? (provider === 'mailbox' ? 'mailwright@localhost.example' : null)
  return from === null ? null : { from: from.toLowerCase() }
}

function oauthConfig(v: Variables) {
  const { GITHUB_CLIENT_ID, GITHUB_CLIENT_SECRET, GITHUB_URL } = v
  const { GOOGLE_CLIENT_ID, GOOGLE_CLIENT_SECRET, GOOGLE_URL = null } = v
  const client = (clientId: string | undefined, clientSecret: string | undefined) =>
    clientId && clientSecret ? { clientId, clientSecret } : null
  const github = client(GITHUB_CLIENT_ID, GITHUB_CLIENT_SECRET)
  const google = client(GOOGLE_CLIENT_ID, GOOGLE_CLIENT_SECRET)
  return {
    github: github && { ...github, url: GITHUB_URL },
    google: google && { ...google, url: GOOGLE_URL },
  }
}

function storageConfig(v: Variables): StorageConfig {
  const { S3_BUCKET: bucket, S3_REGION: region, S3_ENDPOINT: endpoint = null } = v
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = v
  if (!bucket || !region || !accessKeyId || !secretAccessKey) return { kind: 'local' }
  const publicUrl = v.S3_PUBLIC_URL ?? bucketUrl(bucket, region, endpoint)
  return { kind: 's3', bucket, region, endpoint, accessKeyId, secretAccessKey, publicUrl }
}

function billingConfig(v: Variables): BillingConfig | null {
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecret, STRIPE_PRICES: prices } = v
  if (!secretKey || !webhookSecret || !prices) return null
  return { secretKey, webhookSecret, prices, address: v.STRIPE_API_URL }
}

/** Bodies go first: what is removed with a month of mail has none. */
function keptMail({ EVENT_RETENTION_DAYS, EMAIL_RETENTION_DAYS, EMAIL_BODY_RETENTION_DAYS }: Variables) {
  if (EMAIL_RETENTION_DAYS !== 0 && EMAIL_RETENTION_DAYS < EMAIL_BODY_RETENTION_DAYS) {
    throw new ConfigurationError(
      `EMAIL_RETENTION_DAYS must be 0 or at least EMAIL_BODY_RETENTION_DAYS (${EMAIL_BODY_RETENTION_DAYS}).`,
    )
  }
  return { eventRetentionDays: EVENT_RETENTION_DAYS, emailRetentionDays: EMAIL_RETENTION_DAYS }
}

function bucketUrl(bucket: string, region: string, endpoint: string | null): string {
  const service = `s3.${region}.amazonaws.com`
  if (endpoint !== null) return `${endpoint}/${bucket}`
  // The certificate of the service covers one label.
  return bucket.includes('.') ? `https://${service}/${bucket}` : `https://${bucket}.${service}`
}

/** Created once and kept, so that the data that it protects survives a restart. */
function developmentSecret(dataDir: string): string {
  try {
    return keptSecret(
      path.join(dataDir, 'secret'),
      'links that were sent stop working then, and domains have to be removed and added again.',
    )
  } catch (error) {
    throw new ConfigurationError(`DATA_DIR: ${error instanceof Error ? error.message : error}`)
  }
}
