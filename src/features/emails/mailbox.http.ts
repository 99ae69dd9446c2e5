import { type Config, hostInUrl, listensOnLoopback } from '../../config.ts'
import { AppError, badRequest } from '../../errors.ts'
import { type Exchange, type Headers, reply, replyHtml, replyJson } from '../../http/exchange.ts'
import type { HttpParts } from '../../http/http-parts.ts'
import { isLocalRequest } from '../../http/local-request.ts'
import type { ServerRoute } from '../../http/server.ts'
import type { MailboxMessage, MailboxReader } from '../../mail/mailbox.ts'
import {
  elsewherePage,
  mailboxPage,
  messageDocument,
  type OpenMessage,
  viewNamed,
} from '../../pages/mailbox-page.ts'

const MAX_LISTED = 200
/** Number of messages on the page; search finds the rest. */
const ON_THE_PAGE = 100

const PROVIDERS = { smtp: 'SMTP', mailgun: 'Mailgun', ses: 'Amazon SES' }

/** The development mailbox: a page, and an API for tests. Under another provider the page says where mail goes. */
export function mailboxRoutes({ mailbox, services }: HttpParts): ServerRoute[] {
  const { environment, mail } = services.config
  // It holds the mail of all projects, and links that let whoever reads them into accounts: no user may see all of it.
  if (environment === 'production') return []
  const local = (method: string, path: string, handle: ServerRoute['handle']): ServerRoute => ({
    method,
    path,
    isPage: true,
    handle(exchange, params) {
      if (!isLocalRequest(exchange.request)) throw notLocal(services.config)
      return handle(exchange, params)
    },
  })
  if (mail.provider !== 'mailbox') {
    const place = mail.provider === 'ses' ? mail.region : new URL(mail.url).host
    const html = elsewherePage(PROVIDERS[mail.provider], place)
    return [local('GET', '/mailbox', (exchange) => replyHtml(exchange, 200, html))]
  }
  if (!mailbox) return []
  const message = '/mailbox/messages/:id'
  return [
    local('GET', '/mailbox', (exchange) => showPage(exchange, mailbox, services.now())),
    local('GET', '/mailbox/messages', (exchange) => list(exchange, mailbox)),
    // No form of another site can ask for this: a browser asks us first, and is not allowed to.
    local('DELETE', '/mailbox/messages', (exchange) => clear(exchange, mailbox)),
    local('GET', `${message}/raw`, (exchange, { id = '' }) => sendSource(exchange, mailbox, id)),
    local('GET', `${message}/html`, (exchange, { id = '' }) => sendHtml(exchange, mailbox, id)),
    local('GET', `${message}/attachments/:index`, (exchange, { id = '', index = '' }) =>
      sendAttachment(exchange, mailbox, id, index),
    ),
  ]
}

const notLocal = ({ host, port }: Config) =>
  new AppError('FORBIDDEN', 'The mailbox is shown on the machine of the service only, without a proxy.', {
    suggestion: listensOnLoopback(host)
      ? `Open http://${hostInUrl(host)}:${port}/mailbox there, or lead a port of yours there: ssh -L ${port}:${hostInUrl(host)}:${port} host.`
      : `Start the service with HOST=127.0.0.1, or 0.0.0.0 for all addresses, and open http://127.0.0.1:${port}/mailbox there.`,
  })

const gone = (what: string) =>
  new AppError('RESOURCE_NOT_FOUND', `${what} is not in the mailbox.`, {
    suggestion:
      'Look at /mailbox for the existing messages: old ones are removed, and the mailbox may have been cleared.',
  })

async function showPage(exchange: Exchange, mailbox: MailboxReader, now: Date): Promise<void> {
  const search = (exchange.query.get('search') ?? '').trim()
  const [newest] = await mailbox.list({ limit: 1 })
  const found = await mailbox.list({ search, limit: ON_THE_PAGE + 1 })
  const total = search === '' ? await mailbox.count() : found.length
  const messages = found.slice(0, ON_THE_PAGE)
  const open = await opened(exchange, mailbox)
  replyHtml(exchange, 200, mailboxPage({ messages, total, newestId: newest?.id, search, now, open }))
}

/** The message that the page is asked to show, if any. */
async function opened({ query }: Exchange, mailbox: MailboxReader): Promise<OpenMessage | null> {
  const id = query.get('message')
  if (id === null) return null
  const message = await found(mailbox, id)
  const view = viewNamed(query.get('view'))
  const source = view === 'source' ? ((await mailbox.raw(id))?.toString() ?? '') : null
  return { message, view, source, withRemoteImages: query.get('images') === 'remote' }
}

async function found(mailbox: MailboxReader, id: string): Promise<MailboxMessage> {
  const message = await mailbox.message(id)
  if (!message) throw gone('The message')
  return message
}

async function list(exchange: Exchange, mailbox: MailboxReader): Promise<void> {
  const limit = Number(exchange.query.get('limit') ?? 50)
  if (!Number.isInteger(limit) || limit < 1)
    throw badRequest('The parameter limit must be a positive integer.')
  const to = exchange.query.get('to') ?? undefined
  const search = exchange.query.get('search') ?? undefined
  const data = await mailbox.list({ to, search, limit: Math.min(limit, MAX_LISTED) })
  replyJson(exchange, 200, { data })
}

async function clear(exchange: Exchange, mailbox: MailboxReader): Promise<void> {
  await mailbox.clear()
  reply(exchange, 204, {}, null)
}

/** A browser must not guess another type for a part of a message than the declared one. */
const NOSNIFF: Headers = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }

async function sendSource(exchange: Exchange, mailbox: MailboxReader, id: string): Promise<void> {
  const message = await mailbox.raw(id)
  if (!message) throw gone('The message')
  // Served as text: a browser must not run a script in a message.
  reply(exchange, 200, { 'content-type': 'text/plain; charset=utf-8', ...NOSNIFF }, message)
}

async function sendHtml(exchange: Exchange, mailbox: MailboxReader, id: string): Promise<void> {
  const text = messageDocument(await found(mailbox, id))
  const images = exchange.query.get('images') === 'remote' ? 'https: http:' : ''
  // The page's frame has no rights either; this holds for who opens the address itself.
  const policy = `sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data: ${images}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`
  replyHtml(exchange, 200, text, { 'content-security-policy': policy })
}

async function sendAttachment(
  exchange: Exchange,
  mailbox: MailboxReader,
  id: string,
  index: string,
): Promise<void> {
  const { attachments } = await found(mailbox, id)
  const described = attachments[Number(index)]
  const content = described && (await mailbox.attachment(id, Number(index)))
  if (!content) throw gone('The attachment')
  const isPlainType = /^[\w.+-]+\/[\w.+-]+$/.test(described.contentType)
  const headers = {
    'content-type': isPlainType ? described.contentType : 'application/octet-stream',
    'content-disposition': `attachment; filename*=UTF-8''${encoded(described.filename)}`,
    'content-security-policy': "default-src 'none'; sandbox",
    ...NOSNIFF,
  }
  reply(exchange, 200, headers, content)
}

/** RFC 8187, 3.2.1. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
