import { issueText } from './lib/issue-text.ts'
import { OperatorError } from './lib/operator-error.ts'
import { list, type Variables, variables } from './variables.ts'

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
  if (v.MAIL_PROVIDER === 'ses' && !v.AWS_REGION) problems.push('AWS_REGION: needed by MAIL_PROVIDER=ses')
  if (Boolean(v.AWS_ACCESS_KEY_ID) !== Boolean(v.AWS_SECRET_ACCESS_KEY)) {
    problems.push('AWS_ACCESS_KEY_ID: needed together with AWS_SECRET_ACCESS_KEY')
  }
  problems.push(...missingForS3(v), ...missingForTls(v), ...missingForStripe(v))
  if (v.NODE_ENV !== 'production') return problems
  if (!v.JWT_SECRET) problems.push('JWT_SECRET: needed in production (32 random characters or more)')
  for (const name of ['JWT_SECRET', 'ENCRYPTION_SECRET', 'METRICS_TOKEN']) {
    if (v[name] && isGuessable(v[name])) problems.push(`${name}: too simple for production; use a random one`)
  }
  if (!v.DATABASE_URL) problems.push('DATABASE_URL: needed in production')
  if (!v.API_URL) problems.push('API_URL: needed in production, links in mail point to it')
  const hasSes = v.AWS_REGION && v.AWS_ACCESS_KEY_ID
  if (!v.MAIL_PROVIDER && !v.SMTP_URL && !v.MAILGUN_API_KEY && !hasSes) {
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

/** A payment whose notification is refused, or a checkout of nothing, would be seen too late. */
const missingForStripe = (v: NodeJS.ProcessEnv): string[] =>
  v.STRIPE_SECRET_KEY
    ? ['STRIPE_WEBHOOK_SECRET', 'STRIPE_PRICES']
        .filter((name) => !v[name])
        .map((name) => `${name}: needed for billing (STRIPE_SECRET_KEY is set)`)
    : []

/** A log-in over SMTP holds the secret key, which nobody on the way may read. */
function missingForTls(v: NodeJS.ProcessEnv): string[] {
  const { SMTP_DOOR_CERT_FILE: certificate, SMTP_DOOR_KEY_FILE: key } = v
  if (certificate && !key) return ['SMTP_DOOR_KEY_FILE: needed together with SMTP_DOOR_CERT_FILE']
  if (key && !certificate) return ['SMTP_DOOR_CERT_FILE: needed together with SMTP_DOOR_KEY_FILE']
  if (certificate) return []
  if (v.SMTP_DOOR_TLS_PORT) return ['SMTP_DOOR_CERT_FILE: needed by SMTP_DOOR_TLS_PORT']
  const hasRole = list.parse(v.ROLES ?? '').includes('smtp')
  const takesKeys = v.SMTP_DOOR_PORT || (hasRole && !v.SMTP_DOOR_INBOUND_PORT)
  if (v.NODE_ENV !== 'production' || !takesKeys) return []
  return ['SMTP_DOOR_CERT_FILE: needed in production, keys are not taken without TLS']
}

/** Long enough, but typed with one finger; random ones have more different characters. */
const isGuessable = (secret: string): boolean => new Set(secret).size < 6
