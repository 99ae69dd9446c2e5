import { escapeHtml } from '../lib/text/html.ts'
import { htmlPage } from './page.ts'

export type SubscriptionPage = {
  /** The name that the reader knows the sender by, and the address of the mail with the link, when it is known. */
  sender: { name: string; address: string | null }
  email: string
  subscribed: boolean
  /** Where the button leads. */
  action: string
  top: string
}

/** Says who writes to whom, and lets the reader change whether they do. */
export function subscriptionPage({ sender, email, subscribed, action, top }: SubscriptionPage): string {
  const address = sender.address === null ? '' : ` <span class="quiet">(${escapeHtml(sender.address)})</span>`
  const name = `<strong>${escapeHtml(sender.name)}</strong>${address}`
  const reader = `<strong>${escapeHtml(email)}</strong>`
  return htmlPage({
    title: `${subscribed ? 'Subscribed' : 'Unsubscribed'} · ${sender.name}`,
    top,
    body: `<main class="sheet">
<h1>${subscribed ? 'You are subscribed' : 'You are unsubscribed'}</h1>
<p>${
      subscribed
        ? `${name} may send emails to ${reader}, such as the one that this link was in.`
        : `${name} sends no more such emails to ${reader}.`
    }</p>
<p class="quiet">${
      subscribed
        ? 'Messages about something that you have asked for, such as a receipt or a new password, do not depend on this.'
        : 'Was this a mistake? You can take it back here.'
    }</p>
<form method="post" action="${escapeHtml(action)}">
<button${subscribed ? ' class="primary"' : ''}>${subscribed ? 'Unsubscribe' : 'Subscribe again'}</button>
</form>
</main>`,
  })
}
