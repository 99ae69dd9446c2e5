import { tooManyWatchers } from './errors.ts'

type Limits = {
  /** Limit of all projects together; each watcher costs a look from time to time. */
  total: number
  perProject: number
}

/** The open GraphQL subscriptions of this process. */
export class Watchers {
  readonly #limits: Limits
  readonly #byProject = new Map<string, number>()
  #all = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** Counts one more and returns what counts it off. Throws SERVICE_UNAVAILABLE when there are too many. */
  enter(projectId: string): () => void {
    const { total, perProject } = this.#limits
    const own = this.#byProject.get(projectId) ?? 0
    if (own >= perProject) throw tooManyWatchers(`This project has ${own} subscriptions open`)
    if (this.#all >= total) throw tooManyWatchers(`There are ${total} subscriptions open`)
    this.#change(projectId, 1)
    let isIn = true
    return () => {
      if (isIn) this.#change(projectId, -1)
      isIn = false
    }
  }

  #change(projectId: string, change: 1 | -1): void {
    const own = (this.#byProject.get(projectId) ?? 0) + change
    if (own > 0) this.#byProject.set(projectId, own)
    else this.#byProject.delete(projectId)
    this.#all += change
  }
}
