import { escapeHtml } from '../lib/text/html.ts'
import { htmlPage } from './page.ts'

export type LeavingPage = {
  /** Where the link leads: the host as the browser will ask for it, and the whole address. */
  host: string
  address: string
  top: string
}

/** Stands between the reader and an address that nobody vouches for. */
export const leavingPage = ({ host, address, top }: LeavingPage): string =>
  htmlPage({
    title: 'This link was changed',
    top,
    body: `<main class="sheet">
<h1>This link was changed</h1>
<p>It is not the link that was in the email: a part of it is missing, or was replaced. It leads to
<strong>${escapeHtml(host)}</strong>:</p>
<p><code>${escapeHtml(address)}</code></p>
<p class="quiet">Go on only if you know this address and expected to get there. Do not enter a password there because
an email asked you to.</p>
<p><a class="button" href="${escapeHtml(address)}" rel="noreferrer nofollow">Go on to ${escapeHtml(host)}</a></p>
</main>`,
  })
