import type { Services } from '../../ctx.ts'
import type { Statement } from '../../db/sql.ts'
import type { DeliveryResult, Mailer } from '../../mail/mailer.ts'
import { providerPause } from './provider-pause.rules.ts'
import { ALL_MAIL, forgetTrouble, noteTrouble } from './provider-troubles.sql.ts'

type Trouble = { failures: number; until: number; timer: NodeJS.Timeout | null }
type Words = { reason: string; advice: string }

const MAX_DOMAINS = 1_000
/** Mail that was taken when the pause began is due again soon; nothing is taken before the pause ends. */
const WHILE_PAUSED_MS = 1_000

/**
 * Knows whether the provider works. Trouble that is the provider's, or the operator's who has set it up, is no
 * message's fault: mail waits for it without using up attempts, all of it or that of one sender domain, and whoever
 * runs the service is told once, with what to do.
 */
export class ProviderWatch {
  readonly #services: Services
  readonly #mailer: Mailer
  readonly #troubles = new Map<string, Trouble>()
  readonly #resume: () => void
  #stopped = false

  /** `resume` is called when mail may leave again. */
  constructor(services: Services, mailer: Mailer, resume: () => void) {
    this.#services = services
    this.#mailer = mailer
    this.#resume = resume
  }

  /** Asks the provider at the start, so that a wrong password is known before the first message fails. */
  async start(): Promise<void> {
    for (const warning of this.#mailer.warnings) this.#services.log.warn(warning)
    const trouble = await this.#mailer.check()
    if (trouble) this.#pause(ALL_MAIL, trouble)
    else this.#forget(ALL_MAIL)
  }

  stop(): void {
    this.#stopped = true
    for (const { timer } of this.#troubles.values()) if (timer) clearTimeout(timer)
  }

  /** Whether no mail at all is handed over. */
  get isPaused(): boolean {
    return this.#pauseOf(ALL_MAIL) > 0
  }

  /** Milliseconds for which mail of the domain is put off; 0 when it may be handed over. */
  waitOf(domain: string): number {
    return this.isPaused ? WHILE_PAUSED_MS : this.#pauseOf(domain)
  }

  #pauseOf(name: string): number {
    return Math.max(0, (this.#troubles.get(name)?.until ?? 0) - performance.now())
  }

  failed(result: Extract<DeliveryResult, { kind: 'provider' }>, domain: string): void {
    this.#pause(result.scope === 'account' ? ALL_MAIL : domain, result)
  }

  succeeded(domain: string): void {
    if (this.#troubles.size === 0) return
    for (const name of [ALL_MAIL, domain]) if (this.#troubles.has(name)) this.#forget(name)
  }

  #pause(name: string, { reason, advice }: Words): void {
    // Messages that were under way fail one after the other; that is one failure.
    if (this.#stopped || this.#pauseOf(name) > 0) return
    const failures = (this.#troubles.get(name)?.failures ?? 0) + 1
    const pauseMs = providerPause(failures)
    if (failures === 1) {
      const what = name === ALL_MAIL ? 'no mail can leave' : `no mail of ${name} can leave`
      this.#services.log.warn({ reason, advice }, `${what}; it waits and no attempts are counted`)
    }
    const isAll = name === ALL_MAIL
    // All mail waits until the provider has been asked; it is asked before a message has to find out.
    const until = isAll ? Number.POSITIVE_INFINITY : performance.now() + pauseMs
    const timer = isAll ? setTimeout(() => void this.#ask(), pauseMs) : null
    this.#forgetOldest()
    this.#troubles.set(name, { failures, until, timer })
    this.#write(noteTrouble, { name, reason, advice, pauseMs, failures })
  }

  async #ask(): Promise<void> {
    const words = await this.#mailer.check()
    const trouble = this.#troubles.get(ALL_MAIL)
    if (!trouble || this.#stopped) return
    trouble.until = 0
    if (words) return this.#pause(ALL_MAIL, words)
    this.#resume()
  }

  #forgetOldest(): void {
    const [oldest] = [...this.#troubles.keys()].filter((name) => name !== ALL_MAIL)
    if (this.#troubles.size > MAX_DOMAINS && oldest !== undefined) this.#troubles.delete(oldest)
  }

  #forget(name: string): void {
    if (this.#troubles.delete(name)) this.#services.log.info(`mail leaves again (${name})`)
    this.#write(forgetTrouble, { name })
  }

  /** For readiness and the command line; it is only told, so a database that is away may miss it. */
  #write<Params extends Record<string, unknown>>(
    query: Statement<Params, object>,
    params: NoInfer<Params>,
  ): void {
    this.#services.database
      .delivery(query, params)
      .catch((error: unknown) => this.#services.log.debug({ err: error }, 'provider trouble was not noted'))
  }
}
