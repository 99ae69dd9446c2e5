import { z } from 'zod'
import { normalizeEmail } from '../../messages/email-address.rules.ts'
import { type CellType, type Columns, readHeader, readRecord, typeWith } from './csv/csv.rules.ts'
import { CsvBroken, type CsvRecord, csvRecords, type Place } from './csv/csv.ts'

/** The columns of a file, and the place below its header. */
export type Header = { columns: Columns; below: Place }

/** A text explains the error of the file as a whole. */
export async function headerOf(csv: string): Promise<Header | string> {
  try {
    for await (const [header] of csvRecords(csv)) {
      if (!header) continue
      const columns = readHeader(header.cells)
      return typeof columns === 'string' ? columns : { columns, below: header.end }
    }
  } catch (error) {
    if (!(error instanceof CsvBroken)) throw error
    return error.message
  }
  return 'The file is empty.'
}

/** The rows from some place on. A broken end of the file is a row with that error. */
export async function* rowsFrom(csv: string, place: Place): AsyncGenerator<CsvRecord[]> {
  let end = place
  try {
    for await (const records of csvRecords(csv, place)) {
      end = records.at(-1)?.end ?? end
      yield records
    }
  } catch (error) {
    if (!(error instanceof CsvBroken)) throw error
    yield [{ row: error.row, cells: [], end, broken: error.message }]
  }
}

/**
 * Facts about a file that are needed before its first row is imported, and are kept with the job: the types
 * of the columns, and for each address that occurs more than once the last cells of its rows after the first one.
 */
export const surveyShape = z.object({
  types: z.array(z.enum(['text', 'number', 'boolean'])),
  laterCells: z.record(z.string(), z.array(z.string())).default({}),
})

export type Survey = z.output<typeof surveyShape>

/** The survey of a file, how many rows it has, and the place after the first `done` of them. */
export async function surveyRows(
  csv: string,
  columns: Columns,
  below: Place,
  done: number,
): Promise<{ survey: Survey; total: number; place: Place }> {
  const isRead = readCells(columns)
  const seen = new Set<string>()
  const laterCells = new Map<string, string[]>()
  const types: (CellType | null)[] = columns.data.map(() => null)
  let [total, place] = [0, below]
  for await (const records of rowsFrom(csv, below)) {
    for (const { cells, end } of records) {
      total += 1
      if (total === done) place = end
      for (const [at, { index }] of columns.data.entries()) {
        types[at] = typeWith(types[at] ?? null, (cells[index] ?? '').trim())
      }
      const email = normalizeEmail(cells[columns.email] ?? '')
      if (!seen.has(email)) seen.add(email)
      else if (typeof readRecord(cells, columns, []) !== 'string') {
        laterCells.set(email, withCells(laterCells.get(email) ?? [], cells, isRead))
      }
    }
  }
  const known = types.map((type) => type ?? 'text')
  return { survey: { types: known, laterCells: Object.fromEntries(laterCells) }, total, place }
}

/** Whether the import reads the cell at an index: others may have characters that cannot be stored. */
function readCells({ email, subscribed, data }: Columns): boolean[] {
  const read = new Set([email, subscribed ?? email, ...data.map(({ index }) => index)])
  return Array.from({ length: Math.max(...read) + 1 }, (_, index) => read.has(index))
}

/** The cells of two rows; it has no more of them than the longer row, since a file may have very many short rows. */
const withCells = (before: string[], cells: string[], isRead: boolean[]): string[] =>
  isRead.slice(0, Math.max(before.length, cells.length)).map((read, index) => {
    const cell = cells[index] ?? ''
    return read && cell.trim() !== '' ? cell : (before[index] ?? '')
  })
