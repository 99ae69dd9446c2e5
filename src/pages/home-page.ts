import { escapeHtml } from '../lib/text/html.ts'
import { brand, htmlPage } from './page.ts'

type Place = { href: string; name: string; text: string }

/** What is in development only: pages that read mail or ask questions of the schema. */
const DEVELOPMENT: Place[] = [
  { href: 'mailbox', name: 'Mailbox', text: 'See the mail that was sent here, or where mail goes.' },
  { href: 'graphql', name: 'GraphQL', text: 'Write queries in an editor that knows the schema.' },
]

const ALWAYS: Place[] = [
  {
    href: 'docs',
    name: 'API reference',
    text: 'Read every REST operation with its fields, errors and command.',
  },
  { href: 'openapi.json', name: 'OpenAPI', text: 'Get the same description for machines.' },
  { href: 'health/ready', name: 'Health', text: 'Check database, migrations, queue and mail provider.' },
]

/** What this is, and where to go from here. */
export function homePage({ development, apiUrl }: { development: boolean; apiUrl: string }): string {
  const places = development ? [...DEVELOPMENT, ...ALWAYS] : ALWAYS
  return htmlPage({
    title: 'Mailwright',
    top: '',
    body: `<main class="sheet">
<h1>${brand()}</h1>
<p>This is a self-hosted email service: it sends transactional mail, keeps contacts and segments, and records events.
Its API is at <code>${escapeHtml(apiUrl)}</code>.</p>
<ul class="places">
${places.map(({ href, name, text }) => `<li><a href="${href}"><strong>${name}</strong><span class="quiet">${text}</span></a></li>`).join('\n')}
</ul>
<p class="quiet">The README of the project begins with a first message in five minutes.</p>
</main>`,
  })
}
