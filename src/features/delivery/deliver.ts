import type { Ctx } from '../../ctx.ts'
import { beforeAbort } from '../../lib/async/before-abort.ts'
import type { Pauses, SingleFile } from '../../lib/async/pauses.ts'
import type { Slots } from '../../lib/async/slots.ts'
import type { Together } from '../../mail/mailer.ts'
import type { Turn } from '../../queue/define-work.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import type { Content, Contents } from './contents.ts'
import { type DueEmail, readDueMail } from './delivery.sql.ts'
import type { HandOver } from './hand-over.ts'
import { GONE, givenBack, type Outcome, stoppedWith, type TakenEmail } from './outcome.ts'
import type { Settler } from './settler.ts'
import type { TakeTurns } from './take-turns.ts'

/** Messages up to this much together are read in one statement. */
const READ_BYTES = 1024 * 1024
/** The same for messages whose bodies are not read; each may bring the data of a contact, 64 KB. */
const READ_COUNT = 25

/** Writing a message of this many bytes takes milliseconds. */
const LARGE_BYTES = 32 * 1024

/** What is kept of a message that waits for others, about. */
const WAITING_BYTES = 4 * 1024

/** Messages that are ready leave without those that are still to be rendered, after so long. */
const GATHER_MS = 1_000

/** A message that was read holds for so long. One that has waited longer for a connection is read once more. */
const FRESH_MS = 1_500

/** Mail whose destination has no connection to spare is tried again after so many milliseconds. */
const BUSY_MS = 500

/** Mail that could not be read is tried again after so many milliseconds. */
const UNREADABLE_MS = 5_000

/** What the slices of a process share. */
export type Parts = {
  /** How the provider takes many messages at once; null when it does not. */
  together: Together | null
  handOver: HandOver
  settler: Settler
  contents: Contents
  large: SingleFile
  /** All slices that render many messages pause together, as if they were one. */
  pauses: Pauses
  connections: Slots
  bytes: Slots
}

/** One slice; `turns` is what its messages were taken with. */
export type Run = { ctx: Ctx; parts: Parts; turns: TakeTurns; turn: Turn }

/** A message that can be handed over. */
type Ready = { taken: TakenEmail; readAt: number } & Content

/** Hands over what was taken; whatever goes wrong, each message is settled. */
export async function deliver(run: Run, emails: TakenEmail[]): Promise<void> {
  const mayGather = ({ priority }: TakenEmail) => run.parts.together && priority === PRIORITIES.campaign
  const gathered = emails.filter(mayGather)
  const others = emails.filter((email) => !mayGather(email))
  await Promise.all([
    ...inReads(others).map((some) => deliverApart(run, some)),
    deliverGathered(run, gathered),
  ])
}

/** Parts that are read in one statement each. */
function inReads(emails: TakenEmail[]): TakenEmail[][] {
  const parts: TakenEmail[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const email of emails) {
    bytes += email.size
    if (bytes > READ_BYTES) {
      parts.push([])
      bytes = email.size
    }
    parts.at(-1)?.push(email)
  }
  return parts
}

/** Hands messages over one by one. */
async function deliverApart(run: Run, emails: TakenEmail[]): Promise<void> {
  const { parts, turn } = run
  const urgent = turn.standing === 'fresh'
  const size = emails.reduce((sum, email) => sum + email.size, 0)
  const giveBytes = await parts.bytes.take(size, turn.projectId, { urgent })
  try {
    const read = await readInTurn(run, emails)
    await Promise.all(
      emails.map(async (taken) => {
        const ready = await prepare(run, taken, read)
        if ('status' in ready) await settle(run, taken, ready)
        else await handOver(run, [ready])
      }),
    )
  } finally {
    giveBytes()
  }
}

