import { escapeHtml } from '../lib/text/html.ts'
import type { Language } from '../lib/text/languages.ts'

export type Page = {
  title: string
  /** English by default. */
  language?: Language
  /** Leads from the page to the top of the service, with a slash at the end: `/`, `../`, or empty. */
  top: string
  /** A style sheet of assets/ besides the one that every page has, and a script; names without their suffix. */
  style?: 'docs' | 'mailbox'
  script?: 'mailbox'
  /** Markup. */
  body: string
}

/** A whole page in the house style. */
export function htmlPage({ title, language = 'en', top, style, script, body }: Page): string {
  const root = escapeHtml(top)
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${root}favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${root}assets/house.css">
${style ? `<link rel="stylesheet" href="${root}assets/${style}.css">` : ''}
</head>
<body>
${body}
${script ? `<script src="${root}assets/${script}.js"></script>` : ''}
</body>
</html>`
}

/** The sign of the service, for pages at its top. */
export const brand = (): string =>
  '<a class="brand" href="./"><img src="favicon.svg" alt="" width="24" height="24">Mailwright</a>'

/** The head of the pages for developers, in development. */
export function masthead(current: 'mailbox'): string {
  const links = [
    ['mailbox', 'Mailbox'],
    ['docs', 'API'],
    ['graphql', 'GraphQL'],
  ].map(([href, text]) => `<a href="${href}"${href === current ? ' aria-current="page"' : ''}>${text}</a>`)
  return `<header class="masthead">${brand()}<nav aria-label="Pages">${links.join(' ')}</nav></header>`
}

export type Failure = { status: number; message: string; suggestion?: string | undefined; requestId: string }

/** In another language; `reference` is what a reader can quote. */
type Spoken = { language: Language; reference: string }

/** What a browser shows in place of the envelope of an error. */
export const errorPage = (
  { status, message, suggestion, requestId }: Failure,
  top: string,
  { language, reference }: Spoken = { language: 'en', reference: `Error ${status} · request ${requestId}` },
): string =>
  htmlPage({
    title: message,
    language,
    top,
    body: `<main class="sheet">
<h1>${escapeHtml(message)}</h1>
${suggestion ? `<p>${escapeHtml(suggestion)}</p>` : ''}
<p class="quiet"><small>${escapeHtml(reference)}</small></p>
</main>`,
  })
