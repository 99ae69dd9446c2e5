import type { SubscriptionTexts } from '../features/subscriptions/subscription-texts.ts'
import { escapeHtml } from '../lib/text/html.ts'
import type { Language } from '../lib/text/languages.ts'
import { htmlPage } from './page.ts'

export type SubscriptionPage = {
  language: Language
  texts: SubscriptionTexts
  /** The name that the reader knows the sender by, and the address of the mail with the link, when it is known. */
  sender: { name: string; address: string | null }
  email: string
  subscribed: boolean
  /** When that last changed; null when it has been so from the beginning. */
  since: Date | null
  /** Where the button leads. */
  action: string
  top: string
}

/** Says who writes to whom, and lets the reader change whether they do. */
export function subscriptionPage(page: SubscriptionPage): string {
  const { language, texts, sender, email, subscribed, since, action, top } = page
  const address = sender.address === null ? '' : ` <span class="quiet">(${escapeHtml(sender.address)})</span>`
  const name = `<strong>${escapeHtml(sender.name)}</strong>${address}`
  const state = subscribed ? texts.subscribed : texts.unsubscribed
  const statement = state.statement(name, `<strong>${escapeHtml(email)}</strong>`)
  return htmlPage({
    title: `${state.title} · ${sender.name}`,
    language,
    top,
    body: `<main class="sheet">
<h1>${escapeHtml(state.heading)}</h1>
<p>${statement}</p>
${since ? `<p>${escapeHtml(state.since(dateInWords(since, language)))}</p>` : ''}
<p class="quiet">${escapeHtml(state.note)}</p>
<form method="post" action="${escapeHtml(action)}">
<button${subscribed ? ' class="primary"' : ''}>${escapeHtml(state.button)}</button>
</form>
</main>`,
  })
}

/** The day in UTC: where the reader is nobody knows. */
const dateInWords = (date: Date, language: Language): string =>
  new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
    dateStyle: 'long',
    timeZone: 'UTC',
  }).format(date)
