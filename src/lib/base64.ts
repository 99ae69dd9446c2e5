/** A group for every four characters would overflow the stack of the regular expression at 5 MB. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * Whether a text is base64 (RFC 4648, 4), complete and without other characters; decoding would skip those.
 */
export const isBase64 = (text: string): boolean => text.length % 4 === 0 && BASE64.test(text)
