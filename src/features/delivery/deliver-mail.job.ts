import type { Ctx, Services } from '../../ctx.ts'
import { beforeAbort } from '../../lib/async/before-abort.ts'
import { SingleFile } from '../../lib/async/pauses.ts'
import { Slots } from '../../lib/async/slots.ts'
import type { Mailer } from '../../mail/mailer.ts'
import type { Metrics } from '../../observe/metrics.ts'
import {
  defineProjectWork,
  PRIORITIES,
  type ProjectWork,
  type SliceResult,
  type Turn,
} from '../../queue/define-work.ts'
import { ProviderWatch } from '../provider-troubles/provider-watch.ts'
import { Contents } from './contents.ts'
import { type DueEmail, projectsWithDueMail, readDueMail, releaseAbandoned } from './delivery.sql.ts'
import { HandOver } from './hand-over.ts'
import { mailDeliveryWork } from './mail-delivery.ts'
import { GONE, givenBack, type Outcome, stoppedWith, type TakenEmail } from './outcome.ts'
import { Settler } from './settler.ts'
import { TakeTurns } from './take-turns.ts'
import { TextParts } from './text-parts.ts'

export { mailDeliveryWork } from './mail-delivery.ts'

/** Turns per connection: one message that takes long holds up one turn. */
const TURNS_PER_CONNECTION = 2
/** Bodies and files in memory at a time, per process. */
const MAX_BYTES = 64 * 1024 * 1024
/** Messages up to this much together are read in one statement. */
const READ_BYTES = 1024 * 1024

/** Writing a message of this many bytes takes milliseconds. */
const LARGE_BYTES = 32 * 1024

/** A message that was read holds for so long. One that has waited longer for a connection is read once more. */
const FRESH_MS = 1_500

/** Mail that could not be read is tried again after so many milliseconds. */
const UNREADABLE_MS = 5_000

const CUT_OFF = 'The worker ended while handing this message over; it may arrive twice.'

export type MailDelivery = { work: ProjectWork; start: () => void; stop: () => Promise<void> }

/** Delivery of mail in this process: the project work, and what it shares between slices. */
export function deliverMailJob(
  services: Services,
  mailer: Mailer,
  metrics: Metrics,
  resume: () => void,
): MailDelivery {
  const watch = new ProviderWatch(services, mailer, resume)
  const parts: Parts = {
    handOver: new HandOver(services, mailer, metrics, watch),
    settler: new Settler(services),
    contents: new Contents(new TextParts(services)),
    large: new SingleFile(),
    turns: new TakeTurns(services, mailer.concurrency),
    connections: new Slots(mailer.concurrency, { perOwner: mostOf(mailer.concurrency) }),
    bytes: new Slots(MAX_BYTES, { perOwner: mostOf(MAX_BYTES) }),
    metrics,
  }
  const work = defineProjectWork({
    kind: mailDeliveryWork,
    concurrency: mailer.concurrency * TURNS_PER_CONNECTION,
    mayRun: () => !watch.isPaused,
    pending: async (ctx) => {
      await release(ctx, parts, null).catch((error: unknown) =>
        ctx.log.warn({ err: error }, 'mail of dead workers was not taken over yet'),
      )
      return ctx.sql(projectsWithDueMail, { clockShift: services.clockShift() })
    },
    slice: (ctx, turn) => slice(ctx, parts, turn),
  })
  const start = () => {
    // check() of a mailer never throws.
    void watch.start()
  }
  const stop = async () => {
    watch.stop()
    parts.settler.stop()
    await mailer.close()
  }
  return { work, start, stop }
}

/** A project whose receivers are slow, or whose messages are large, leaves a fifth to the others. */
const mostOf = (all: number): number => Math.ceil(all * 0.8)

type Parts = {
  handOver: HandOver
  settler: Settler
  contents: Contents
  large: SingleFile
  turns: TakeTurns
  connections: Slots
  bytes: Slots
  metrics: Metrics
}

/** Mail that dead workers had is due again. */
async function release(ctx: Ctx, { metrics }: Parts, projectId: string | null): Promise<void> {
  const released = await ctx.sql(releaseAbandoned, {
    projectId,
    queue: mailDeliveryWork.name,
    error: CUT_OFF,
    now: ctx.now(),
    clockShift: ctx.services.clockShift(),
  })
  if (released.length === 0) return
  metrics.uncertainDeliveries.inc(released.length)
  ctx.log.warn({ emails: released.map(({ id }) => id) }, 'mail taken over from a dead worker')
}

