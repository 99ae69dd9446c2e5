import { escapeHtml } from '../lib/text/html.ts'
import { sizeInWords, timeAgo } from '../lib/text/in-words.ts'
import type { MailboxMessage } from '../mail/mailbox.ts'
import { htmlPage, masthead } from './page.ts'

const VIEWS = ['html', 'text', 'headers', 'source'] as const
export type MailboxView = (typeof VIEWS)[number]

const NAMES: Record<MailboxView, string> = {
  html: 'HTML',
  text: 'Text',
  headers: 'Headers',
  source: 'Source',
}

/** The way of looking at a message that a link names; HTML otherwise. */
export const viewNamed = (name: string | null): MailboxView => VIEWS.find((view) => view === name) ?? 'html'

/** A message that is looked at; `source` is null but in the view of that name. */
export type OpenMessage = {
  message: MailboxMessage
  view: MailboxView
  source: string | null
  withRemoteImages: boolean
}

export type MailboxPage = {
  /** Newest first. */
  messages: MailboxMessage[]
  /** The number of all messages; of a search only whether there are more than `messages`. */
  total: number
  /** Of all messages, whatever is searched for. */
  newestId: string | undefined
  search: string
  now: Date
  open: OpenMessage | null
}

/** The source of a large message is cut here; the whole of it can be downloaded. Characters. */
const MAX_SOURCE = 200_000

export function mailboxPage(page: MailboxPage): string {
  const { search, open } = page
  return htmlPage({
    title: open ? `${subjectOf(open.message)} · Mailbox` : 'Mailbox · Mailwright',
    top: '',
    style: 'mailbox',
    script: 'mailbox',
    body: `${masthead('mailbox')}
<main${open ? ' class="reading"' : ''}>
<div class="bar">
${open ? '<h2>Mailbox</h2>' : '<h1>Mailbox</h1>'}
<form role="search" action="mailbox">
<input type="search" name="search" value="${escapeHtml(search)}" placeholder="Subject, address or text" aria-label="Search">
<button>Search</button>
</form>
<a class="button" href="mailbox${link({ search })}">Refresh</a>
<button type="button" id="clear">Clear</button>
</div>
${listOf(page)}
<article aria-label="Message">${open ? messageOf(open, page) : '<p class="nothing quiet">Choose a message to read it.</p>'}</article>
</main>
<dialog id="clearing" aria-labelledby="clearing-title"><form method="dialog">
<h2 id="clearing-title">Delete all messages?</h2>
<p>They are removed from this mailbox for good. What the API says about them stays.</p>
<button value="">Keep them</button> <button value="clear" class="danger">Delete all</button>
</form></dialog>`,
  })
}

/** In place of the mailbox, when mail leaves. */
export const elsewherePage = (provider: string, host: string): string =>
  htmlPage({
    title: 'Mailbox · Mailwright',
    top: '',
    body: `${masthead('mailbox')}
<main class="sheet">
<h1>Mail leaves this machine</h1>
<p>It goes to its receivers through <strong>${escapeHtml(provider)}</strong> at <code>${escapeHtml(host)}</code>, so there is no mailbox to look into.</p>
<p class="quiet">To keep mail here, start the service with <code>MAIL_PROVIDER=mailbox</code>.</p>
</main>`,
  })

/** Relative to the page of the mailbox; what is empty is left out. */
function link(parameters: Record<string, string>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== '')
  return given.length === 0 ? '' : escapeHtml(`?${new URLSearchParams(given)}`)
}

const subjectOf = ({ subject }: MailboxMessage): string => subject || '(no subject)'

function listOf({ messages, total, newestId = '', search, now, open }: MailboxPage): string {
  const entries = messages.map((message) => entryOf(message, search, now, message.id === open?.message.id))
  return `<section id="messages" aria-label="Messages" data-newest="${escapeHtml(newestId)}">
${
  messages.length > 0
    ? `<p class="note quiet">${countText(messages.length, total, search)}, newest first</p>\n<ol>\n${entries.join('\n')}\n</ol>`
    : `<p class="nothing quiet">${emptyText(search)}</p>`
}
</section>`
}

const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

function countText(shown: number, total: number, search: string): string {
  if (search !== '') return shown < total ? `More than ${shown} matches` : counted(shown, 'match', 'matches')
  return `${shown < total ? `${shown} of ` : ''}${counted(total, 'message', 'messages')}`
}

const emptyText = (search: string): string =>
  search === ''
    ? 'Nothing here yet. What you send with <code>POST /v1/send</code> appears here by itself, and goes nowhere else.'
    : 'No message has this in its subject, addresses or text. <a href="mailbox">Show all</a>'

