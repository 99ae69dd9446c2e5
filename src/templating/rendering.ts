import { ByteCache } from '../lib/byte-cache.ts'
import { cleanHtml } from './clean-html.ts'
import { RenderBudget } from './render-budget.ts'
import { RenderThreads } from './render-threads.ts'
import { type Job, type MeteredTask, perform, type TaskInput, type TaskResult } from './tasks.ts'
import { TemplateCache } from './template-cache.ts'
import { boundedHtml, roughText, SHORT_HTML, textFromHtml } from './text-part.ts'
import { hasLinks, type TrackedTemplate } from './tracked-links.ts'
import { RenderedTooLarge } from './work-meter.ts'

/** The cost of a text part is bounded by the length of the markup. */
const UNMETERED = { work: 0, characters: 0 }
/** Nanoseconds per character of a task, to write it here and to read it there. */
const COST_OF_MOVING = 3
/**
 * Largest share of the remaining budget that moving a task may cost. A message is not refused for its length
 * alone, which other limits bound.
 */
const MAX_COST_OF_MOVING = 0.5

/** Milliseconds for the text part of a message that is on its way; a newsletter takes some 20. */
const TEXT_OF_MAIL_MS = 1_000

/** Of templates whose links are tracked: what is kept in memory, and what a character of one takes there. */
const MAX_TRACKED_BYTES = 16 * 1024 * 1024
const TRACKED_BYTES = { entry: 500, character: 5 }

/** Who renders, and what the request may still cost. Owners take turns on the other threads. */
export type RenderCaller = { owner: string; budget: RenderBudget }

/**
 * Renders in this process. Ordinary messages are rendered at once; a rendering that turns out to be large
 * begins again on another thread, so that the one that serves requests is never blocked for long.
 */
export class Rendering {
  readonly #templates = new TemplateCache()
  readonly #threads = new RenderThreads()
  readonly #tracked = new ByteCache<TrackedTemplate>(MAX_TRACKED_BYTES)

  newBudget(): RenderBudget {
    return new RenderBudget()
  }

  /** Throws RenderedTooLarge and RenderingBusy. */
  async run<Name extends MeteredTask>(
    name: Name,
    input: TaskInput<Name>,
    { owner, budget }: RenderCaller,
  ): Promise<TaskResult<Name>> {
    const done = this.#tryHere(name, input, budget)
    if (done) return done.value
    if (budget.isSpent) throw new RenderedTooLarge()
    const result = await this.#threads.run(owner, () => {
      const text = JSON.stringify(input)
      const work = Math.min(text.length * COST_OF_MOVING, budget.left.work * MAX_COST_OF_MOVING)
      budget.note({ work, characters: 0 })
      return { name, input: text, allowance: budget.left }
    })
    budget.note(result?.spent ?? budget.left)
    if (!result) throw new RenderedTooLarge()
    return result.value
  }

  /**
   * A template with its links to be filled in (see `trackLinks`), made once for many messages. Throws RenderedTooLarge
   * and RenderingBusy.
   */
  async trackedOf(template: string, ownUrl: string, caller: RenderCaller): Promise<TrackedTemplate> {
    if (!hasLinks(template)) return { body: template, links: [] }
    const known = this.#tracked.get(template)
    if (known) return known
    const tracked = await this.run('links', { template, ownUrl }, caller)
    this.#tracked.set(template, tracked, TRACKED_BYTES.entry + template.length * TRACKED_BYTES.character)
    return tracked
  }

  /** The text part of a message. What takes too long is told without its structure. Throws RenderingBusy. */
  async textOf(html: string, owner: string): Promise<string> {
    if (html.length <= SHORT_HTML) return textFromHtml(html)
    const bounded = boundedHtml(html)
    const result = await this.#threads.run(owner, textJob(bounded))
    return result?.value ?? roughText(bounded)
  }

  /**
   * The same for mail that is being delivered, however much of it waits. Its turns are separate from those of
   * the project's requests, and shorter.
   */
  async textOfMail(html: string, projectId: string): Promise<string> {
    if (html.length <= SHORT_HTML) return textFromHtml(html)
    const bounded = boundedHtml(html)
    const options = { taskMs: TEXT_OF_MAIL_MS, mayWait: true }
    const result = await this.#threads.run(`mail of ${projectId}`, textJob(bounded), options)
    return result?.value ?? roughText(bounded)
  }

  /** HTML of a stranger as it may be shown (see `cleanHtml`); null when that takes too long. */
  async cleanHtmlOf(html: string, projectId: string): Promise<string | null> {
    if (html.length <= SHORT_HTML) return cleanHtml(html)
    const options = { taskMs: TEXT_OF_MAIL_MS, mayWait: true }
    const job = (): Job<'clean'> => ({
      name: 'clean',
      input: JSON.stringify({ html: boundedHtml(html) }),
      allowance: UNMETERED,
    })
    return (await this.#threads.run(`mail to ${projectId}`, job, options))?.value ?? null
  }

  stop(): Promise<void> {
    return this.#threads.stop()
  }

  /** Null when it costs more than may be done on this thread. */
  #tryHere<Name extends MeteredTask>(
    name: Name,
    input: TaskInput<Name>,
    budget: RenderBudget,
  ): { value: TaskResult<Name> } | null {
    const meter = budget.meterHere()
    try {
      const value = perform(name, input, { meter, templates: this.#templates })
      budget.noteHere(meter.spent, true)
      return { value }
    } catch (error) {
      budget.noteHere(meter.spent, false)
      if (error instanceof RenderedTooLarge) return null
      throw error
    }
  }
}

const textJob = (html: string) => (): Job<'text'> => ({
  name: 'text',
  input: JSON.stringify({ html }),
  allowance: UNMETERED,
})
