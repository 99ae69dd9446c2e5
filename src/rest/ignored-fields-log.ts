import type { Logger } from 'pino'
import type { UnknownField } from './unknown-fields.ts'

/**
 * Most keys of projects, public and secret, to remember; above, the oldest is forgotten, and may be logged
 * again.
 */
const MAX_KEYS = 2_000
/** Most fields to remember of one key; a caller that sends more invents them. */
const MAX_FIELDS = 50

/** Logs once per project and field that requests have a field that no part of the service reads. */
export class IgnoredFieldsLog {
  readonly #log: Logger
  readonly #toldOf = new Map<string, Set<string>>()

  constructor(log: Logger) {
    this.#log = log
  }

  /**
   * `request` names the operation, such as "POST /v1/send". A project's public key is known to everyone, so
   * its fields take no room from those of the secret key.
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
