import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { violates } from '../../db/sql.ts'
import { fieldError, fileTooLarge } from '../../errors.ts'
import { newId } from '../../lib/ids.ts'
import { normalizeEmail } from '../../messages/email-address.rules.ts'
import { recordSomeFieldNames } from '../contacts/field-names.ts'
import { MAX_IMPORT_BYTES } from './contact-jobs.input.ts'
import { type ContactJob, createJob } from './contact-jobs.ts'
import { type CellType, type Columns, decodeCsv, readRecord, TOO_LARGE } from './csv/csv.rules.ts'
import { type CsvRecord, type Place, START } from './csv/csv.ts'
import {
  addOutcomes,
  byAddress,
  type FailedRow,
  type Person,
  readResult,
  type ValidRow,
  withFailures,
  withLastWord,
} from './import.rules.ts'
import { importContacts, noteSurvey, pieceOfFile, surveyOfJob } from './import.sql.ts'
import { type Header, headerOf, rowsFrom, type Survey, surveyRows, surveyShape } from './import-rows.ts'
import { advance, JobRefused, type JobRunner } from './work-on-jobs.ts'

/**
 * Accepts a CSV file for import in the background. Errors of the file as a whole are returned at once, errors
 * of rows are in the job's result.
 */
export async function startImport(ctx: Ctx, input: { file: Uint8Array }): Promise<string> {
  if (input.file.byteLength > MAX_IMPORT_BYTES) throw fileTooLarge(MAX_IMPORT_BYTES)
  const header = await headerOf(decodeCsv(input.file))
  if (typeof header === 'string') throw fieldError('file', 'custom', header)
  return createJob(ctx, { type: 'IMPORT', file: new Uint8Array(input.file) })
}

/** Cells of one commit: they are read in one go, in which nothing else has its turn. */
const MAX_CELLS = 10_000

/** Imports the rest of the file, a commit per chunk, as long as there is time. */
export const runImport: JobRunner = async (ctx, job, hasTime) => {
  const csv = await textOf(ctx, job)
  const header = await headerOf(csv)
  if (typeof header === 'string') throw new JobRefused(header)
  const { columns } = header
  const { survey, total, position, place } = await surveyOf(ctx, job, csv, header)
  const run: Run = {
    ...{ job: { ...job, total }, columns, types: survey.types, position },
    laterCells: new Map(Object.entries(survey.laterCells)),
  }
  if (run.position >= total) return 'done'
  const chunk = Math.min(job.stepSize, Math.ceil(MAX_CELLS / (columns.data.length + 1)))
  const records: CsvRecord[] = []
  for await (const more of rowsFrom(csv, place)) {
    records.push(...more)
    while (records.length >= chunk) {
      await importChunk(ctx, run, records.splice(0, chunk))
      if (!hasTime()) return 'more'
    }
  }
  if (records.length > 0) await importChunk(ctx, run, records)
  return 'done'
}

type Surveyed = { survey: Survey; total: number; position: number; place: Place }

/**
 * The survey of the file and how far the import is. Both are read together, since another worker may have
 * gone on meanwhile; the first turn creates the survey.
 */
async function surveyOf(
  ctx: Ctx,
  { projectId, id, position }: ContactJob,
  csv: string,
  { columns, below }: Header,
): Promise<Surveyed> {
  const [row] = await ctx.sql(surveyOfJob, { projectId, id })
  if (row) {
    const { survey, offset, row: before, ...known } = row
    return { ...known, survey: surveyShape.parse(survey), place: { offset, row: before } }
  }
  const found = await surveyRows(csv, columns, below, position)
  const { offset, row: before } = found.place
  await ctx.sql(noteSurvey, {
    projectId,
    id,
    // An older version that works beside this one requires `lastCells`; without any it takes each row for itself.
    survey: JSON.stringify({ ...found.survey, lastCells: {} }),
    total: found.total,
    offset,
    row: before,
  })
  return { ...found, position }
}

/** How far the import is, in memory; the row of the job has the same after every commit. */
type Run = {
  job: ContactJob
  columns: Columns
  types: readonly CellType[]
  /** Those of the survey, without addresses whose values are too large together. */
  laterCells: Map<string, string[]>
  position: number
}

const PIECE_BYTES = 512 * 1024

