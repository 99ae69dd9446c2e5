import { QuoteType, Tokenizer } from 'htmlparser2'
import { webAddress } from '../lib/net/web-address.ts'
import type { WorkMeter } from './work-meter.ts'

/** A template whose links are filled in like variables: link number n stands where `linkVariable(n)` is named. */
export type TrackedTemplate = {
  body: string
  /** Where the links lead, each once. */
  links: string[]
}

/**
 * The variable with the list of links. No data can hold a key with this character, in the request or in the database,
 * so nothing in a loop hides it.
 */
export const LINKS = '\0'

/** Links of one template; what comes after them stays as it is. */
const MAX_LINKS = 1_000
/** Placeholders are tags, of which a template may have so many; see the parser. */
const MAX_TAGS = 50_000
/** Nanoseconds per character. */
const COST = 30

const HAS_HREF = /\bhref/i
/** {{=<% %>=}}: from there on placeholders would be text. */
const OTHER_DELIMITERS = /\{\{\s*=/
const LINK_TAGS = new Set(['a', 'area'])
/** Elements with nothing but text in them for a browser, which the tokenizer takes for markup. */
const TEXT_ONLY = new Set(['iframe', 'noembed', 'noframes', 'plaintext'])
/** Browsers leave these out of an address wherever they stand. */
const BREAKS = /[\t\n\r]/g
const OWN_PAGES = /^\/(?:unsubscribe|subscribe|manage|t)\//

/** Whether there may be something to track; false costs next to nothing. */
export const hasLinks = (template: string): boolean =>
  HAS_HREF.test(template) && !OTHER_DELIMITERS.test(template)

/**
 * Replaces the addresses of the links of an HTML template by placeholders, and nothing else: what is not one of these
 * addresses stays as it is to the byte. Links are `<a>` and `<area>` that lead to http or https; those in comments, to
 * the service's own pages (`ownUrl`), with tags of the template in their address, or marked with `data-track="false"`
 * are none. Throws RenderedTooLarge.
 */
export function trackLinks(template: string, ownUrl: string, meter: WorkMeter): TrackedTemplate {
  if (!hasLinks(template)) return { body: template, links: [] }
  meter.spend(template.length * COST)
  const markup = withoutTags(template)
  if (markup === null) return { body: template, links: [] }
  const finder = new LinkFinder(template, ownUrl)
  const tokenizer = new Tokenizer({ decodeEntities: true }, finder)
  tokenizer.write(markup)
  tokenizer.end()
  return finder.tracked()
}

/** The template with a letter in place of each character of its tags; null when it has too many of them. */
function withoutTags(template: string): string | null {
  let markup = ''
  let from = 0
  let tags = 0
  for (let start = template.indexOf('{{'); start !== -1; start = template.indexOf('{{', from)) {
    const close = template.indexOf('}}', start + 2)
    if (close === -1) break
    tags += 1
    if (tags > MAX_TAGS) return null
    const end = close + (template.startsWith('}}}', close) ? 3 : 2)
    markup += template.slice(from, start) + 'x'.repeat(end - start)
    from = end
  }
  return from === 0 ? template : markup + template.slice(from)
}

type Href = { start: number; end: number; value: string; quote: QuoteType }

/** Listens to the tokenizer and gathers the template with its links replaced. */
class LinkFinder {
  readonly #template: string
  readonly #ownUrl: string
  readonly #links = new Map<string, number>()
  /** What is between the name of an attribute and its value. */
  readonly #beforeValue = /\s*=\s*["']?/y
  #body = ''
  /** How far the template is in `#body`. */
  #copied = 0
  /** The element whose content is text, while one is open. */
  #textOnly: string | null = null
  #isLink = false
  #isUntracked = false
  /** The first one counts of an attribute that is there twice. */
  #hasHref = false
  #href: Href | null = null
  #attribute = ''
  #attributeEnd = 0
  #value = ''

  constructor(template: string, ownUrl: string) {
    this.#template = template
    this.#ownUrl = ownUrl
  }

  tracked(): TrackedTemplate {
    if (this.#links.size === 0) return { body: this.#template, links: [] }
    return { body: this.#body + this.#template.slice(this.#copied), links: [...this.#links.keys()] }
  }

  onopentagname(start: number, end: number): void {
    const name = this.#template.slice(start, end).toLowerCase()
    this.#isLink = this.#textOnly === null && LINK_TAGS.has(name)
    this.#isUntracked = false
    this.#hasHref = false
    this.#href = null
    if (TEXT_ONLY.has(name)) this.#textOnly ??= name
  }

  onattribname(start: number, end: number): void {
    if (!this.#isLink) return
    this.#attribute = this.#template.slice(start, end).toLowerCase()
    this.#attributeEnd = end
    this.#value = ''
  }

  onattribdata(start: number, end: number): void {
    if (this.#isLink) this.#value += this.#template.slice(start, end)
  }

  onattribentity(codepoint: number): void {
    if (this.#isLink) this.#value += String.fromCodePoint(codepoint)
  }

  onattribend(quote: QuoteType, end: number): void {
    if (!this.#isLink) return
    if (this.#attribute === 'data-track') this.#isUntracked ||= this.#value.trim().toLowerCase() === 'false'
    if (this.#attribute !== 'href' || this.#hasHref) return
    this.#hasHref = true
    if (quote === QuoteType.NoValue) return
    this.#beforeValue.lastIndex = this.#attributeEnd
    this.#beforeValue.test(this.#template)
    const isQuoted = quote !== QuoteType.Unquoted
    this.#href = {
      ...{ start: this.#beforeValue.lastIndex, end: isQuoted ? end - 1 : end },
      ...{ value: this.#value, quote },
    }
  }

  onopentagend(): void {
    const href = this.#href
    this.#href = null
    if (!href || this.#isUntracked || this.#template.slice(href.start, href.end).includes('{{')) return
    const target = this.#targetOf(href.value)
    if (target !== null) this.#replace(href, target)
  }

  onselfclosingtag(): void {
    this.onopentagend()
  }

  onclosetag(start: number, end: number): void {
    if (this.#textOnly === this.#template.slice(start, end).toLowerCase()) this.#textOnly = null
  }

  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onend(): void {}
  onprocessinginstruction(): void {}
  ontext(): void {}
  ontextentity(): void {}

  /** Null when it is not to be tracked. */
  #targetOf(value: string): string | null {
    const target = value.trim().replace(BREAKS, '')
    if (!webAddress(target) || !target.isWellFormed()) return null
    if (!this.#links.has(target) && this.#links.size === MAX_LINKS) return null
    const isOwn = target.startsWith(this.#ownUrl) && OWN_PAGES.test(target.slice(this.#ownUrl.length))
    return isOwn ? null : target
  }

  #replace({ start, end, quote }: Href, target: string): void {
    const number = this.#links.get(target) ?? this.#links.size
    this.#links.set(target, number)
    const placeholder = `{{{${linkVariable(number)}}}}`
    const value = quote === QuoteType.Unquoted ? `"${placeholder}"` : placeholder
    this.#body += this.#template.slice(this.#copied, start) + value
    this.#copied = end
  }
}

export const linkVariable = (number: number): string => `${LINKS}.${number}`