/** Hands messages over in as few calls as possible; those that cannot be among others follow one by one. */
async function deliverGathered(run: Run, emails: TakenEmail[]): Promise<void> {
  if (emails.length === 0) return
  const { parts, turn } = run
  const urgent = turn.standing === 'fresh'
  const apart: TakenEmail[] = []
  const giveBytes = await parts.bytes.take(emails.length * WAITING_BYTES, turn.projectId, { urgent })
  try {
    const gathering = new Gathering(run)
    for (let start = 0; start < emails.length; start += READ_COUNT) {
      const some = emails.slice(start, start + READ_COUNT)
      const read = await readInTurn(run, some)
      for (const taken of some) {
        const ready = await prepare(run, taken, read)
        if ('status' in ready) gathering.settle(taken, ready)
        else if (ready.body?.parts) await gathering.add(ready)
        else apart.push(taken)
        await parts.pauses.whenDue()
      }
    }
    await gathering.end()
  } finally {
    giveBytes()
  }
  await Promise.all(inReads(apart).map((some) => deliverApart(run, some)))
}

/** Messages that wait for others of their campaign, until there are enough of them or some time has passed. */
class Gathering {
  readonly #run: Run
  readonly #underWay: Promise<void>[] = []
  #waiting: Ready[] = []
  #bytes = 0
  #since = 0

  constructor(run: Run) {
    this.#run = run
  }

  settle(taken: TakenEmail, outcome: Outcome): void {
    this.#underWay.push(settle(this.#run, taken, outcome))
  }

