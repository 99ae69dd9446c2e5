/** The longest subject, in characters: a line of a message (RFC 5322, 2.1.1). */
export const MAX_SUBJECT = 998