function entryOf(message: MailboxMessage, search: string, now: Date, isOpen: boolean): string {
  const { id, from, to, attachments } = message
  const files = counted(attachments.length, 'file', 'files')
  return `<li><a id="m-${escapeHtml(id)}" href="mailbox${link({ search, message: id })}"${isOpen ? ' aria-current="true"' : ''}>
<strong>${escapeHtml(subjectOf(message))}</strong>${timeOf(message, now)}
<span>${escapeHtml(to)}</span><span class="quiet">${attachments.length > 0 ? files : ''}</span>
<span class="quiet">from ${escapeHtml(from)}</span></a></li>`
}

function timeOf({ receivedAt }: MailboxMessage, now: Date): string {
  const at = new Date(receivedAt)
  return `<time class="quiet" datetime="${escapeHtml(receivedAt)}" title="${at.toUTCString()}">${timeAgo(at, now)}</time>`
}

function messageOf(open: OpenMessage, { search, now }: MailboxPage): string {
  const { message, view, withRemoteImages } = open
  const { id } = message
  const tabs = VIEWS.map(
    (one) =>
      `<a href="mailbox${link({ search, message: id, view: one === 'html' ? '' : one })}"${one === view ? ' aria-current="page"' : ''}>${NAMES[one]}</a>`,
  )
  const offersImages = view === 'html' && !withRemoteImages && REMOTE_IMAGE.test(message.html)
  const images = `<a class="images" href="mailbox${link({ search, message: id, images: 'remote' })}">Load images from elsewhere</a>`
  return `
<a class="back" href="mailbox${link({ search })}">‹ All messages</a>
<h1>${escapeHtml(subjectOf(message))}</h1>
<dl><dt>From</dt><dd>${escapeHtml(message.from)}</dd><dt>To</dt><dd>${escapeHtml(message.to)}</dd>
<dt>Sent</dt><dd>${timeOf(message, now)} · ${new Date(message.receivedAt).toUTCString()}</dd></dl>
${filesOf(message)}
<nav class="tabs" aria-label="Views of the message">${tabs.join('')}${offersImages ? images : ''}</nav>
${viewOf(open)}`
}

/** One run of blanks and quotes at a time: two that may match the same blanks take time by their square. */
const REMOTE_IMAGE =
  /\b(?:src|srcset|poster|background)\s*=[\s"']*(?:https?:)?\/\/|url\([\s"']*(?:https?:)?\/\//i

const pathOf = ({ id }: MailboxMessage): string => `mailbox/messages/${encodeURIComponent(id)}`

function filesOf(message: MailboxMessage): string {
  const files = message.attachments.map(
    ({ filename, size }, index) =>
      `<li><a class="button" download href="${pathOf(message)}/attachments/${index}">${escapeHtml(filename)} <small class="quiet">${sizeInWords(size)}</small></a></li>`,
  )
  return files.length === 0 ? '' : `<ul class="files" aria-label="Attachments">${files.join('')}</ul>`
}

function viewOf({ message, view, source, withRemoteImages }: OpenMessage): string {
  switch (view) {
    case 'html':
      // Neither scripts nor forms nor our origin: links may open windows of their own, and nothing else.
      return `<iframe title="Message" sandbox="allow-popups allow-popups-to-escape-sandbox" src="${pathOf(message)}/html${withRemoteImages ? '?images=remote' : ''}"></iframe>`
    case 'text':
      return `<pre>${escapeHtml(message.text)}</pre>`
    case 'headers':
      return `<dl>${Object.entries(message.headers)
        .map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd><code>${escapeHtml(value)}</code></dd>`)
        .join('')}</dl>`
    case 'source': {
      const shown = (source ?? '').slice(0, MAX_SOURCE)
      const isCut = shown.length < (source ?? '').length
      return `<p class="quiet">${isCut ? 'This is the beginning. ' : ''}<a href="${pathOf(message)}/raw">Open the whole source</a></p>
<pre>${escapeHtml(shown)}</pre>`
    }
  }
}

/**
 * The HTML of a message as a document of its own: links open in a new tab, and images that came with it (RFC 2392, cid:)
 * are its attachments.
 */
export function messageDocument({ html, attachments }: MailboxMessage): string {
  const shown = html
    .replaceAll(/(<a\b[^<>]*?)\starget\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)/gi, '$1')
    .replaceAll(/\bcid:([^"'\s)>]+)/gi, (whole, given: string) => {
      const index = attachments.findIndex(({ contentId }) => contentId === decoded(given))
      return index === -1 ? whole : `attachments/${index}`
    })
  // In front of the document type a browser would not see it any more.
  const [type = ''] = /^\s*<!doctype[^>]*>/i.exec(shown) ?? []
  return `${type}<base target="_blank">${shown.slice(type.length)}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
