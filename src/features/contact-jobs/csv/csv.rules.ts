import { isUtf8 } from 'node:buffer'
import { findUnstorable, type JsonObject, type JsonValue } from '../../../lib/json.ts'
import { isEmailAddress, normalizeEmail } from '../../../messages/email-address.rules.ts'
import { MAX_DATA_BYTES, RESERVED_KEYS } from '../../contacts/contact-data.rules.ts'

/*
 * What spreadsheets and other services export as CSV (RFC 4180 and what is made of it): Excel writes UTF-8 with
 * a byte order mark, UTF-16 ("Unicode text") or Windows-1252, with the list separator of its language, and may
 * begin with a line `sep=;`.
 */

const UTF8 = [0xef, 0xbb, 0xbf]
const UTF16_LE = [0xff, 0xfe]
const UTF16_BE = [0xfe, 0xff]

const startsWith = (bytes: Uint8Array, mark: number[]) => mark.every((byte, index) => bytes[index] === byte)

/** The text of a file, without its byte order mark. A file that is not UTF-8 is read as Windows-1252. */
export function decodeCsv(bytes: Uint8Array): string {
  const encoding = encodingOf(bytes)
  return encoding === 'windows-1252' ? windows1252(bytes) : new TextDecoder(encoding).decode(bytes)
}

function encodingOf(bytes: Uint8Array): string {
  if (startsWith(bytes, UTF16_LE)) return 'utf-16le'
  if (startsWith(bytes, UTF16_BE)) return 'utf-16be'
  return startsWith(bytes, UTF8) || isUtf8(bytes) ? 'utf-8' : 'windows-1252'
}

/**
 * The characters of Windows-1252 in place of the control characters 0x80 to 0x9f of Latin-1; blanks are those
 * it keeps.
 */
const C1_OF_1252 = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'

/** By hand, because the TextDecoder of some versions of Node takes it for Latin-1. */
function windows1252(bytes: Uint8Array): string {
  const latin1 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  return latin1.replaceAll(/[\x80-\x9f]/g, (character) => {
    const meant = C1_OF_1252.charAt(character.charCodeAt(0) - 0x80)
    return meant === ' ' ? character : meant
  })
}

const DELIMITERS = [',', ';', '\t'] as const
export type Delimiter = (typeof DELIMITERS)[number]

/** Characters of the text that are searched for the separator of its columns. */
const LONGEST_HEADER = 256 * 1024

/** The text from its header on, and the separator of its columns. */
export function readDialect(text: string): { body: string; delimiter: Delimiter } {
  const told = /^sep=([,;\t])(?:\r\n|\r|\n)/i.exec(text)
  const delimiter = DELIMITERS.find((one) => one === told?.[1])
  if (told && delimiter) return { body: text.slice(told[0].length), delimiter }
  // Text in quotes separates no columns, and does not end the line.
  const bare = text.slice(0, LONGEST_HEADER).replaceAll(/"[^"]*"/g, '')
  const [header = ''] = /^\s*[^\r\n]*/.exec(bare) ?? []
  const counts = DELIMITERS.map((one) => header.split(one).length)
  return { body: text, delimiter: DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',' }
}

/** Names of the column in other services, the clearest first. */
const EMAIL_COLUMNS = ['email', 'e-mail', 'email address', 'e-mail address', 'email_address', 'mail']
const SUBSCRIBED_COLUMN = 'subscribed'
const MAX_COLUMNS = 500
const MAX_COLUMN_NAME = 255

/** Where in a record what stands; `data` has the other columns that have a name, and none that is reserved. */
export type Columns = { email: number; subscribed: number | null; data: { index: number; key: string }[] }

/** `data.plan` is the field plan, as filters name it. */
const keyOfColumn = (name: string): string => (/^data\../.test(name) ? name.slice('data.'.length) : name)

