import { encodeWord } from 'nodemailer/lib/mime-funcs'

/** Words longer than this cannot be folded into lines of at most 998 characters (RFC 5322). */
const longestWord = /[^ ]{900}/

/** A reader trims blanks at the ends, decodes what looks encoded, and may take a line of blanks for the end. */
const misread = /^ | $| {20}|=\?|[^\x20-\x7e]/

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const controls = /[\x00-\x08\x0a-\x1f\x7f]+/g

/** Line breaks and other control characters become a blank: what follows can never start a header of its own. */
export function oneLine(value: string): string {
  return value.toWellFormed().replace(controls, ' ')
}

/** The value of an unstructured header, as RFC 2047 words where it could not be read back as it is. */
export function headerText(value: string): string {
  const text = oneLine(value)
  if (!misread.test(text) && !longestWord.test(text)) return text
  const readable = text.match(/[a-z0-9 ]/gi)?.length ?? 0
  return encodeWord(text, readable * 2 > text.length ? 'Q' : 'B', 52)
}
