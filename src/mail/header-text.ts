/** Words longer than this cannot be folded into lines of at most 998 characters (RFC 5322). */
const hasLongWord = (text: string) => text.length >= 900 && /[^ ]{900}/.test(text)

/** A reader trims blanks at the ends, decodes what looks encoded, and may take a line of blanks for the end. */
const MISREAD = /^ | $| {20}|=\?|[^\x20-\x7e]/

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]+/g

/**
 * Turns line breaks and other control characters into a blank: the rest can never start a header of its own.
 */
export function oneLine(value: string): string {
  return value.toWellFormed().replace(CONTROLS, ' ')
}

/** The value of an unstructured header, as RFC 2047 words where it could not be read back as it is. */
export function headerText(value: string): string {
  const text = oneLine(value)
  return MISREAD.test(text) || hasLongWord(text) ? encodedWords(text) : text
}

/** A display name as a phrase (RFC 5322, 3.2.5): bare, in quotation marks, or as RFC 2047 words. */
export function phrase(name: string): string {
  if (/^[\w ]*$/.test(name)) return name
  return MISREAD.test(name) ? encodedWords(name) : `"${name.replace(/["\\]/g, '\\$&')}"`
}

/**
 * `=?UTF-8?Q?` and `?=` around 40 characters are 52, so that a word fits into a line behind the name of its
 * header.
 */
const LONGEST_ENCODED = 40

/** The bytes that stand for themselves in a Q word, also inside a phrase (RFC 2047, 5, rule 3). */
const READABLE = /[a-z0-9!*+/-]/i

const hex = (byte: number) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`
const quoted = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte)
  return character === ' ' ? '_' : READABLE.test(character) ? character : hex(byte)
})

const ENCODINGS = {
  Q: (text: string) => Array.from(Buffer.from(text), (byte) => quoted[byte]).join(''),
  B: (text: string) => Buffer.from(text).toString('base64'),
}

/**
 * RFC 2047 words, each of which can be read alone. They are cut between the words of the text where possible,
 * else between the characters that a reader sees: some programs show a blank where they are joined.
 */
function encodedWords(text: string): string {
  const plain = text.match(/[a-z0-9 ]/gi)?.length ?? 0
  const encoding = plain * 2 > text.length ? 'Q' : 'B'
  const encode = ENCODINGS[encoding]
  const parts: string[] = []
  let encoded = ''
  let part = ''
  for (const piece of pieces(text, (candidate) => encode(candidate).length <= LONGEST_ENCODED)) {
    const longer = encode(part + piece)
    if (part !== '' && longer.length > LONGEST_ENCODED) {
      parts.push(encoded)
      part = piece
      encoded = encode(piece)
    } else {
      part += piece
      encoded = longer
    }
  }
  parts.push(encoded)
  return parts.map((content) => `=?UTF-8?${encoding}?${content}?=`).join(' ')
}

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** The text in pieces that each fit: words with their blanks, characters as a reader sees them, code points. */
function* pieces(text: string, fits: (piece: string) => boolean): Generator<string> {
  for (const word of text.match(/[^ ]* ?/g) ?? []) {
    if (fits(word)) yield word
    else
      for (const { segment } of GRAPHEMES.segment(word)) {
        if (fits(segment)) yield segment
        else yield* segment
      }
  }
}
