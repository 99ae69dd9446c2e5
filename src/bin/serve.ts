import { SYSTEM } from '../admission/access.ts'
import { type App, startApp } from '../app.ts'
import { type Config, hostInUrl, loadConfig } from '../config.ts'
import { createCtx } from '../ctx.ts'
import { createDemo, type Demo } from '../features/projects/demo.ts'
import { listProjects } from '../features/projects/projects.ts'
import { createLog } from '../observe/log.ts'
import { reasonOf } from './reason.ts'

/** Longer than an orderly stop takes, shorter than supervisors wait before they kill. */
const STOP_MS = 28_000

/** Results of the start: `demo` when it has just created the demo project. */
type FirstStart = { demo: Demo | null; hasProject: boolean }

/** Starts the roles of this process and stops them cleanly at the first SIGINT or SIGTERM. */
async function serve(): Promise<void> {
  const startedAt = performance.now()
  const config = loadConfig()
  const log = createLog(config.logLevel)
  const starting = startApp(config, log)
  let stopping = false
  const stop = () => {
    if (stopping) return
    stopping = true
    end(starting, () => log.flush())
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  try {
    const app = await starting
    if (!stopping) await present(app, startedAt)
  } catch (error) {
    // A stop makes the start fail; the stop itself ends the process.
    if (!stopping) throw error
  }
}

/** Creates what a first start needs, and prints what has started. */
async function present(app: App, startedAt: number): Promise<void> {
  try {
    const demo = app.config.environment === 'production' ? null : await createDemo(app.services)
    const hasProject =
      demo !== null || (await listProjects(createCtx(app.services, SYSTEM, 'start'), 1)).length > 0
    console.log(banner(app, { demo, hasProject }, performance.now() - startedAt))
  } catch (error) {
    // The database that came along would run on.
    await app.stop()
    throw error
  }
}

/**
 * Also ends a start that is still going on, which may have a database running. A second signal ends the
 * process at once.
 */
function end(starting: Promise<App>, flush: () => void): void {
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

function banner({ config }: App, start: FirstStart, milliseconds: number): string {
  const lines = [
    `Mailwright is ready (${Math.round(milliseconds)} ms, roles ${config.roles.join(' and ')})`,
    '',
  ]
  if (config.roles.includes('http')) {
    lines.push(
      `  Listens    ${config.host}, port ${config.port}`,
      `  API        ${config.apiUrl}/v1/send`,
      `  GraphQL    ${config.apiUrl}/graphql`,
      `  API pages  ${config.apiUrl}/docs`,
    )
  }
  lines.push(`  Mail       ${whereMailGoes(config)}`)
  const advice = adviceOf(config, start)
  if (advice.length > 0) lines.push('', ...advice)
  if (start.demo) lines.push('', ...demoLines(config.apiUrl, start.demo))
  return `${lines.join('\n')}\n`
}

function whereMailGoes({ mail, environment, host, port, roles }: Config): string {
  if (mail.provider === 'smtp') return `leaves by SMTP, through ${new URL(mail.url).host}`
  if (mail.provider === 'mailgun') return `leaves by Mailgun, through ${mail.url}`
  const hasPage = environment !== 'production' && roles.includes('http')
  const page = hasPage ? `: http://${hostInUrl(host)}:${port}/mailbox` : `, ${mail.directory}`
  return `stays here, in the mailbox${page}`
}

const CLI = 'npm run -s cli --'

function adviceOf({ mail, isApiUrlGiven, apiUrl }: Config, { demo, hasProject }: FirstStart): string[] {
  const lines: string[] = []
  if (!hasProject)
    lines.push(
      `  There is no project yet. Create one, with its keys: ${CLI} project create --name "My project"`,
    )
  else if (!demo)
    lines.push(
      `  Keys       ${CLI} project create --name NAME, or project rotate-keys --project ID (project list)`,
    )
  if (mail.provider !== 'mailbox' && !isApiUrlGiven)
    lines.push(
      `  API_URL is not set: links in mail that leaves lead to ${apiUrl}, which only this machine can open.`,
    )
  return lines
}

const demoLines = (apiUrl: string, { keys, domain }: Demo): string[] => [
  '  A demo project was created. Its keys are shown only now:',
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
  fail(error)
}

function fail(error: unknown): never {
  console.error(reasonOf(error) ?? error)
  process.exit(1)
}
