/** Field names as RFC 5322, 3.6.8 has them: printable ASCII without the colon. Longer ones cannot be folded. */
const fieldName = /^[\x21-\x39\x3b-\x7e]{1,76}$/

const replacing =
  /^(?:bcc|cc|from|to|sender|subject|date|message-id|dkim-signature|mime-version|received|return-path|content-.*)$/i

/** The longest subject, in characters: a line of a message (RFC 5322, 2.1.1). */
export const MAX_SUBJECT = 998

export function isHeaderName(name: string): boolean {
  return fieldName.test(name)
}

/** True for a custom header that would replace the envelope or what the message says about itself. */
export function replacesEnvelope(name: string): boolean {
  return replacing.test(name)
}
