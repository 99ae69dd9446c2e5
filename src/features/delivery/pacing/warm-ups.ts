import type { Services } from '../../../ctx.ts'
import { PRIORITIES, type Priority } from '../../../queue/priorities.ts'
import type { DueEmail } from '../delivery.sql.ts'
import { allowedBefore, DAY_MS, turnOf } from './warm-up.rules.ts'
import { giveWarmUpPermitBack, takeWarmUpPermits, type WarmUpDay } from './warm-up.sql.ts'

const MAX_ENTRIES = 10_000
/** Mail waits so many milliseconds when the database does not say whether it may leave. */
const UNKNOWN_MS = 5_000

/** That a message is counted for a day, "2030-05-01"; null when the warm-up has just ended. */
export type Permit = { day: string | null }
/** Why a message waits, and for how many milliseconds. */
export type HeldBack = { reason: string | null; waitMs: number }

type Asking = { isHeld: boolean; resolve: (answer: Permit | HeldBack) => void }

type FullDay = Pick<WarmUpDay, 'text' | 'limits' | 'index'> & { until: number }

type WarmUp = {
  projectId: string
  domain: string
  /** Messages that wait for the next statement. */
  asking: Asking[]
  isAsked: boolean
  /** Set on a day that has no room left. */
  full: FullDay | null
  /** The place in the line of the schedule behind the last message that was put off. */
  tail: number
}

/**
 * Keeps mail of new sender domains within the day of their warm-up, exactly and across processes: each message is counted in
 * the row of the day before it leaves. Messages that ask at the same time share a statement, and no process holds any in
 * advance. Transactional mail is counted and never waits. Once a day is full, its mail is put off, without a statement, to the
 * day on which the schedule has room for it, as far as this process knows of others that wait.
 */
export class WarmUps {
  readonly #services: Services
  readonly #now: () => number
  readonly #warmUps = new Map<string, WarmUp>()

  /** `now` returns milliseconds. */
  constructor(services: Services, now: () => number) {
    this.#services = services
    this.#now = now
  }

  /** Why the message waits; null when it may leave, as far as this process knows. */
  heldBack({ dkimDomain, warmUp: schedule }: DueEmail, priority: Priority): HeldBack | null {
    if (schedule === null || priority === PRIORITIES.transactional) return null
    const warmUp = this.#warmUps.get(dkimDomain ?? '')
    // A schedule that was changed is asked for anew.
    if (!warmUp?.full || warmUp.full.text !== schedule || warmUp.full.until <= this.#now()) return null
    return this.#putOff(warmUp, warmUp.full)
  }

  /** Counts a message that is about to leave, or says why it waits; null when its sender has no warm-up. */
  async take(
    { projectId, dkimDomain: domain, warmUp: schedule }: DueEmail,
    priority: Priority,
  ): Promise<Permit | HeldBack | null> {
    if (schedule === null || domain === null) return null
    const warmUp = this.#warmUpOf(projectId, domain)
    return new Promise((resolve) => {
      warmUp.asking.push({ isHeld: priority !== PRIORITIES.transactional, resolve })
      // #askAll catches everything itself.
      if (!warmUp.isAsked) void this.#askAll(warmUp)
    })
  }

  /** The message has not left after all. */
  async giveBack({ projectId, dkimDomain: domain }: DueEmail, permit: Permit | null): Promise<void> {
    if (!permit?.day || domain === null) return
    const { database, log } = this.#services
    await database
      .delivery(giveWarmUpPermitBack, { projectId, domain, day: permit.day })
      .catch((error: unknown) =>
        log.warn({ err: error, domain }, 'a message that waits counts as sent today'),
      )
  }

  async #askAll(warmUp: WarmUp): Promise<void> {
    warmUp.isAsked = true
    while (warmUp.asking.length > 0) await this.#ask(warmUp, warmUp.asking.splice(0))
    warmUp.isAsked = false
  }

  async #ask(warmUp: WarmUp, asking: Asking[]): Promise<void> {
    const { projectId, domain } = warmUp
    const wanted = asking.filter(({ isHeld }) => isHeld).length
    const params = { projectId, domain, wanted, unheld: asking.length - wanted }
    const clockShift = this.#services.clockShift()
    try {
      const [today] = await this.#services.database.delivery(takeWarmUpPermits, { ...params, clockShift })
      const full = today && today.granted < wanted ? this.#note(warmUp, today) : null
      let left = today?.granted ?? wanted
      for (const { isHeld, resolve } of asking) {
        if (isHeld) left -= 1
        resolve(full && isHeld && left < 0 ? this.#putOff(warmUp, full) : { day: today?.day ?? null })
      }
    } catch (error) {
      this.#services.log.warn({ err: error, domain }, 'mail of a warm-up could not be counted')
      const unknown = { reason: null, waitMs: UNKNOWN_MS }
      for (const { isHeld, resolve } of asking) resolve(isHeld ? unknown : { day: null })
    }
  }

  #note(warmUp: WarmUp, { text, limits, index, leftMs }: WarmUpDay): FullDay {
    // The line goes on from day to day, and begins anew with another schedule.
    const isSame = warmUp.full?.text === text
    warmUp.tail = Math.max(isSame ? warmUp.tail : 0, allowedBefore(limits, index + 1))
    warmUp.full = { text, limits, index, until: this.#now() + leftMs }
    return warmUp.full
  }

  #putOff(warmUp: WarmUp, full: FullDay): HeldBack {
    const { limits, index, until } = full
    const tomorrow = (index + 1) * DAY_MS
    const waitMs = until - this.#now() + turnOf(limits, warmUp.tail) - tomorrow
    warmUp.tail += 1
    const at = new Date(this.#services.now().getTime() + waitMs).toISOString()
    const reason = `The warm-up of ${warmUp.domain} allows ${limits[index]} messages today, and they have left; this one waits until ${at}.`
    return { reason, waitMs }
  }

  #warmUpOf(projectId: string, domain: string): WarmUp {
    const known = this.#warmUps.get(domain)
    if (known?.projectId === projectId) return known
    const warmUp: WarmUp = { projectId, domain, asking: [], isAsked: false, full: null, tail: 0 }
    const [oldest] = this.#warmUps.keys()
    // Who asks goes on with what was forgotten.
    if (this.#warmUps.size >= MAX_ENTRIES && oldest !== undefined) this.#warmUps.delete(oldest)
    this.#warmUps.set(domain, warmUp)
    return warmUp
  }
}
