import { type App, startApp } from '../app.ts'
import { hostInUrl, loadConfig } from '../config.ts'
import { ConfigurationError } from '../environment.ts'
import { createDemo, type Demo } from '../features/projects/demo.ts'
import { createLog } from '../log.ts'

/** Longer than an orderly stop takes, shorter than supervisors wait before they kill. */
const STOP_MS = 28_000

let stopping = false

/** Starts the roles of this process and stops them cleanly at the first SIGINT or SIGTERM. */
async function serve(): Promise<void> {
  const startedAt = performance.now()
  const config = loadConfig()
  const log = createLog(config.logLevel)
  const starting = startApp(config, log)
  const stop = () => stopOnce(starting, () => log.flush())
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  const app = await starting
  if (stopping) return
  const demo = config.environment === 'production' ? null : await createDemo(app.services)
  console.log(banner(app, demo, performance.now() - startedAt))
}

/** Also ends a start that is not done yet, which may have a database running. A second signal ends the process at once. */
function stopOnce(starting: Promise<App>, flush: () => void): void {
  if (stopping) return
  stopping = true
  process.once('SIGINT', () => process.exit(130))
  setTimeout(() => process.exit(1), STOP_MS).unref()
  starting
    .then((app) => app.stop())
    .then(
      () => {
        flush()
        process.exit(0)
      },
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      },
    )
}

function banner({ config }: App, demo: Demo | null, milliseconds: number): string {
  const lines = [`Mailwright is ready (${Math.round(milliseconds)} ms, roles ${config.roles.join(' and ')})`]
  if (config.roles.includes('http')) {
    lines.push(
      '',
      `  API        ${config.apiUrl}/v1/send`,
      `  GraphQL    ${config.apiUrl}/graphql`,
      `  API pages  ${config.apiUrl}/docs`,
    )
    if (config.mail.provider === 'mailbox' && config.environment !== 'production')
      lines.push(`  Mailbox    http://${hostInUrl(config.host)}:${config.port}/mailbox`)
  }
  if (demo) lines.push('', ...demoLines(config.apiUrl, demo))
  return `${lines.join('\n')}\n`
}

const demoLines = (apiUrl: string, { keys, domain }: Demo): string[] => [
  '  A demo project was made. Its keys are shown only now:',
  '',
  `  public  ${keys.public}`,
  `  secret  ${keys.secret}`,
  '',
  '  Send a first message and look into the mailbox:',
  '',
  `  curl -s ${apiUrl}/v1/send \\`,
  `    -H 'Authorization: Bearer ${keys.secret}' -H 'Content-Type: application/json' \\`,
  `    -d '{"to":"ada@example.org","from":"hello@${domain}","subject":"Hello","body":"<p>It works.</p>"}'`,
]

try {
  await serve()
} catch (error) {
  // What a stop interrupts fails; the stop itself ends the process.
  if (!stopping) fail(error)
}

function fail(error: unknown): never {
  const known = error instanceof ConfigurationError
  console.error(known ? `The configuration is not valid:\n${error.message}` : error)
  process.exit(1)
}
