import { KINDS } from './recorded-names.sql.ts'

/** Milliseconds for which a process does not look again for a recorded name. */
const REMEMBERED_MS = 10 * 60_000
const MAX_REMEMBERED = 50_000
/** Milliseconds for which a process assumes that a quota is still full. */
const FULL_MS = 5_000

/**
 * Remembers recorded names in a process, so that tracking and sending with known names asks the database
 * nothing. When a name is removed, other processes believe for REMEMBERED_MS that it is still recorded: names
 * that they see meanwhile pass the quota, and are recorded when they look for them again.
 */
export class RememberedNames {
  readonly #until = new Map<string, number>()
  readonly #full = new Map<string, number>()
  readonly #turns = new Map<string, Promise<unknown>>()

  knows(place: string, name: string, now: number): boolean {
    return (this.#until.get(`${place} ${name}`) ?? 0) > now
  }

  remember(place: string, names: string[], now: number): void {
    for (const name of names) this.#until.set(`${place} ${name}`, now + REMEMBERED_MS)
    for (const oldest of this.#until.keys()) {
      if (this.#until.size <= MAX_REMEMBERED) return
      this.#until.delete(oldest)
    }
  }

  forget(place: string, name: string): void {
    this.#until.delete(`${place} ${name}`)
    this.#full.delete(place)
  }

  /** Whatever the project has on record. */
  forgetProject(projectId: string): void {
    for (const kind of KINDS) {
      const place = `${kind} ${projectId}`
      this.#full.delete(place)
      for (const entry of this.#until.keys()) if (entry.startsWith(`${place} `)) this.#until.delete(entry)
    }
  }

  isFull(place: string, now: number): boolean {
    return (this.#full.get(place) ?? 0) > now
  }

  noteFull(place: string, now: number): void {
    if (this.#full.size >= MAX_REMEMBERED) this.#full.clear()
    this.#full.set(place, now + FULL_MS)
  }

  /**
   * Runs one after the other: requests that wait for the lock of a project's quota hold one connection
   * together.
   */
  async inTurn<Result>(place: string, work: () => Promise<Result>): Promise<Result> {
    const turn = (this.#turns.get(place) ?? Promise.resolve()).then(work, work)
    this.#turns.set(place, turn)
    try {
      return await turn
    } finally {
      if (this.#turns.get(place) === turn) this.#turns.delete(place)
    }
  }
}
