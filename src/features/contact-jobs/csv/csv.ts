import { finished } from 'node:stream/promises'
import { setImmediate as turn } from 'node:timers/promises'
import { type CastingContext, CsvError, type Parser, parse } from 'csv-parse'
import { type Delimiter, readDialect } from './csv.rules.ts'

/** Bytes parsed at a time, so that other work gets its turn in between: of a cell each they take some milliseconds. */
const SLICE_BYTES = 8 * 1024
const MAX_RECORD_BYTES = 1024 * 1024

/** A place between two records: bytes of the text (as UTF-8, from the header on) and rows of a spreadsheet before it. */
export type Place = { offset: number; row: number }

export const START: Place = { offset: 0, row: 0 }

/** A row of the file as a spreadsheet numbers it, the header being row 1. */
export type CsvRecord = {
  row: number
  cells: string[]
  /** The place after it. */
  end: Place
  /** Why the file cannot be read from this row on. */
  broken?: string
}

/** A file from some place on cannot be read; `row` is where. */
export class CsvBroken extends Error {
  readonly row: number

  constructor(row: number, message: string) {
    super(message)
    this.row = row
  }
}

/**
 * The records of the text of a CSV file from some place on, some hundred at a time; empty rows are left out. Throws
 * CsvBroken, after the records before, when a quote is not closed or a record is out of all proportion.
 */
export async function* csvRecords(text: string, from: Place = START): AsyncGenerator<CsvRecord[]> {
  const { body, delimiter } = readDialect(text)
  const bytes = Buffer.from(body).subarray(from.offset)
  const found: CsvRecord[] = []
  const failed: unknown[] = []
  const parser = parserOf(bytes, delimiter, (cells, { row, offset }) => {
    // Spreadsheets export rows that were once in use as separators alone.
    if (cells.every((cell) => cell.trim() === '')) return
    const end = { row: from.row + row, offset: from.offset + offset }
    found.push({ row: end.row, cells, end })
  })
  parser.on('error', (error) => failed.push(error))
  for (let start = 0; start < bytes.length; start += SLICE_BYTES) {
    parser.write(bytes.subarray(start, start + SLICE_BYTES))
    yield found.splice(0)
    if (failed.length > 0) break
    await turn()
  }
  if (failed.length === 0) await ended(parser).catch((error: unknown) => failed.push(error))
  yield found.splice(0)
  const [error] = failed
  if (error instanceof CsvError) throw new CsvBroken(from.row + rowOf(error), messageOf(error))
  if (error) throw error
}

/** Nothing is read from the parser: it hands the records over itself. */
async function ended(parser: Parser): Promise<void> {
  parser.resume()
  parser.end()
  await finished(parser)
}

/** The error tells how many records and empty lines were before it. */
const rowOf = ({ records, empty_lines }: CsvError): number => Number(records) + Number(empty_lines) + 1

const parserOf = (bytes: Buffer, delimiter: Delimiter, take: (cells: string[], end: Place) => void): Parser =>
  parse({
    delimiter,
    on_record: (cells: string[], { records, empty_lines, bytes: offset }) => {
      take(cells, { row: records + empty_lines, offset })
      return null
    },
    // A file may have several kinds: the parser itself takes the first one that it finds for the only one.
    record_delimiter: ['\r\n', '\n', '\r'],
    // A quote opens a cell after blanks, too: a, "b"
    ltrim: true,
    // A quote in the middle of a cell (5" disk) is a character like any other.
    relax_quotes: true,
    // Rows with fewer or more cells than the header: missing ones are empty, others have no name.
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_BYTES,
    // It costs something for each cell.
    ...(BLANK_AFTER_QUOTE.test(bytes.toString('latin1')) && { cast: withoutBlanks(bytes, delimiter) }),
  })

const BLANK_AFTER_QUOTE = /"[ \t]+(?:[,;\t\r\n]|$)/

const [BLANK, TAB, QUOTE] = [0x20, 0x09, 0x22]

/**
 * Takes the quotes from a cell such as `"a" ` with blanks between its closing quote and its end, which the parser
 * leaves as it is. The bytes tell it from one whose text has quotes itself.
 */
const withoutBlanks =
  (bytes: Buffer, delimiter: Delimiter) =>
  (cell: string, { quoting, bytes: end }: CastingContext): string => {
    const isBlank = (byte: number | undefined) => byte === BLANK || (byte === TAB && delimiter !== '\t')
    if (!quoting || !isBlank(bytes[end - 1])) return cell
    let last = end - 1
    while (isBlank(bytes[last])) last -= 1
    const [, text] = /^"([\s\S]*)"[ \t]+$/.exec(cell) ?? []
    if (text === undefined || bytes[last] !== QUOTE) return cell
    const quoted = Buffer.from(text.replaceAll('"', '""'))
    return bytes.subarray(last - quoted.length, last).equals(quoted) ? text : cell
  }

function messageOf({ code }: CsvError): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'A quote is opened here or later and never closed.'
  if (code === 'CSV_MAX_RECORD_SIZE') return 'The row is too long; perhaps a quote is not closed.'
  return 'The row cannot be read as CSV.'
}
