const HTML_ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text, for element content and for attribute values. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (c) => HTML_ENTITIES[c] ?? c)

const ANY_TAG = /<[a-z!/?]/i

export const isMarkup = (text: string): boolean => ANY_TAG.test(text)

/** A text without any tag is shown as it was typed: its line breaks are kept. Any other one is HTML already. */
export const withLineBreaks = (text: string): string =>
  isMarkup(text) ? text : text.replace(/\r\n|\r|\n/g, '<br>\n')

/** Puts markup where the body of a page ends. */
export function beforeEndOfBody(html: string, markup: string): string {
  const end = html.search(/<\/body\s*>/i)
  return end === -1 ? html + markup : html.slice(0, end) + markup + html.slice(end)
}
