import { AppError, badRequest, notFound } from '../../errors.ts'
import { type Exchange, reply, replyHtml, replyJson } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import { isLocalRequest } from '../../http/local-request.ts'
import type { ServerRoute } from '../../http/server.ts'
import { escapeHtml } from '../../lib/html.ts'
import type { MailboxMessage, MailboxReader } from '../../mail/mailbox.ts'

const MAX_LISTED = 200

/** The development mailbox: a page, and an API for tests. Only there when MAIL_PROVIDER is the mailbox. */
export function mailboxRoutes({ mailbox, services }: HttpParts): ServerRoute[] {
  // Nothing tells who asks, and mail holds links that log people in: other than in development that takes a sign-in.
  if (!mailbox || services.config.environment === 'production') return []
  const local = (path: string, handle: ServerRoute['handle']): ServerRoute => ({
    method: 'GET',
    path,
    handle(exchange, params) {
      if (!isLocalRequest(exchange.request)) throw notLocal(services.config.port)
      return handle(exchange, params)
    },
  })
  return [
    local('/mailbox', (exchange) => page(exchange, mailbox)),
    local('/mailbox/messages', (exchange) => list(exchange, mailbox)),
    local('/mailbox/messages/:id/raw', (exchange, { id = '' }) => raw(exchange, mailbox, id)),
  ]
}

const notLocal = (port: number) =>
  new AppError('FORBIDDEN', 'The mailbox is shown on the machine of the service only, without a proxy.', {
    suggestion: `Open http://127.0.0.1:${port}/mailbox there, or lead a port of yours there: ssh -L ${port}:127.0.0.1:${port} host.`,
  })

async function list(exchange: Exchange, mailbox: MailboxReader): Promise<void> {
  const limit = Number(exchange.query.get('limit') ?? 50)
  if (!Number.isInteger(limit) || limit < 1)
    throw badRequest('The parameter limit must be a positive integer.')
  const to = exchange.query.get('to') ?? undefined
  replyJson(exchange, 200, { data: await mailbox.list({ to, limit: Math.min(limit, MAX_LISTED) }) })
}

async function raw(exchange: Exchange, mailbox: MailboxReader, id: string): Promise<void> {
  const message = await mailbox.raw(id)
  if (!message) throw notFound('The message')
  // As text: a browser must not run what is in a message.
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
  reply(exchange, 200, headers, message)
}

async function page(exchange: Exchange, mailbox: MailboxReader): Promise<void> {
  const messages = await mailbox.list({ limit: 50 })
  replyHtml(exchange, 200, pageOf(messages))
}

const pageOf = (messages: MailboxMessage[]): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Mailbox · Mailwright</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1e }
details { border: 1px solid #d8d8dc; border-radius: 8px; margin: .5rem 0; padding: .5rem 1rem }
summary { cursor: pointer; display: grid; grid-template-columns: 1fr auto; gap: 0 1rem }
summary span { color: #6c6c70 }
iframe { width: 100%; height: 28rem; border: 1px solid #d8d8dc; border-radius: 4px; background: #fff }
pre { white-space: pre-wrap; background: #f4f4f6; padding: .75rem; border-radius: 4px }
</style>
</head>
<body>
<h1>Mailbox</h1>
<p>Messages stay on this machine. Newest first; reload to see more. <a href="mailbox/messages">As JSON</a></p>
${messages.length === 0 ? '<p>Nothing here yet. Send something with <code>POST /v1/send</code>.</p>' : messages.map(entryOf).join('\n')}
</body>
</html>`

/** The message itself is shown in a frame without any rights: no scripts, no forms, no origin. */
const entryOf = (message: MailboxMessage): string => `<details>
<summary><strong>${escapeHtml(message.subject || '(no subject)')}</strong><span>${escapeHtml(message.receivedAt)}</span>
<span>${escapeHtml(message.from)} → ${escapeHtml(message.to)}</span></summary>
<iframe sandbox title="Message" srcdoc="${escapeHtml(message.html)}"></iframe>
<p>${message.attachments.map(({ filename }) => escapeHtml(filename)).join(', ')} <a href="mailbox/messages/${encodeURIComponent(message.id)}/raw">Source</a></p>
<pre>${escapeHtml(message.text)}</pre>
</details>`
