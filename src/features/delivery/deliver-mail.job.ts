import type { Ctx, Services } from '../../ctx.ts'
import { Headroom } from '../../lib/async/headroom.ts'
import { Pauses, SingleFile } from '../../lib/async/pauses.ts'
import { Slots } from '../../lib/async/slots.ts'
import type { Mailer } from '../../mail/mailer.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { defineProjectWork, type ProjectWork, type SliceResult, type Turn } from '../../queue/define-work.ts'
import { PRIORITIES } from '../../queue/priorities.ts'
import { ProviderWatch } from '../provider-troubles/provider-watch.ts'
import { Contents } from './contents.ts'
import { deliver, type Parts } from './deliver.ts'
import { projectsWithDueMail, releaseAbandoned } from './delivery.sql.ts'
import { HandOver } from './hand-over.ts'
import { mailDeliveryWork } from './mail-delivery.ts'
import { Settler } from './settler.ts'
import { TakeTurns } from './take-turns.ts'
import { TextParts } from './text-parts.ts'

export { mailDeliveryWork } from './mail-delivery.ts'

/** Turns per connection: one message that takes long holds up one turn. */
const TURNS_PER_CONNECTION = 2
/** A backlog is handed over in at least so many messages at a time, however busy the process is. */
const LEAST_UNDER_WAY = 4
/** Bodies and files in memory at a time, per process. */
const MAX_BYTES = 64 * 1024 * 1024
/** Turns of campaigns at the same time, per process, where the provider takes many messages in one call. */
const LARGE_TURNS = 4

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
  const { together } = mailer
  const headroom = new Headroom({
    least: Math.min(LEAST_UNDER_WAY, mailer.concurrency),
    most: mailer.concurrency,
  })
  const parts: Parts = {
    together,
    handOver: new HandOver(services, mailer, metrics, watch),
    settler: new Settler(services),
    contents: new Contents(new TextParts(services), together),
    large: new SingleFile(),
    pauses: new Pauses(),
    connections: new Slots(mailer.concurrency, {
      perOwner: mostOf(mailer.concurrency),
      beforeOthers: () => headroom.allowed,
    }),
    bytes: new Slots(MAX_BYTES, { perOwner: mostOf(MAX_BYTES) }),
  }
  const takers: Takers = {
    metrics,
    turns: new TakeTurns(services, mailer.concurrency),
    largeTurns: together && new TakeTurns(services, mailer.concurrency, together.most),
    rooms: new Slots(LARGE_TURNS, { perOwner: LARGE_TURNS - 1 }),
  }
  const work = defineProjectWork({
    kind: mailDeliveryWork,
    concurrency: mailer.concurrency * TURNS_PER_CONNECTION,
    mayRun: () => !watch.isPaused,
    pending: async (ctx) => {
      await release(ctx, takers, null).catch((error: unknown) =>
        ctx.log.warn({ err: error }, 'mail of dead workers was not taken over yet'),
      )
      return ctx.sql(projectsWithDueMail, { clockShift: services.clockShift() })
    },
    slice: (ctx, turn) => slice(ctx, parts, takers, turn),
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

type Takers = {
  metrics: Metrics
  turns: TakeTurns
  /** Takes as many messages of campaigns as the provider takes in one call; null when that is one. */
  largeTurns: TakeTurns | null
  rooms: Slots
}

/** Mail that dead workers had is due again. */
async function release(ctx: Ctx, { metrics }: Takers, projectId: string | null): Promise<void> {
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

async function slice(ctx: Ctx, parts: Parts, takers: Takers, turn: Turn): Promise<SliceResult> {
  if (turn.attempt > 0) await release(ctx, takers, turn.projectId)
  const { turns, largeTurns, rooms } = takers
  if (!largeTurns || turn.standing === 'fresh' || turn.priority !== PRIORITIES.campaign) {
    return takeAndDeliver(ctx, parts, turns, turn)
  }
  const giveRoom = await rooms.take(1, turn.projectId)
  try {
    return await takeAndDeliver(ctx, parts, largeTurns, turn)
  } finally {
    giveRoom()
  }
}

async function takeAndDeliver(ctx: Ctx, parts: Parts, turns: TakeTurns, turn: Turn): Promise<SliceResult> {
  if (!turn.isHeld() || turn.signal.aborted) return 'more'
  const { emails, left, throttledMs } = await turns.take(turn)
  if (left !== null) turn.askForMore(left)
  // A message that takes long must not hold up those whose turn comes meanwhile.
  const soonMs = left === null ? parts.handOver.lookAfter(turn.projectId) : null
  if (soonMs !== null) turn.askAgain(soonMs)
  await deliver({ ctx, parts, turns, turn }, emails)
  if (throttledMs !== null) return { afterMs: throttledMs }
  if (left !== null) return 'more'
  const afterMs = parts.handOver.lookAfter(turn.projectId)
  return afterMs === null ? 'done' : { afterMs }
}