  async add(ready: Ready): Promise<void> {
    if (this.#waiting.length === 0) this.#since = performance.now()
    this.#waiting.push(ready)
    const { html, text } = ready.body?.parts ?? {}
    this.#bytes += (html?.length ?? 0) + (text?.length ?? 0)
    const most = this.#run.parts.together?.most ?? 1
    // More than was taken for them has to leave memory first.
    if (this.#bytes > most * WAITING_BYTES) await this.end()
    else if (performance.now() - this.#since > GATHER_MS) this.#leave()
  }

  /** Resolves when all are settled. */
  async end(): Promise<void> {
    this.#leave()
    await Promise.all(this.#underWay.splice(0))
  }

  #leave(): void {
    const waiting = this.#waiting.splice(0)
    this.#bytes = 0
    for (const same of Map.groupBy(waiting, ({ body }) => body?.parts?.html.common).values()) {
      for (const group of Map.groupBy(same, senderOf).values()) {
        this.#underWay.push(handOver(this.#run, group))
      }
    }
  }
}

const senderOf = ({ email }: Ready): string => JSON.stringify([email.from, email.fromName, email.replyTo])

type Due = { rows: Map<string, DueEmail>; at: number }
type Read = Due | 'unreadable' | 'turn ended'

const readInTurn = async (run: Run, emails: TakenEmail[]): Promise<Read> =>
  isHeld(run) ? readAll(run, emails) : 'turn ended'

/** Another worker may have got the turn, or the process stops: then nothing is handed over here. */
const isHeld = ({ turn }: Run): boolean => turn.isHeld() && !turn.signal.aborted

async function readAll({ ctx, turn }: Run, emails: TakenEmail[]): Promise<Due | 'unreadable'> {
  const { delivery, freshMail } = ctx.services.database
  const sql = turn.standing === 'fresh' ? freshMail : delivery
  const params = {
    clockShift: ctx.services.clockShift(),
    projectIds: emails.map(({ projectId }) => projectId),
    ids: emails.map(({ id }) => id),
  }
  const rows = await sql(readDueMail, params).catch((error: unknown) => {
    ctx.log.warn({ err: error }, 'mail could not be read and waits')
    return 'unreadable' as const
  })
  if (rows === 'unreadable') return rows
  return { rows: new Map(rows.map((row) => [row.id, row])), at: performance.now() }
}

async function prepare(run: Run, taken: TakenEmail, read: Read): Promise<Ready | Outcome> {
  const { ctx, parts, turn } = run
  if (read === 'turn ended') return givenBack(null)
  if (read === 'unreadable') return givenBack(null, UNREADABLE_MS)
  const due = read.rows.get(taken.id)
  if (!due) return GONE
  // Mail that is put off costs no rendering and no connection.
  const stopped = stoppedWith(due) ?? parts.handOver.putOff(taken, due)
  if (stopped) return stopped
  // The content comes before the connection: others must not wait for a connection because a rendering takes long.
  const making = beforeAbort(turn.signal, parts.contents.of(ctx, due, taken.size))
  const content = await making.catch((error: unknown) => unprepared(run, [taken], error))
  if (content === null) return givenBack(null)
  return 'status' in content ? content : { ...content, taken, readAt: read.at }
}

function unprepared({ ctx }: Run, emails: TakenEmail[], error: unknown): Outcome {
  const emailIds = emails.map(({ id }) => id)
  ctx.log.error({ err: error, emailIds }, 'mail could not be prepared and waits')
  return givenBack(null, UNREADABLE_MS)
}

type Done = { taken: TakenEmail; outcome: Outcome; handOverMs: number | null }

const notHandedOver = (taken: TakenEmail, outcome: Outcome): Done => ({ taken, outcome, handOverMs: null })

/** One message, or several that may leave together; those that are refused together are tried in smaller parts. */
async function handOver(run: Run, some: Ready[]): Promise<void> {
  const done = await tryToHandOver(run, some).catch((error: unknown): Done[] => {
    const emails = some.map(({ taken }) => taken)
    const outcome = unprepared(run, emails, error)
    return emails.map((taken) => notHandedOver(taken, outcome))
  })
  if (done) {
    await Promise.all(done.map(({ taken, outcome, handOverMs }) => settle(run, taken, outcome, handOverMs)))
    return
  }
  const half = Math.ceil(some.length / 2)
  await Promise.all([handOver(run, some.slice(0, half)), handOver(run, some.slice(half))])
}

/** What has come of it for each, on a connection of the provider; null when they are refused together. */
async function tryToHandOver(run: Run, some: Ready[]): Promise<Done[] | null> {
  const { parts, turn } = run
  // A turn of a backlog may have met mail that cannot wait for the rest of it.
  const isUrgent = some.some(({ taken }) => taken.priority === PRIORITIES.transactional)
  const urgent = turn.standing === 'fresh' || isUrgent
  const only = some.length === 1 ? some[0]?.taken : undefined
  // Nobody holds a connection of the provider while waiting for one of a destination.
  const giveDestination = await parts.handOver.connect(only)
  if (!giveDestination) return some.map(({ taken }) => notHandedOver(taken, givenBack(null, BUSY_MS)))
  const giveConnection = await parts.connections.take(1, turn.projectId, { urgent })
  try {
    if (some.length > 1 || some.some(({ taken }) => taken.size > LARGE_BYTES)) await parts.large.next()
    const current = await refreshed(run, some)
    const leaving = current.filter((one) => 'body' in one)
    const began = performance.now()
    const outcomes = await parts.handOver.deliver(leaving, () => isHeld(run))
    if (!outcomes) return null
    const handOverMs = performance.now() - began
    return [
      ...current.filter((one) => 'outcome' in one),
      ...leaving.map(({ taken, rendered }, index) => {
        const outcome = outcomes[index] ?? givenBack(null)
        return { taken, outcome: { ...outcome, rendered }, handOverMs }
      }),
    ]
  } finally {
    giveConnection()
    giveDestination()
  }
}

/** Returns messages with their content and all else as it is at this moment, or why they are not handed over. */
async function refreshed(run: Run, some: Ready[]): Promise<(Ready | Done)[]> {
  if (!isHeld(run)) return some.map(({ taken }) => notHandedOver(taken, givenBack(null)))
  const isFresh = ({ readAt }: Ready) => performance.now() - readAt < FRESH_MS
  if (some.every(isFresh)) return some
  const emails = some.map(({ taken }) => taken)
  const read = await readAll(run, emails)
  return some.map((ready) => {
    const { taken, email } = ready
    if (read === 'unreadable') return notHandedOver(taken, givenBack(null, UNREADABLE_MS))
    const due = read.rows.get(taken.id)
    const stopped = due ? stoppedWith(due) : GONE
    if (!due || stopped) return notHandedOver(taken, stopped ?? GONE)
    const { subject, headers } = email
    return { ...ready, email: { ...due, subject, headers, data: null }, readAt: read.at }
  })
}

async function settle(run: Run, taken: TakenEmail, outcome: Outcome, handOverMs: number | null = null) {
  run.parts.handOver.ended(taken, handOverMs)
  await run.parts.settler.settle(taken, outcome)
  run.turns.release(handOverMs)
}
