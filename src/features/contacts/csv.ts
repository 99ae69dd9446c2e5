import { finished } from 'node:stream/promises'
import { setImmediate as turn } from 'node:timers/promises'
import { CsvError, type Parser, parse } from 'csv-parse'
import { type Delimiter, readDialect } from './csv.rules.ts'

/** So much is parsed at a time, so that other work gets its turn in between. */
const SLICE_CHARACTERS = 32 * 1024
const MAX_RECORD_CHARACTERS = 1024 * 1024

/** A row of the file as a spreadsheet numbers it, the header being row 1. */
export type CsvRecord = {
  row: number
  cells: string[]
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
 * The records of the text of a CSV file, some hundred at a time; empty rows are left out. Throws CsvBroken, after the records
 * before, when a quote is not closed or a record is out of all proportion.
 */
export async function* csvRecords(text: string): AsyncGenerator<CsvRecord[]> {
  const { body, delimiter } = readDialect(text)
  const found: CsvRecord[] = []
  const failed: unknown[] = []
  const parser = parserOf(delimiter, (record) => found.push(record))
  parser.on('error', (error) => failed.push(error))
  for (const slice of slices(body)) {
    parser.write(slice)
    yield found.splice(0)
    if (failed.length > 0) break
    await turn()
  }
  if (failed.length === 0) await ended(parser).catch((error: unknown) => failed.push(error))
  yield found.splice(0)
  const [error] = failed
  if (error instanceof CsvError) throw new CsvBroken(rowOf(error), messageOf(error))
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

function* slices(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const wanted = start + SLICE_CHARACTERS
    // Both halves of a surrogate pair stay together.
    const end = isHighSurrogate(text.charCodeAt(wanted - 1)) ? wanted + 1 : wanted
    yield text.slice(start, end)
    start = end
  }
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff

const parserOf = (delimiter: Delimiter, take: (record: CsvRecord) => void): Parser =>
  parse({
    delimiter,
    on_record: (cells: string[], { records, empty_lines }) => {
      // Spreadsheets export rows that were once in use as separators alone.
      if (cells.some((cell) => cell.trim() !== '')) take({ row: records + empty_lines, cells })
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
    max_record_size: MAX_RECORD_CHARACTERS,
  })

function messageOf({ code }: CsvError): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'A quote is opened here or later and never closed.'
  if (code === 'CSV_MAX_RECORD_SIZE') return 'The row is too long; perhaps a quote is not closed.'
  return 'The row cannot be read as CSV.'
}
