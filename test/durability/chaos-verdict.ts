import type { Arrival } from '../support/mail-sink.ts'
import { type Body, callerOf, type Project } from '../support/service.ts'
import { EVENT, type Ledger, rowsOf } from './chaos-traffic.ts'

/**
 * What was handed over so shortly before a kill may not have been noted as sent; a busy server reads it a little after.
 */
const IN_FLIGHT_MS = 1_000
const PAGE = 100

export type Evidence = {
  url: string
  project: Project
  ledger: Ledger
  arrivals: readonly Arrival[]
  kills: readonly number[]
}

export type Verdict = { line: string; isGood: boolean }

const listed = (items: Iterable<unknown>): string => [...items].slice(0, 3).join(', ')

const verdict = (line: string, faults: Record<string, unknown[]>): Verdict => {
  const found = Object.entries(faults).filter(([, items]) => items.length > 0)
  const examples = found.map(([what, items]) => `\n    ${items.length} ${what}: ${listed(items)}`)
  return { line: line + examples.join(''), isGood: found.length === 0 }
}

/** What became of what was accepted, as the doors tell it. */
export async function judge(evidence: Evidence): Promise<Verdict[]> {
  const { wrong } = evidence.ledger
  return [
    judgeSends(evidence),
    await judgeTracks(evidence),
    await judgeImports(evidence),
    verdict(`answers  ${wrong.length} of neither 2xx, 409 nor 503`, { 'wrong answers': wrong }),
  ]
}

function judgeSends({ ledger: { sends }, arrivals, kills }: Evidence): Verdict {
  const byRecipient = Map.groupBy(arrivals, ({ to }) => to)
  const lost = [...sends.accepted.keys()].filter((to) => !byRecipient.has(to))
  const repeated = [...byRecipient.values()].filter((copies) => copies.length > 1)
  const isInFlight = ({ at }: Arrival) => kills.some((kill) => Math.abs(kill - at) <= IN_FLIGHT_MS)
  const isExcused = (copies: Arrival[]) =>
    new Set(copies.map(({ messageId }) => messageId)).size === 1 && copies.slice(0, -1).every(isInFlight)
  const doubled = repeated.filter((copies) => !isExcused(copies)).map(([first]) => first?.to)
  const line =
    `sends    ${sends.posted} posted, ${sends.accepted.size} accepted, ${sends.unknown.size} unknown; ` +
    `${byRecipient.size} delivered, ${lost.length} lost, ${doubled.length} doubled, ` +
    `${repeated.length - doubled.length} repeated that were in flight at a kill`
  return verdict(line, { lost, doubled })
}

async function judgeTracks({ url, project, ledger: { tracks } }: Evidence): Promise<Verdict> {
  const recorded = (await everyPage(url, project, `/events?eventName=${EVENT}`)).map(
    ({ data }) => data.number,
  )
  const times = Map.groupBy(recorded, (number) => number)
  const lost = [...tracks.accepted.keys()].filter((number) => !times.has(number))
  const doubled = [...times].filter(([, copies]) => copies.length > 1).map(([number]) => number)
  const usage = await callerOf(url, project).get(`/events/${EVENT}/usage`)
  const miscounted = usage.body.totalCount === recorded.length ? [] : [usage.body.totalCount]
  const line =
    `tracks   ${tracks.posted} posted, ${tracks.accepted.size} accepted, ${tracks.unknown.size} unknown; ` +
    `${recorded.length} recorded, ${lost.length} lost, ${doubled.length} doubled, ${usage.body.totalCount} counted`
  return verdict(line, { lost, doubled, miscounted })
}

async function judgeImports({ url, project, ledger: { imports } }: Evidence): Promise<Verdict> {
  const contacts = await everyPage(url, project, '/contacts?search=import.example')
  const emails = new Set(contacts.map(({ email }) => email))
  const lost = [...imports.accepted.keys()].flatMap(rowsOf).filter((email) => !emails.has(email))
  const unfinished: string[] = []
  const doubled: string[] = []
  let rows = 0
  for (const id of imports.accepted.values()) {
    const { body } = await callerOf(url, project).get(`/contacts/import/${id}`)
    const { created, updated, unchanged, failed, totalRows } = body.result
    rows += created
    if (body.state !== 'completed') unfinished.push(id)
    if (created + updated + unchanged + failed !== totalRows || created !== rowsOf(0).length) doubled.push(id)
  }
  const line =
    `imports  ${imports.posted} posted, ${imports.accepted.size} accepted, ${imports.unknown.size} unknown; ` +
    `${rows} rows done, ${lost.length} lost, ${doubled.length} files with rows counted twice or not at all`
  return verdict(line, { lost, unfinished, doubled: [...doubled, ...twice(contacts)] })
}

const twice = (contacts: Body[]): string[] =>
  [...Map.groupBy(contacts, ({ email }) => email)]
    .filter(([, copies]) => copies.length > 1)
    .map(([email]) => email)

/** All of a list with a cursor. */
async function everyPage(url: string, project: Project, path: string): Promise<Body[]> {
  const found: Body[] = []
  for (let cursor = ''; ; ) {
    const page = await callerOf(url, project).get(`${path}&limit=${PAGE}${cursor}`)
    if (page.status !== 200) throw new Error(page.text)
    found.push(...page.body.data)
    if (!page.body.hasMore) return found
    cursor = `&cursor=${encodeURIComponent(page.body.cursor)}`
  }
}
