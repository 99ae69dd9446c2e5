import { decodeCsv } from '../../../src/features/contact-jobs/csv/csv.rules.ts'
import { CsvBroken, csvRecords } from '../../../src/features/contact-jobs/csv/csv.ts'

const encoder = new TextEncoder()

/** The bytes of a file; a text is UTF-8. */
export const bytesOf = (file: string | Uint8Array): Uint8Array =>
  typeof file === 'string' ? encoder.encode(file) : file

export type Parsed = { rows: number[]; table: string[][]; broken: { row: number; message: string } | null }

/** All records of a file, with the numbers of their rows, and how it ended. */
export async function parsed(file: string | Uint8Array): Promise<Parsed> {
  const result: Parsed = { rows: [], table: [], broken: null }
  try {
    for await (const records of csvRecords(decodeCsv(bytesOf(file)))) {
      result.rows.push(...records.map(({ row }) => row))
      result.table.push(...records.map(({ cells }) => cells))
    }
  } catch (error) {
    if (!(error instanceof CsvBroken)) throw error
    result.broken = { row: error.row, message: error.message }
  }
  return result
}

/** The records of a file that is whole. */
export async function tableOf(file: string | Uint8Array): Promise<string[][]> {
  const { table, broken } = await parsed(file)
  if (broken) throw new Error(`row ${broken.row}: ${broken.message}`)
  return table
}

export type Encoding = 'utf-8' | 'utf-8 with BOM' | 'utf-16le' | 'utf-16be' | 'windows-1252'

const BOM = '\uFEFF'

/** The 27 characters of Windows-1252 that are not at their place in Latin-1. */
const PLACES_OF_1252: Record<string, number> = {
  '€': 0x80,
  '‚': 0x82,
  ƒ: 0x83,
  '„': 0x84,
  '…': 0x85,
  '†': 0x86,
  '‡': 0x87,
  ˆ: 0x88,
  '‰': 0x89,
  Š: 0x8a,
  '‹': 0x8b,
  Œ: 0x8c,
  Ž: 0x8e,
  '‘': 0x91,
  '’': 0x92,
  '“': 0x93,
  '”': 0x94,
  '•': 0x95,
  '–': 0x96,
  '—': 0x97,
  '˜': 0x98,
  '™': 0x99,
  š: 0x9a,
  '›': 0x9b,
  œ: 0x9c,
  ž: 0x9e,
  Ÿ: 0x9f,
}

/** What only Windows-1252 has in one byte, and Latin-1 besides. */
export const WINDOWS_1252 = [...Object.keys(PLACES_OF_1252), ...'äöüßéèñøÅ¡¿£©']

export function encoded(text: string, encoding: Encoding): Uint8Array {
  switch (encoding) {
    case 'utf-8':
      return encoder.encode(text)
    case 'utf-8 with BOM':
      return encoder.encode(`${BOM}${text}`)
    case 'utf-16le':
      return Buffer.from(`${BOM}${text}`, 'utf16le')
    case 'utf-16be':
      return Buffer.from(`${BOM}${text}`, 'utf16le').swap16()
    case 'windows-1252':
      return Uint8Array.from([...text].map((one) => PLACES_OF_1252[one] ?? one.charCodeAt(0)))
  }
}

export type Dialect = {
  delimiter: ',' | ';' | '\t'
  newline: '\n' | '\r\n' | '\r'
  /** Quotes around every cell, not only where they are needed. */
  quoteAll: boolean
  /** Whether a line at the beginning says what the delimiter is. */
  told: boolean
  /** Whether the last line is ended, too. */
  ended: boolean
}

/** Writes a table as RFC 4180 says, with the deviations of a dialect. */
export function written(table: string[][], dialect: Dialect): string {
  const { delimiter, newline, quoteAll, told, ended } = dialect
  const cell = (text: string) =>
    quoteAll || /["\r\n,;\t]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  const lines = table.map((cells) => cells.map(cell).join(delimiter))
  return [...(told ? [`sep=${delimiter}`] : []), ...lines].join(newline) + (ended ? newline : '')
}
