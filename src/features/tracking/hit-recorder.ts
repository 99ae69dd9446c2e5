import { SYSTEM } from '../../admission/access.ts'
import { type Ctx, createCtx, type Services } from '../../ctx.ts'
import { within } from '../../lib/async/within.ts'
import { newId } from '../../lib/ids.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { insertHits } from './hits.sql.ts'
import type { TrackedMail } from './tracked-links.ts'

/** Hits of one message that may wait to be counted; an honest one has some. */
const MAX_WAITING = 100
/** Hits that wait to be written by this process: more wait for a database that is away or overloaded. */
const MAX_UNWRITTEN = 1_000
/** Hits that one statement writes. */
const MAX_TOGETHER = 100
/** Statements at a time: one is prepared while the database is busy with the other. */
const STATEMENTS = 2
/** For how long somebody who opens a message or follows a link waits for the database, in milliseconds. */
const WAIT_MS = 800

type Outcome = 'stored' | 'refused' | 'lost'
type Hit = TrackedMail & { id: string; link: string | null; machine: boolean; end: (as: Outcome) => void }

/**
 * Writes down opens and clicks, as far as that is possible without keeping anybody waiting. Those that come while a
 * statement is under way are written together by the next one.
 */
export class HitRecorder {
  readonly #ctx: Ctx
  readonly #metrics: Metrics
  #gathered: Hit[] = []
  #unwritten = 0
  #statements = 0

  constructor(services: Services, metrics: Metrics) {
    this.#ctx = createCtx(services, SYSTEM, 'tracking')
    this.#metrics = metrics
  }

  /** `link` is null when the message was opened. Never fails and never takes long; what could not be written is lost. */
  async record(mail: TrackedMail, link: string | null, machine: boolean): Promise<void> {
    const kind = link === null ? 'open' : 'click'
    const count = (outcome: Outcome) => this.#metrics.trackingHits.labels(kind, outcome).inc()
    if (this.#unwritten === MAX_UNWRITTEN) return count('lost')
    this.#unwritten += 1
    const id = newId(this.#ctx.now())
    const written = new Promise<void>((resolve) => {
      const end = (as: Outcome) => {
        this.#unwritten -= 1
        count(as)
        resolve()
      }
      this.#gathered.push({ ...mail, id, link, machine, end })
    })
    // #write catches everything itself.
    if (this.#statements < STATEMENTS) void this.#writeAll()
    await within(WAIT_MS, written)
  }

  async #writeAll(): Promise<void> {
    this.#statements += 1
    while (this.#gathered.length > 0) await this.#write(this.#gathered.splice(0, MAX_TOGETHER))
    this.#statements -= 1
  }

  async #write(hits: Hit[]): Promise<void> {
    const params = {
      projectIds: hits.map(({ projectId }) => projectId),
      emailIds: hits.map(({ emailId }) => emailId),
      ids: hits.map(({ id }) => id),
      links: hits.map(({ link }) => link),
      linkCounts: hits.map(({ links }) => links),
      machines: hits.map(({ machine }) => machine),
    }
    try {
      const stored = new Set(
        (await this.#ctx.sql(insertHits, { ...params, most: MAX_WAITING })).map(({ id }) => id),
      )
      for (const { id, end } of hits) end(stored.has(id) ? 'stored' : 'refused')
    } catch (error) {
      this.#ctx.log.debug({ err: error }, 'opens and clicks could not be written')
      for (const { end } of hits) end('lost')
    }
  }
}
