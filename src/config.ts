import { hostname } from 'node:os'
import path from 'node:path'
import { ConfigurationError, readEnvironment, type Variables } from './environment.ts'
import { keptSecret } from './lib/files/kept-secret.ts'
import { ehloNameOf } from './lib/net/ehlo-name.ts'
import { isLoopbackHost } from './lib/net/loopback.ts'
import { deriveKey } from './lib/secrets.ts'

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

/** Reads the environment once. Nothing else in the service looks at `process.env`. Throws ConfigurationError. */
export const loadConfig = (env: NodeJS.ProcessEnv = process.env): Config =>
  Object.freeze(build(readEnvironment(env)))

function build(v: Variables) {
  const production = v.NODE_ENV === 'production'
  const host = v.HOST ?? (production ? '0.0.0.0' : '127.0.0.1')
  const dataDir = path.resolve(v.DATA_DIR)
  const jwtSecret = v.JWT_SECRET ?? developmentSecret(dataDir)
  const encryptionSecret = v.ENCRYPTION_SECRET ?? jwtSecret
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
    /** Whether the operator has set the address of this service. */
    isApiUrlGiven: v.API_URL !== undefined,
    /** The path of API_URL, where a proxy leads to this service; empty for none. */
    basePath: new URL(apiUrl).pathname.replace(/\/$/, ''),
    dashboardUrl: v.DASHBOARD_URL ?? null,
    encryptionSecret,
    /** What signs links in mail. */
    linkKeys: {
      subscriptions: deriveKey(encryptionSecret, 'mailwright subscription links'),
      tracked: deriveKey(encryptionSecret, 'mailwright tracked links'),
    },
    mail: mailConfig(v, dataDir, apiUrl),
    storage: storageConfig(v),
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
    idempotencyTtlHours: v.IDEMPOTENCY_TTL_HOURS,
    emailBodyRetentionDays: v.EMAIL_BODY_RETENTION_DAYS,
    contactJobRetentionDays: v.CONTACT_JOB_RETENTION_DAYS,
    /** 0: kept. */
    allowPrivateWebhooks: v.ALLOW_PRIVATE_WEBHOOKS,
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

/** Whether this machine reaches the service by a name of its own, as the mailbox asks for. */
export const listensOnLoopback = (host: string): boolean =>
  host === '0.0.0.0' || host === '::' || isLoopbackHost(host)

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
