import { Slots } from '../../../lib/async/slots.ts'
import type { DestinationLimit } from '../../../lib/net/sending-limits.ts'
import { PRIORITIES } from '../../../queue/priorities.ts'
import type { TakenEmail } from '../outcome.ts'
import { type Addresses, destinationOf, wayOf } from './destination.ts'

/** So much of the rate may leave at once after a time without mail, but always one message. */
const BURST_MS = 1_000
/** The last message that waits follows after so long at most. */
const LONGEST_QUEUE_MS = 60 * 60_000
/** No more are let through than leave in this time and twice that of a hand-over: what is held up must not leave together. */
const UNDER_WAY_MS = 1_500
/** Messages whose turn has come are looked for so often; less often than the sweep of all projects it is left to that. */
const LOOK_MS = 250
const SWEEP_MS = 2_000
/** Mail that is due so long after it was written was put off, or tried, before. */
const NEW_MS = 500
/** More urgent mail has this time to come when its turn is there, before other mail may take that. */
const GRACE_MS = 500
/** A hand-over is assumed to last this long before the first one; the latest one counts this much of the average. */
const USUAL_MS = 50
const WEIGHT = 0.1
/** A message waits for a connection of its destination for so long. */
const CONNECT_MS = 1_000
const MAX_ENTRIES = 10_000

const KINDS = Object.values(PRIORITIES).length

type Destination = {
  connections: number
  intervalMs: number
  /** When the rate would be used up exactly (GCRA). */
  usedUntil: number
  /** By priority, when the turn of the last message comes that was put off. */
  tails: number[]
  /** Messages that were let through and have not ended. */
  underWay: number
  slots: Slots | null
  handOverMs: number
}

type Message = Pick<TakenEmail, 'projectId' | 'priority' | 'dueAt'>

/**
 * Holds the limits of the operator on mail to each destination: messages per second, and connections at a time. Receivers
 * judge by the sender's domain, so each has the limits for itself: nobody's mail holds up others'. A message above the
 * limit is put off to a turn at the end of the queue, so that it is put off about once and costs nothing while it waits;
 * more urgent mail has a queue of its own, which goes first. Each process counts by itself.
 */
export class DestinationLimits {
  readonly #limits: ReadonlyMap<string, DestinationLimit>
  readonly #connects: boolean
  readonly #now: () => number
  readonly #destinations = new Map<string, Destination>()
  readonly #admitted = new WeakMap<Message, Destination>()
  /** Projects of which mail waits: until when, and how far apart its turns are. */
  readonly #waiting = new Map<string, { until: number; apartMs: number }>()

  /**
   * `limits` are by destination; "other" is for each one that is not named. Connections are limited where this process
   * has them: `connects`. `now` returns milliseconds.
   */
  constructor(
    limits: ReadonlyMap<string, DestinationLimit>,
    { connects, now }: { connects: boolean; now: () => number },
  ) {
    this.#limits = limits
    this.#connects = connects
    this.#now = now
  }

