import { ProjectBusyError } from './sql.ts'

const MAX_REMEMBERED = 1_000

type Waiter = { project: string; enter: () => void }

/**
 * Lets a bounded number run at the same time, and fewer of one project, so that the others always find a
 * place. The next one is of the waiting project with the least running, and among equals of the one that was
 * served the longest ago: a project that reads now and then does not wait behind those that always do.
 */
export class FairSlots {
  readonly #limits: { perProject: number; waitMs: number }
  readonly #running = new Map<string, number>()
  /** Projects in the order in which they were served last. */
  readonly #served = new Set<string>()
  #free: number
  #waiting: Waiter[] = []

  constructor(slots: number, limits: { perProject: number; waitMs: number }) {
    this.#free = slots
    this.#limits = limits
  }

  /** Throws ProjectBusyError when there was no place for too long. */
  async run<Result>(project: string, work: () => Promise<Result>): Promise<Result> {
    await this.#enter(project)
    try {
      return await work()
    } finally {
      this.#free += 1
      this.#count(project, -1)
      this.#admit()
    }
  }

  #enter(project: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((one) => one !== waiter)
        reject(new ProjectBusyError())
      }, this.#limits.waitMs)
      const enter = () => {
        clearTimeout(timer)
        resolve()
      }
      const waiter = { project, enter }
      this.#waiting.push(waiter)
      this.#admit()
    })
  }

  #admit(): void {
    while (this.#free > 0) {
      const next = this.#next()
      if (!next) return
      this.#waiting = this.#waiting.filter((one) => one !== next)
      this.#free -= 1
      this.#count(next.project, 1)
      this.#note(next.project)
      next.enter()
    }
  }

  #next(): Waiter | null {
    const order = new Map([...this.#served].map((project, index) => [project, index]))
    const rank = ({ project }: Waiter) => [this.#running.get(project) ?? 0, order.get(project) ?? -1] as const
    let best: Waiter | null = null
    let [least, oldest]: readonly [number, number] = [this.#limits.perProject, 0]
    for (const waiter of this.#waiting) {
      const [running, served] = rank(waiter)
      if (running > least || (running === least && (best === null || served >= oldest))) continue
      ;[best, least, oldest] = [waiter, running, served]
    }
    return best
  }

  #note(project: string): void {
    this.#served.delete(project)
    this.#served.add(project)
    const [longestAgo] = this.#served
    if (this.#served.size > MAX_REMEMBERED && longestAgo !== undefined) this.#served.delete(longestAgo)
  }

  #count(project: string, change: 1 | -1): void {
    const running = (this.#running.get(project) ?? 0) + change
    if (running === 0) this.#running.delete(project)
    else this.#running.set(project, running)
  }
}