async function slice(ctx: Ctx, parts: Parts, turn: Turn): Promise<SliceResult> {
  if (turn.attempt > 0) await release(ctx, parts, turn.projectId)
  if (!turn.isHeld()) return 'more'
  const { emails, left, throttledMs } = await parts.turns.take(turn)
  if (left !== null) turn.askForMore(left)
  await Promise.all(inReads(emails).map((some) => handOverSome(ctx, parts, turn, some)))
  if (throttledMs !== null) return { afterMs: throttledMs }
  return left === null ? 'done' : 'more'
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

/** Hands over messages that were taken; whatever goes wrong, each of them is settled. */
async function handOverSome(ctx: Ctx, parts: Parts, turn: Turn, emails: TakenEmail[]): Promise<void> {
  const urgent = turn.standing === 'fresh'
  const size = emails.reduce((sum, email) => sum + email.size, 0)
  const giveBytes = await parts.bytes.take(size, turn.projectId, { urgent })
  try {
    const read = turn.isHeld() && !turn.signal.aborted ? await readAll(ctx, emails) : 'turn ended'
    await Promise.all(
      emails.map(async (taken) => {
        const { outcome, handOverMs } = await outcomeFor(ctx, parts, turn, taken, read).catch(
          (error: unknown) => {
            ctx.log.error({ err: error, emailId: taken.id }, 'a message could not be prepared and waits')
            return { outcome: givenBack(null, UNREADABLE_MS), handOverMs: null }
          },
        )
        await parts.settler.settle(taken, outcome)
        parts.turns.release(handOverMs)
      }),
    )
  } finally {
    giveBytes()
  }
}

async function readAll(ctx: Ctx, emails: TakenEmail[]) {
  const params = { projectIds: emails.map(({ projectId }) => projectId), ids: emails.map(({ id }) => id) }
  const rows = await ctx.services.database.delivery(readDueMail, params).catch((error: unknown) => {
    ctx.log.warn({ err: error }, 'mail could not be read and waits')
    return 'unreadable' as const
  })
  return rows === 'unreadable' ? rows : new Map(rows.map((row) => [row.id, row]))
}

async function outcomeFor(
  ctx: Ctx,
  { connections, contents, handOver, large }: Parts,
  turn: Turn,
  taken: TakenEmail,
  read: Awaited<ReturnType<typeof readAll>> | 'turn ended',
): Promise<{ outcome: Outcome; handOverMs: number | null }> {
  if (read === 'turn ended') return { outcome: givenBack(null), handOverMs: null }
  if (read === 'unreadable') return { outcome: givenBack(null, UNREADABLE_MS), handOverMs: null }
  const due = read.get(taken.id)
  if (!due) return { outcome: GONE, handOverMs: null }
  const readAt = performance.now()
  const stopped = stoppedWith(due)
  if (stopped) return { outcome: stopped, handOverMs: null }
  // The content comes before the connection: others must not wait for a connection because a rendering takes long.
  const content = await beforeAbort(turn.signal, contents.of(ctx, due, taken.size))
  if (content === null) return { outcome: givenBack(null), handOverMs: null }
  if ('status' in content) return { outcome: content, handOverMs: null }
  const { email, text, rendered } = content
  // A turn of a backlog may have met mail that cannot wait for the rest of it.
  const urgent = turn.standing === 'fresh' || taken.priority === PRIORITIES.transactional
  const giveConnection = await connections.take(1, turn.projectId, { urgent })
  try {
    // Another worker may have got the turn, or the process stops: then the message is not handed over here.
    const isHeld = () => turn.isHeld() && !turn.signal.aborted
    if (taken.size > LARGE_BYTES) await large.next()
    if (!isHeld()) return { outcome: givenBack(null), handOverMs: null }
    const fresh = performance.now() - readAt < FRESH_MS ? email : await readAgain(ctx, taken, email)
    if ('delayMs' in fresh) return { outcome: fresh, handOverMs: null }
    const began = performance.now()
    const outcome = await handOver.deliver(taken, fresh, text, isHeld)
    return { outcome: { ...outcome, rendered }, handOverMs: performance.now() - began }
  } finally {
    giveConnection()
  }
}

/** Returns the message with its content and all else as it is at this moment, or why it is not handed over. */
async function readAgain(ctx: Ctx, taken: TakenEmail, content: DueEmail): Promise<DueEmail | Outcome> {
  const read = await readAll(ctx, [taken])
  if (read === 'unreadable') return givenBack(null, UNREADABLE_MS)
  const due = read.get(taken.id)
  if (!due) return GONE
  const { subject, html, headers } = content
  return stoppedWith(due) ?? { ...due, subject, html, headers }
}
