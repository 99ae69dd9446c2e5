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
 * of the columns, and the last cells of each address that occurs more than once.
 */
export const surveyShape = z.object({
  types: z.array(z.enum(['text', 'number', 'boolean'])),
  lastCells: z.record(z.string(), z.array(z.string())),
})

export type Survey = z.output<typeof surveyShape>

/** The survey of a file, how many rows it has, and the place after the first `done` of them. */
export async function surveyRows(
  csv: string,
  columns: Columns,
  below: Place,
  done: number,
): Promise<{ survey: Survey; total: number; place: Place }> {
  const [seen, repeated] = [new Set<string>(), new Set<string>()]
  const types: (CellType | null)[] = columns.data.map(() => null)
  let [total, place] = [0, below]
  for await (const records of rowsFrom(csv, below)) {
    for (const { cells, end } of records) {
      total += 1
      if (total === done) place = end
      const email = normalizeEmail(cells[columns.email] ?? '')
      if (seen.has(email)) repeated.add(email)
      else seen.add(email)
      for (const [at, { index }] of columns.data.entries()) {
        types[at] = typeWith(types[at] ?? null, (cells[index] ?? '').trim())
      }
    }
  }
  const survey = { types: types.map((type) => type ?? 'text'), lastCells: {} }
  if (repeated.size === 0) return { survey, total, place }
  return { survey: { ...survey, lastCells: await lastCellsOf(csv, columns, below, repeated) }, total, place }
}

/** Keeps only cells that the import reads: others may have characters that cannot be stored. */
async function lastCellsOf(
  csv: string,
  columns: Columns,
  below: Place,
  repeated: Set<string>,
): Promise<Survey['lastCells']> {
  const read = [columns.email, ...(columns.subscribed === null ? [] : [columns.subscribed])]
  const indexes = [...read, ...columns.data.map(({ index }) => index)]
  const lastCells = new Map<string, string[]>()
  for await (const records of rowsFrom(csv, below)) {
    for (const { cells, broken } of records) {
      const email = normalizeEmail(cells[columns.email] ?? '')
      if (broken || !repeated.has(email) || typeof readRecord(cells, columns, []) === 'string') continue
      const last = lastCells.get(email) ?? Array.from({ length: Math.max(...indexes) + 1 }, () => '')
      for (const index of indexes) if ((cells[index] ?? '').trim() !== '') last[index] = cells[index] ?? ''
      lastCells.set(email, last)
    }
  }
  return Object.fromEntries(lastCells)
}