  /** Milliseconds for which the message is put off; null when it may leave now, until `ended` is told of it. */
  putOff(message: Message, email: Addresses & { createdAt: Date }): number | null {
    if (this.#limits.size === 0 || this.#admitted.has(message)) return null
    const destination = this.#destinationOf(email)
    if (!destination) return null
    const now = this.#now()
    const { connections, intervalMs, handOverMs, tails } = destination
    const tokenMs = Math.max(0, destination.usedUntil - now + intervalMs - Math.max(BURST_MS, intervalMs))
    const isFull = destination.underWay >= roomOf(destination)
    if (tokenMs === 0 && !isFull && !isBehind(message, email, tails, now)) {
      destination.usedUntil = Math.max(destination.usedUntil, now) + intervalMs
      destination.underWay += 1
      this.#admitted.set(message, destination)
      return null
    }
    const apartMs = isFull ? Math.max(intervalMs, handOverMs / connections) : intervalMs
    const next = tokenMs > 0 ? now + tokenMs : now + apartMs
    const behind = Math.max(...tails.slice(0, message.priority + 1)) + apartMs
    const tail = Math.min(Math.max(next, behind), now + LONGEST_QUEUE_MS)
    tails[message.priority] = tail
    this.#note(message.projectId, tail, apartMs)
    return tail - now
  }

  /** A message has been handed over, or will not be; `handOverMs` is how long that took. */
  ended(message: Message, handOverMs: number | null): void {
    const destination = this.#admitted.get(message)
    if (!destination) return
    this.#admitted.delete(message)
    destination.underWay -= 1
    if (handOverMs !== null) destination.handOverMs += WEIGHT * (handOverMs - destination.handOverMs)
  }

  /**
   * Waits a moment for one of the connections that the destination of the message may have; returns how to give it back, or
   * null when none became free: then the message must not hold up others of its project.
   */
  async connect(message: Message | undefined): Promise<(() => void) | null> {
    const slots = message && this.#admitted.get(message)?.slots
    return slots ? slots.takeWithin(CONNECT_MS, 1, message.projectId) : () => {}
  }

  /** After how many milliseconds to look for mail of the project whose turn has come; null: the sweep finds it. */
  lookAfter(projectId: string): number | null {
    const waiting = this.#waiting.get(projectId)
    if (!waiting) return null
    const isOver = waiting.until + SWEEP_MS < this.#now()
    if (isOver) this.#waiting.delete(projectId)
    return isOver || waiting.apartMs >= SWEEP_MS ? null : Math.max(LOOK_MS, waiting.apartMs)
  }

  #destinationOf(email: Addresses): Destination | null {
    const limit = this.#limits.get(destinationOf(email.toEmail)) ?? this.#limits.get('other')
    if (!limit) return null
    const way = wayOf(email)
    const connections = this.#connects ? limit.connections : null
    const destination = this.#destinations.get(way) ?? {
      connections: connections ?? Number.POSITIVE_INFINITY,
      intervalMs: 1_000 / limit.perSecond,
      usedUntil: Number.NEGATIVE_INFINITY,
      tails: new Array<number>(KINDS).fill(Number.NEGATIVE_INFINITY),
      underWay: 0,
      slots: connections === null ? null : new Slots(connections),
      handOverMs: USUAL_MS,
    }
    // The one that was used the longest ago stands first.
    this.#destinations.delete(way)
    this.#destinations.set(way, destination)
    if (this.#destinations.size > MAX_ENTRIES) this.#forgetOne()
    return destination
  }

  #forgetOne(): void {
    for (const [way, { underWay }] of this.#destinations) {
      if (underWay > 0) continue
      this.#destinations.delete(way)
      return
    }
  }

  #note(projectId: string, tail: number, apartMs: number): void {
    const { until = tail, apartMs: others = apartMs } = this.#waiting.get(projectId) ?? {}
    this.#waiting.set(projectId, { until: Math.max(until, tail), apartMs: Math.min(others, apartMs) })
    const [oldest] = this.#waiting.keys()
    if (this.#waiting.size > MAX_ENTRIES && oldest !== undefined) this.#waiting.delete(oldest)
  }
}

/** How many messages may be under way: on the connections, and in front of them those that are looked for at a time. */
function roomOf({ connections, handOverMs, intervalMs }: Destination): number {
  const byRate = Math.max(1, (UNDER_WAY_MS + 2 * handOverMs) / intervalMs)
  return Math.min(byRate, connections * Math.max(1, LOOK_MS / handOverMs))
}

/** Whether others go first: more urgent ones, and those that came before. Mail that was put off once has had its place. */
function isBehind(
  { priority, dueAt }: Message,
  { createdAt }: { createdAt: Date },
  tails: readonly number[],
  now: number,
): boolean {
  const wasPutOff = dueAt.getTime() - createdAt.getTime() > NEW_MS
  return tails.some((tail, other) =>
    other < priority ? tail + GRACE_MS > now : other === priority && !wasPutOff && tail > now,
  )
}
