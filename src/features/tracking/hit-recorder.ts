import { SYSTEM } from '../../admission/access.ts'
import { type Ctx, createCtx, type Services } from '../../ctx.ts'
import { within } from '../../lib/async/within.ts'
import { newId } from '../../lib/ids.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { insertHit } from './hits.sql.ts'
import type { TrackedMail } from './tracked-links.ts'

/** Hits of one message that may wait to be counted; an honest one has some. */
const MAX_WAITING = 100
/** Hits that are being written by this process: more wait for a database that is away or overloaded. */
const MAX_UNDER_WAY = 1_000
/** For how long somebody who opens a message or follows a link waits for the database, in milliseconds. */
const WAIT_MS = 800

/** Writes down opens and clicks, as far as that is possible without keeping anybody waiting. */
export class HitRecorder {
  readonly #ctx: Ctx
  readonly #metrics: Metrics
  #underWay = 0

  constructor(services: Services, metrics: Metrics) {
    this.#ctx = createCtx(services, SYSTEM, 'tracking')
    this.#metrics = metrics
  }

  /** `link` is null when the message was opened. Never fails and never takes long; what could not be written is lost. */
  async record(mail: TrackedMail, link: string | null, machine: boolean): Promise<void> {
    const kind = link === null ? 'open' : 'click'
    const count = (outcome: 'stored' | 'refused' | 'lost') =>
      this.#metrics.trackingHits.labels(kind, outcome).inc()
    if (this.#underWay === MAX_UNDER_WAY) return void count('lost')
    this.#underWay += 1
    const id = newId(this.#ctx.now())
    const written = this.#ctx
      .sql(insertHit, { ...mail, id, link, machine, most: MAX_WAITING })
      .then(
        (rows) => count(rows.length > 0 ? 'stored' : 'refused'),
        (error: unknown) => {
          this.#ctx.log.debug({ err: error }, 'an open or click could not be written')
          count('lost')
        },
      )
      .finally(() => {
        this.#underWay -= 1
      })
    await within(WAIT_MS, written)
  }
}
