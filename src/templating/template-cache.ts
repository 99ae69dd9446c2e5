import { ByteCache } from '../lib/byte-cache.ts'
import { parseTemplate, type Token } from './template-parser.ts'
import type { WorkMeter } from './work-meter.ts'

const MAX_BYTES = 16 * 1024 * 1024
/** Bytes per character of a template's text, and per tag for its parsed form. */
const BYTES = { character: 2, tag: 400 }

/** Parsed templates: a busy one is parsed once, and so is that of a message to many. */
export class TemplateCache {
  readonly #parsed = new ByteCache<Token[]>(MAX_BYTES)

  /** Throws TemplateSyntaxError and RenderedTooLarge. */
  tokensOf(template: string, meter: WorkMeter): Token[] {
    const known = this.#parsed.get(template)
    if (known) return known
    const { tokens, tags } = parseTemplate(template, meter)
    this.#parsed.set(template, tokens, template.length * BYTES.character + tags * BYTES.tag)
    return tokens
  }
}
