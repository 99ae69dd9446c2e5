import { normalizeEmail } from '../../lib/email-address.ts'
import { type Columns, readHeader, readRecord } from './csv.rules.ts'
import { CsvBroken, type CsvRecord, csvRecords } from './csv.ts'
import { type LastWords, withLaterRow } from './import.rules.ts'

/** The columns of a file; a text says what is wrong with it as a whole. */
export async function columnsOf(csv: string): Promise<Columns | string> {
  try {
    for await (const [header] of csvRecords(csv)) if (header) return readHeader(header.cells)
  } catch (error) {
    if (!(error instanceof CsvBroken)) throw error
    return error.message
  }
  return 'The file is empty.'
}

/** The rows below the header, without the first ones. A broken end of the file is a row with that error. */
export async function* rowsAfter(csv: string, done: number): AsyncGenerator<CsvRecord[]> {
  let toSkip = done + 1
  try {
    for await (const records of csvRecords(csv)) {
      yield records.slice(toSkip)
      toSkip = Math.max(0, toSkip - records.length)
    }
  } catch (error) {
    if (!(error instanceof CsvBroken)) throw error
    if (toSkip === 0) yield [{ row: error.row, cells: [], broken: error.message }]
  }
}

export type Survey = { total: number; lastWords: LastWords }

/** What has to be known of a file before its first row is imported: how many there are, and who is in it twice. */
export async function surveyRows(csv: string, columns: Columns): Promise<Survey> {
  const [seen, repeated] = [new Set<string>(), new Set<string>()]
  let total = 0
  for await (const records of rowsAfter(csv, 0)) {
    total += records.length
    for (const { cells } of records) {
      const email = normalizeEmail(cells[columns.email] ?? '')
      if (seen.has(email)) repeated.add(email)
      else seen.add(email)
    }
  }
  return { total, lastWords: repeated.size === 0 ? new Map() : await lastWordsOf(csv, columns, repeated) }
}

async function lastWordsOf(csv: string, columns: Columns, repeated: Set<string>): Promise<LastWords> {
  const words: LastWords = new Map()
  for await (const records of rowsAfter(csv, 0)) {
    for (const { cells, broken } of records) {
      if (broken || !repeated.has(normalizeEmail(cells[columns.email] ?? ''))) continue
      const row = readRecord(cells, columns)
      if (typeof row !== 'string') words.set(row.email, withLaterRow(words.get(row.email), row))
    }
  }
  return words
}
