import { escapeHtml } from '../../lib/text/html.ts'
import type { Language } from '../../lib/text/languages.ts'
import type { SubscriptionLinks } from './subscription-links.ts'
import { SUBSCRIPTION_TEXTS } from './subscription-texts.ts'

export type Footer = {
  language: Language
  /** The name or address that the message comes from. */
  sender: string
  /** The project's own words, such as its postal address. */
  ownText: string | null
  links: SubscriptionLinks
}

/** Adds a footer that says who sends the message, and lets its reader unsubscribe. */
export function withFooter(html: string, footer: Footer): string {
  const end = endOfBody(html)
  return end === -1
    ? `${html}\n${footerHtml(footer)}`
    : `${html.slice(0, end)}${footerHtml(footer)}\n${html.slice(end)}`
}

/** Returns the footer for the text part. */
export function footerText({ language, sender, ownText, links }: Footer): string {
  const { reason, unsubscribe, manage } = SUBSCRIPTION_TEXTS[language].footer
  const own = ownText === null ? [] : [ownText]
  const linked = [`${unsubscribe} [${links.unsubscribeUrl}]`, `${manage} [${links.manageUrl}]`]
  return [reason(sender), ...own, ...linked].join('\n')
}

/** Each link has a line of its own: in the text part its address stands behind it. */
function footerHtml({ language, sender, ownText, links }: Footer): string {
  const { reason, unsubscribe, manage } = SUBSCRIPTION_TEXTS[language].footer
  const own = ownText === null ? '' : `<br>\n${escapeHtml(ownText).replaceAll('\n', '<br>\n')}`
  const link = (url: string, text: string) =>
    `<br>\n<a href="${escapeHtml(url)}" style="color:#666666">${escapeHtml(text)}</a>`
  return `<p lang="${language}" style="margin-top:32px;font-size:12px;color:#666666;text-align:center">${reason(escapeHtml(sender))}${own}${link(links.unsubscribeUrl, unsubscribe)}${link(links.manageUrl, manage)}</p>`
}

/** Returns where the body ends: at the last end tag that is not inside a comment; -1 when there is none. */
function endOfBody(html: string): number {
  const ends = [...html.matchAll(/<\/body\s*>/gi)].map(({ index }) => index)
  let before = html.length
  for (const end of ends.toReversed()) {
    if (end > before) continue
    const comment = html.lastIndexOf('<!--', end)
    if (comment === -1 || html.slice(comment, end).includes('-->')) return end
    before = comment
  }
  return -1
}