/** The text of the file, read in pieces: as one value it would take many times its size for a moment. */
async function textOf(ctx: Ctx, { projectId, id }: ContactJob): Promise<string> {
  const pieces: Uint8Array[] = []
  for (let from = 1; ; from += PIECE_BYTES) {
    const [row] = await ctx.sql(pieceOfFile, { projectId, id, from, length: PIECE_BYTES })
    if (!row?.piece) throw new JobRefused('The file is gone.')
    pieces.push(row.piece)
    if (row.piece.byteLength < PIECE_BYTES) return decodeCsv(Buffer.concat(pieces))
  }
}

/** Imports records in one commit with the progress. When the database refuses one as too large, each half apart. */
async function importChunk(ctx: Ctx, run: Run, records: CsvRecord[]): Promise<void> {
  const valid: ValidRow[] = []
  const failed: FailedRow[] = []
  for (const { row, cells, broken } of records) {
    const read = broken ?? readRecord(cells, run.columns, run.types)
    if (typeof read === 'string') failed.push({ row, email: emailIn(cells, run.columns), error: read })
    else valid.push({ row, ...read })
  }
  const unfit = await withoutRoom(ctx, valid)
  for (const { row, email } of unfit) failed.push({ row, email, error: NO_ROOM })
  const taken = valid.filter((row) => !unfit.has(row))
  try {
    await commitChunk(ctx, run, records, taken, failed)
  } catch (error) {
    if (!violates(error, 'contacts_data_size')) throw error
    const [only] = taken
    if (records.length === 1 && only) {
      // The values of a later row may be too large.
      if (run.laterCells.delete(only.email)) return importChunk(ctx, run, records)
      await commitChunk(ctx, run, records, [], [{ row: only.row, email: only.email, error: TOO_LARGE }])
      return
    }
    const half = Math.ceil(records.length / 2)
    await importChunk(ctx, run, records.slice(0, half))
    await importChunk(ctx, run, records.slice(half))
  }
}

const MAX_SHOWN_EMAIL = 320

/** The address in the form that a contact would have, by which it is forgotten with the contact. */
const emailIn = (cells: string[], { email }: Columns): string | null =>
  normalizeEmail(cells[email] ?? '')
    .slice(0, MAX_SHOWN_EMAIL)
    .toWellFormed()
    .replaceAll('\0', '\uFFFD') || null

/** The change that a person's rows come to together with later rows of the file. */
function inTheEnd({ laterCells, columns, types }: Run, person: Person): Person {
  const cells = laterCells.get(person.email)
  const later = cells && readRecord(cells, columns, types)
  // Together they may be too large: then each row stands for itself.
  return typeof later === 'object' ? withLastWord(person, later) : person
}

async function commitChunk(
  ctx: Ctx,
  run: Run,
  records: CsvRecord[],
  valid: ValidRow[],
  failed: FailedRow[],
): Promise<void> {
  const people = byAddress(valid).map((person) => inTheEnd(run, person))
  const position = run.position + records.length
  await advance(ctx, run.job, run.position, async (tx, result) => {
    const outcomes = await upsertAll(tx, people)
    const before = { ...readResult(result), totalRows: run.job.total }
    const next = addOutcomes(withFailures(before, failed), people, outcomes)
    return { position, result: next, lastContact: null, place: records.at(-1)?.end ?? START }
  })
  run.position = position
}

const NO_ROOM = 'The row sets a new field, and the project has as many as its quota of custom fields allows.'

/** Puts the fields that the rows set on record, and returns the rows with fields for which the quota has no room. */
async function withoutRoom(ctx: Ctx, rows: ValidRow[]): Promise<Set<ValidRow>> {
  const set = new Map(rows.flatMap(({ set }) => Object.entries(set)))
  const refused = new Set(await recordSomeFieldNames(ctx, Object.fromEntries(set)))
  if (refused.size === 0) return new Set()
  return new Set(rows.filter((row) => Object.keys(row.set).some((name) => refused.has(name))))
}

/**
 * Returns the outcome of each address. Runs one statement for each state of `subscribed`, which mostly is
 * one.
 */
async function upsertAll(tx: Ctx, people: Person[]): Promise<Map<string, string>> {
  const now = tx.now()
  const outcomes = new Map<string, string>()
  for (const subscribed of [null, true, false]) {
    const rows = people
      .filter((person) => person.subscribed === subscribed)
      .map(({ email, set }) => ({ id: newId(now), email, set }))
    if (rows.length === 0) continue
    const params = { projectId: projectIdOf(tx), rows: JSON.stringify(rows), subscribed, now }
    const written = await tx.sql(importContacts, params)
    wakeFollowers(tx, written)
    for (const { email, outcome } of written) outcomes.set(email, outcome)
  }
  return outcomes
}