/** Finds the columns by the header; a text explains its error. */
export function readHeader(header: string[]): Columns | string {
  const names = header.map((name) => name.trim())
  const lower = names.map((name) => name.toLowerCase())
  const email = EMAIL_COLUMNS.map((name) => lower.indexOf(name)).find((index) => index >= 0)
  if (email === undefined) return 'The first row must name the columns, and one of them must be "email".'
  if (names.length > MAX_COLUMNS) return `There may be at most ${MAX_COLUMNS} columns.`
  const keys = names.map(keyOfColumn)
  const named = keys.filter((name) => name !== '')
  if (findUnstorable(named)) return 'The name of a column has characters that cannot be stored.'
  const long = named.find((name) => name.length > MAX_COLUMN_NAME)
  if (long) return `The name of a column may have at most ${MAX_COLUMN_NAME} characters.`
  const twice = named.find((name, index) => named.indexOf(name) !== index)
  if (twice) return `There are two columns "${twice}".`
  const found = lower.indexOf(SUBSCRIBED_COLUMN)
  const subscribed = found === -1 ? null : found
  const data = keys
    .map((key, index) => ({ key, index }))
    .filter(
      ({ key, index }) => key !== '' && index !== email && index !== subscribed && !RESERVED_KEYS.has(key),
    )
  return { email, subscribed, data }
}

export type CellType = 'text' | 'number' | 'boolean'

/** Canonical numbers of at most 15 digits, which a double holds exactly; others (007, +49…) are names or codes. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/
const MAX_DIGITS = 15
const BOOLEAN = /^(?:true|false)$/i

function typeOfCell(cell: string): CellType {
  if (NUMBER.test(cell) && cell.replaceAll(/\D/g, '').length <= MAX_DIGITS) return 'number'
  return BOOLEAN.test(cell) ? 'boolean' : 'text'
}

/**
 * The type of a column with one more cell. A column is numbers or booleans only when all of its cells are: one ZIP
 * code 01234 makes all of them text.
 */
export function typeWith(before: CellType | null, cell: string): CellType | null {
  if (cell === '' || before === 'text') return before
  const type = typeOfCell(cell)
  return before === null || before === type ? type : 'text'
}

/** The value of a cell in a column of that type; formulas are text, too. */
export function cellValue(cell: string, type: CellType): JsonValue {
  if (cell === '' || type === 'text') return cell
  return type === 'number' ? Number(cell) : cell.toLowerCase() === 'true'
}

const YES = new Set(['true', '1', 'yes', 'y', 'subscribed'])
const NO = new Set(['false', '0', 'no', 'n', 'unsubscribed'])

export type ImportRow = { email: string; subscribed: boolean | null; set: JsonObject }

/**
 * One record as what it does to a contact; a text says why it cannot. `types` are those of the columns of data, text
 * where there is none.
 */
export function readRecord(
  record: string[],
  columns: Columns,
  types: readonly CellType[],
): ImportRow | string {
  const cell = (index: number) => (record[index] ?? '').trim()
  const email = normalizeEmail(cell(columns.email))
  if (email === '') return 'The email is missing.'
  if (!isEmailAddress(email)) return 'The email is not an email address.'
  const word = columns.subscribed === null ? '' : cell(columns.subscribed).toLowerCase()
  if (word !== '' && !YES.has(word) && !NO.has(word))
    return 'The value of "subscribed" must be true or false.'
  const entries: [string, JsonValue][] = []
  for (const [at, { index, key }] of columns.data.entries()) {
    const value = cellValue(cell(index), types[at] ?? 'text')
    if (findUnstorable(value)) return `The value of "${key}" has characters that cannot be stored.`
    if (value !== '') entries.push([key, value])
  }
  // Defines own properties, so that a column such as "__proto__" is one like any other.
  const set = Object.fromEntries(entries)
  if (Buffer.byteLength(JSON.stringify(set)) > MAX_DATA_BYTES) return TOO_LARGE
  return { email, subscribed: word === '' ? null : YES.has(word), set }
}

export const TOO_LARGE = `The data of a contact may take at most ${MAX_DATA_BYTES} bytes.`
