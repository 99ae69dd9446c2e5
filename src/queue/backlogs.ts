import type { Priority } from './priorities.ts'

/** Another process may have worked a backlog off since, so it is not remembered for long. */
const REMEMBER_MS = 2_000

/** Projects whose last slice in this process has left something, with the most urgent priority of that. */
export class Backlogs {
  readonly #left = new Map<string, { priority: Priority; until: number }>()

  note(projectId: string, priority: Priority): void {
    this.#left.set(projectId, { priority, until: performance.now() + REMEMBER_MS })
  }

  of(projectId: string): Priority | null {
    const backlog = this.#left.get(projectId)
    if (!backlog) return null
    if (backlog.until > performance.now()) return backlog.priority
    this.#left.delete(projectId)
    return null
  }

  /** A slice has found nothing left down to a priority. */
  forget(projectId: string, lowest: Priority): void {
    if ((this.of(projectId) ?? lowest) <= lowest) this.#left.delete(projectId)
  }
}
