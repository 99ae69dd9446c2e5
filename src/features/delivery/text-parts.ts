import { hash } from 'node:crypto'
import { ByteCache } from '../../lib/byte-cache.ts'
import type { Rendering } from '../../templating/rendering.ts'
import { boundedHtml, roughText } from '../../templating/text-part.ts'
import { type ServiceAddress, withoutTracking } from '../tracking/tracked-links.ts'

const MAX_BYTES = 8 * 1024 * 1024
/** A text is about as long as its markup at most. */
const BYTES = { entry: 500, character: 2 }

/** The text parts of messages, with links to where they lead. Each is made once, however many messages with the same body leave at about the same time. */
export class TextParts {
  readonly #config: ServiceAddress
  readonly #rendering: Rendering
  readonly #made = new ByteCache<Promise<string>>(MAX_BYTES)

  constructor({ config, rendering }: { config: ServiceAddress; rendering: Rendering }) {
    this.#config = config
    this.#rendering = rendering
  }

  of(projectId: string, html: string): Promise<string> {
    const bounded = boundedHtml(withoutTracking(this.#config, html))
    const key = hash('sha256', bounded, 'base64')
    const known = this.#made.get(key)
    if (known) return known
    // Mail leaves, with a lesser text part if need be; the next message with this body tries again.
    const text = this.#rendering.textOfMail(bounded, projectId).catch(() => {
      this.#made.delete(key)
      return roughText(bounded)
    })
    this.#made.set(key, text, BYTES.entry + bounded.length * BYTES.character)
    return text
  }
}
