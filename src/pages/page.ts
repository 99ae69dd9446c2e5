import { escapeHtml } from '../lib/text/html.ts'

export type Page = {
  title: string
  /** Leads from the page to the top of the service, with a slash at the end: `/`, `../`, or empty. */
  top: string
  /** A style sheet of assets/ besides the one that every page has, and a script; names without their suffix. */
  style?: 'docs' | 'mailbox'
  script?: 'mailbox'
  /** Markup. */
  body: string
}

/** A whole page in the house style. */
export function htmlPage({ title, top, style, script, body }: Page): string {
  const root = escapeHtml(top)
  return `<!doctype html>
<html lang="en">
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

/** What a browser shows in place of the envelope of an error. */
export const errorPage = ({ status, message, suggestion, requestId }: Failure, top: string): string =>
  htmlPage({
    title: message,
    top,
    body: `<main class="sheet">
<h1>${escapeHtml(message)}</h1>
${suggestion ? `<p>${escapeHtml(suggestion)}</p>` : ''}
<p class="quiet"><small>Error ${status} · request ${escapeHtml(requestId)}</small></p>
</main>`,
  })
