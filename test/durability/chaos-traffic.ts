import { setTimeout as pause } from 'node:timers/promises'
import { sendBody } from '../support/mailing.ts'
import type { Random } from '../support/seeded.ts'
import { type Answer, type CallOptions, type Project, requestTo } from '../support/service.ts'

const CLIENTS = 3
const ROWS = 300
const IMPORT_EVERY_MS = 1_500
/** A request whose process was killed may be under way for its key's other holders: then it stays unknown. */
const GIVE_UP_MS = 6_000
/** How long one client waits between two requests, at most. */
const PACE_MS = 30
export const EVENT = 'chaos'

/** What the clients know: what was accepted, and what may have been. */
export type Ledger = {
  sends: { posted: number; accepted: Map<string, string>; unknown: Set<string> }
  tracks: { posted: number; accepted: Map<number, string>; unknown: Set<number> }
  imports: { posted: number; accepted: Map<number, string>; unknown: Set<number> }
  /** Answers that nobody may get for a right request, whatever was killed. */
  wrong: string[]
}

export const newLedger = (): Ledger => ({
  sends: { posted: 0, accepted: new Map(), unknown: new Set() },
  tracks: { posted: 0, accepted: new Map(), unknown: new Set() },
  imports: { posted: 0, accepted: new Map(), unknown: new Set() },
  wrong: [],
})

export type Traffic = {
  project: Project
  ledger: Ledger
  random: Random
  /** The address of a process; perhaps one that is dead. */
  url: () => string
  stopped: AbortSignal
}

/** Sends, tracks and imports until `stopped`. */
export const runTraffic = (traffic: Traffic): Promise<unknown> =>
  Promise.all([
    ...Array.from({ length: CLIENTS }, () => repeatedly(traffic, PACE_MS, sendOne)),
    ...Array.from({ length: CLIENTS }, () => repeatedly(traffic, PACE_MS, trackOne)),
    repeatedly(traffic, IMPORT_EVERY_MS, importOne),
  ])

async function repeatedly(traffic: Traffic, paceMs: number, one: (traffic: Traffic) => Promise<void>) {
  while (!traffic.stopped.aborted) {
    await one(traffic)
    await pause(traffic.random.between(0, paceMs))
  }
}

async function sendOne(traffic: Traffic): Promise<void> {
  const { project, ledger } = traffic
  ledger.sends.posted += 1
  const to = `r${ledger.sends.posted}@receiver.example`
  const body = sendBody(project, { to })
  const headers = { 'idempotency-key': `send ${to}`, 'idempotency-replay': 'true' }
  const answer = await insist(traffic, '/v1/send', { body, headers })
  if (answer) ledger.sends.accepted.set(to, answer.body.data.emails[0].email)
  else ledger.sends.unknown.add(to)
}

async function trackOne(traffic: Traffic): Promise<void> {
  const { project, ledger } = traffic
  const { tracks } = ledger
  tracks.posted += 1
  const number = tracks.posted
  const body = { email: `p${number % 50}@example.org`, event: EVENT, data: { number } }
  const headers = { 'idempotency-key': `track ${number}`, 'idempotency-replay': 'true' }
  const answer = await insist(traffic, '/v1/track', { key: project.public, body, headers })
  if (answer) tracks.accepted.set(number, answer.body.data.event)
  else tracks.unknown.add(number)
}

/** The addresses of an import. */
export const rowsOf = (number: number): string[] =>
  Array.from({ length: ROWS }, (_, row) => `i${number}-${row}@import.example`)

async function importOne(traffic: Traffic): Promise<void> {
  const { imports } = traffic.ledger
  imports.posted += 1
  const number = imports.posted
  const body = new FormData()
  body.set('file', new Blob([`email\n${rowsOf(number).join('\n')}\n`], { type: 'text/csv' }), 'people.csv')
  // It has no key: one that was not answered is not posted again.
  const answer = await insist(traffic, '/contacts/import', { body }, 0)
  if (answer) imports.accepted.set(number, answer.body.jobId)
  else imports.unknown.add(number)
}

/** Posts until there is an answer of 2xx; null when it stays unknown what has become of the request. */
async function insist(
  { url, project, ledger }: Traffic,
  path: string,
  options: CallOptions,
  giveUpMs = GIVE_UP_MS,
): Promise<Answer | null> {
  const deadline = Date.now() + giveUpMs
  for (;;) {
    try {
      const answer = await requestTo(`${url()}${path}`, 'POST', { key: project.secret, ...options })
      if (answer.status < 300) return answer
      // 409: the key is held by a request whose process is dead, or was answered with 503.
      if (answer.status !== 409 && answer.status !== 503) ledger.wrong.push(`${path} ${answer.text}`)
    } catch (error) {
      if (isRefusedConnection(error)) {
        await pause(20)
        continue
      }
    }
    if (Date.now() > deadline) return null
    await pause(100)
  }
}

/** Nobody listens, so nothing has been posted. */
const isRefusedConnection = (error: unknown): boolean =>
  error instanceof Error &&
  error.cause instanceof Error &&
  'code' in error.cause &&
  error.cause.code === 'ECONNREFUSED'
