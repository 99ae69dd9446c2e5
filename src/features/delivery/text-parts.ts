import { hash } from 'node:crypto'
import { ByteCache } from '../../lib/byte-cache.ts'
import type { Rendering } from '../../templating/rendering.ts'
import { boundedHtml, roughText } from '../../templating/text-part.ts'
import { type ServiceAddress, withoutTracking } from '../tracking/tracked-links.ts'

const MAX_BYTES = 8 * 1024 * 1024
/** A text part is at most about as long as its markup. */
const BYTES = { entry: 500, character: 2 }

/**
 * Creates the text parts of messages, with the addresses that links lead to in place of tracked ones. Messages with
 * the same body that leave at about the same time share one.
 */
export class TextParts {
  readonly #config: ServiceAddress
  readonly #rendering: Rendering
  readonly #known = new ByteCache<Promise<string>>(MAX_BYTES)

  constructor({ config, rendering }: { config: ServiceAddress; rendering: Rendering }) {
    this.#config = config
    this.#rendering = rendering
  }

  of(projectId: string, html: string): Promise<string> {
    const bounded = boundedHtml(withoutTracking(this.#config, html))
    const key = hash('sha256', bounded, 'base64')
    const known = this.#known.get(key)
    if (known) return known
    // Mail leaves with a plainer text part when this fails; the next message with this body tries again.
    const text = this.#rendering.textOfMail(bounded, projectId).catch(() => {
      this.#known.delete(key)
      return roughText(bounded)
    })
    this.#known.set(key, text, BYTES.entry + bounded.length * BYTES.character)
    return text
  }
}
