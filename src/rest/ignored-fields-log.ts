import type { Logger } from 'pino'
import type { UnknownField } from './unknown-fields.ts'

/** Keys of projects, public and secret; above, the one that was added first makes room, and may be told of again. */
const MAX_KEYS = 2_000
/** With one key; whoever sends more different ones makes them up. */
const MAX_FIELDS = 50

/** Says in the log once per project and field that requests have it and nobody reads it. */
export class IgnoredFieldsLog {
  readonly #log: Logger
  readonly #toldOf = new Map<string, Set<string>>()

  constructor(log: Logger) {
    this.#log = log
  }

  /**
   * `request` names the operation, such as "POST /v1/send". Everybody has a project's public key, so what comes with it
   * takes no room from what comes with the secret one.
   */
  tell(projectId: string, keyKind: string, request: string, unknown: readonly UnknownField[]): void {
    const told = this.#toldWith(`${keyKind} ${projectId}`)
    for (const { path, likely } of unknown) {
      // The place in a list is not what tells one from another.
      const field = path.replaceAll(/\.\d+\./g, '.*.')
      const entry = `${request} ${field}`
      if (told.has(entry) || told.size >= MAX_FIELDS) continue
      told.add(entry)
      this.#log.warn(
        { projectId, request, field, ...(likely && { likely }) },
        'a field of requests is ignored',
      )
    }
  }

  #toldWith(key: string): Set<string> {
    const known = this.#toldOf.get(key)
    if (known) return known
    const [oldest] = this.#toldOf.size >= MAX_KEYS ? this.#toldOf.keys() : []
    if (oldest !== undefined) this.#toldOf.delete(oldest)
    const told = new Set<string>()
    this.#toldOf.set(key, told)
    return told
  }
}
