import { RenderBudget } from './render-budget.ts'
import { RenderThreads } from './render-threads.ts'
import { type MeteredTask, perform, type TaskInput, type TaskResult } from './tasks.ts'
import { TemplateCache } from './template-cache.ts'
import { boundedHtml, roughText, SHORT_HTML, textFromHtml } from './text-part.ts'
import { RenderedTooLarge } from './work-meter.ts'

/** What a text part costs is bounded by the length of the markup. */
const UNMETERED = { work: 0, characters: 0 }
/** Nanoseconds per character of a task, to write it here and to read it there. */
const COST_OF_MOVING = 3
/** Of what is left: a message is not refused for its length alone, which other limits bound. */
const MAX_COST_OF_MOVING = 0.5

/** Who renders, and what the request may still cost. Owners take turns on the other threads. */
export type RenderCaller = { owner: string; budget: RenderBudget }

/**
 * Rendering in this process. Ordinary messages are rendered at once; what turns out to be large begins anew on
 * another thread, so that the one that serves requests never stands still for long.
 */
export class Rendering {
  readonly #templates = new TemplateCache()
  readonly #threads = new RenderThreads()

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

  /** The text part of a message. What takes too long is told without its structure. Throws RenderingBusy. */
  async textOf(html: string, owner: string): Promise<string> {
    if (html.length <= SHORT_HTML) return textFromHtml(html)
    const input = JSON.stringify({ html: boundedHtml(html) })
    const result = await this.#threads.run(owner, () => ({ name: 'text', input, allowance: UNMETERED }))
    return result?.value ?? roughText(html)
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
