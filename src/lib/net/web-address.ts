/** With what stands before them, addresses up to this length fit into the 4,000 characters that every mail client takes. */
const MAX_LENGTH = 2_048

/** The http or https address that a text is; null when it is none, or is too long. */
export function webAddress(text: string): URL | null {
  if (text.length > MAX_LENGTH || !/^https?:\/\//i.test(text)) return null
  return URL.parse(text)
}
