import { type Config, hostInUrl, listensOnLoopback } from '../config.ts'
import type { Demo } from '../features/projects/demo.ts'

/** Results of the start: `demo` when it has just created the demo project. */
type FirstStart = { demo: Demo | null; hasProject: boolean }

/** The text that a start prints: where the service listens, where mail goes, and what is left to do. */
export function banner(config: Config, start: FirstStart, milliseconds: number): string {
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
  if (mail.provider === 'ses') return `leaves by Amazon SES, from ${mail.region}`
  const hasPage = environment !== 'production' && roles.includes('http')
  if (!hasPage) return `stays here, in the mailbox, ${mail.directory}`
  return listensOnLoopback(host)
    ? `stays here, in the mailbox: http://${hostInUrl(host)}:${port}/mailbox`
    : 'stays here, in the mailbox; its page opens with HOST=127.0.0.1, or 0.0.0.0 for all addresses'
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
