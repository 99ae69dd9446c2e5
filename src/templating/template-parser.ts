import { cutText } from '../lib/text/cut-text.ts'
import type { WorkMeter } from './work-meter.ts'

/** Why a template cannot be parsed, and where; lines count from 1. */
export class TemplateSyntaxError extends Error {
  override name = 'TemplateSyntaxError'
  readonly line: number

  constructor(reason: string, line: number) {
    super(`${reason} (line ${line})`)
    this.line = line
  }
}

type Kind = 'text' | 'name' | '&' | '#' | '^'

/** A part of a template as mustache.js renders it; only sections (# and ^) have parts of their own. */
export type Token = [kind: Kind, value: string, start: number, end: number, parts: Token[]]

const MAX_NESTING = 20
/** Far more than any message has; each takes a few hundred bytes of memory. */
const MAX_TAGS = 100_000
const SIGILS = '#^/>{&=!'

/** Nanoseconds; `line` is for one that is counted to say where a template is wrong. */
const COST = { character: 0.1, tag: 300, line: 20 }

export type ParsedTemplate = { tokens: Token[]; tags: number }

/**
 * Parses Mustache into the tokens of mustache.js. Its own parser creates an array for every character, and
 * its search for the end of a tag takes time that grows with the square of the blanks there; this one is
 * linear, because a body may have megabytes. Throws TemplateSyntaxError and RenderedTooLarge.
 */
export const parseTemplate = (template: string, meter: WorkMeter): ParsedTemplate =>
  new Parser(template, meter).parse()

class Parser {
  readonly #template: string
  readonly #meter: WorkMeter
  readonly #root: Token[] = []
  readonly #sections: Token[] = []
  #open = '{{'
  #close = '}}'
  /**
   * State of the line that is being read: a line that holds only tags that show nothing is left out
   * completely.
   */
  #blanks: Token[] = []
  #hasTag = false
  #hasContent = false

  constructor(template: string, meter: WorkMeter) {
    this.#template = template
    this.#meter = meter
  }

  parse(): ParsedTemplate {
    this.#meter.spend(this.#template.length * COST.character)
    let at = 0
    let tags = 0
    for (; ; tags += 1) {
      const start = this.#template.indexOf(this.#open, at)
      if (start === -1) break
      if (tags === MAX_TAGS) throw this.#problem(`More than ${MAX_TAGS} tags`, start)
      this.#meter.spend(COST.tag)
      this.#addText(at, start)
      at = this.#readTag(start)
    }
    this.#addText(at, this.#template.length)
    this.#endLine()
    const unclosed = this.#sections.at(-1)
    if (unclosed) throw this.#problem(`Unclosed section "${unclosed[1]}"`, unclosed[2])
    return { tokens: this.#root, tags }
  }

  /** Adds what stands between two tags: the end of a line, whole lines, and the beginning of another one. */
  #addText(start: number, end: number): void {
    const text = this.#template.slice(start, end)
    const firstEnd = text.indexOf('\n') + 1
    if (firstEnd === 0) {
      this.#addToLine(text, start)
      return
    }
    const lastStart = text.lastIndexOf('\n') + 1
    this.#addToLine(text.slice(0, firstEnd), start)
    this.#endLine()
    if (lastStart > firstEnd) {
      this.#add('text', text.slice(firstEnd, lastStart), start + firstEnd, start + lastStart)
    }
    this.#addToLine(text.slice(lastStart), start + lastStart)
  }

  #addToLine(text: string, start: number): void {
    if (text === '') return
    const token = this.#add('text', text, start, start + text.length)
    if (/\S/.test(text)) this.#hasContent = true
    else this.#blanks.push(token)
  }

  #endLine(): void {
    if (this.#hasTag && !this.#hasContent) for (const blank of this.#blanks) blank[1] = ''
    this.#blanks = []
    this.#hasTag = false
    this.#hasContent = false
  }

  #add(kind: Kind, value: string, start: number, end: number): Token {
    const token: Token = [kind, value, start, end, []]
    const parts = this.#sections.at(-1)?.[4] ?? this.#root
    parts.push(token)
    return token
  }

  /** Returns where the tag ends. */
  #readTag(start: number): number {
    const first = afterBlanks(this.#template, start + this.#open.length)
    const sigil = SIGILS.includes(this.#template.charAt(first)) ? this.#template.charAt(first) : ''
    const closing = `${sigil === '{' ? '}' : sigil === '=' ? '=' : ''}${this.#close}`
    const close = this.#template.indexOf(closing, first + sigil.length)
    if (close === -1) throw this.#problem('Unclosed tag', start)
    const value = this.#template.slice(first + sigil.length, close).trim()
    const end = close + closing.length
    this.#hasTag = true
    this.#addTag(sigil, value, start, end)
    return end
  }

  #addTag(sigil: string, value: string, start: number, end: number): void {
    if (sigil === '#' || sigil === '^') this.#openSection(this.#add(sigil, value, start, end))
    else if (sigil === '/') this.#closeSection(value, start)
    else if (sigil === '=') this.#changeDelimiters(value, start)
    else if (sigil === '>') throw this.#problem(`There are no partials: {{> ${cutText(value, 50)}}}`, start)
    // Comments show nothing.
    else if (sigil !== '!') {
      this.#hasContent = true
      this.#add(sigil === '' ? 'name' : '&', value, start, end)
    }
  }

  #openSection(section: Token): void {
    if (this.#sections.length === MAX_NESTING) {
      throw this.#problem(`Sections may be nested ${MAX_NESTING} deep`, section[2])
    }
    this.#sections.push(section)
  }

  #closeSection(name: string, at: number): void {
    const section = this.#sections.pop()
    if (!section) throw this.#problem(`Unopened section "${name}"`, at)
    if (section[1] !== name) throw this.#problem(`Unclosed section "${section[1]}"`, at)
  }

  #changeDelimiters(value: string, at: number): void {
    const [open, close, ...others] = value.split(/\s+/)
    if (!open || !close || others.length > 0) throw this.#problem('Two delimiters are needed', at)
    this.#open = open
    this.#close = close
  }

  #problem(reason: string, at: number): TemplateSyntaxError {
    return new TemplateSyntaxError(reason, this.#lineOf(at))
  }

  #lineOf(at: number): number {
    let line = 1
    for (let end = this.#template.indexOf('\n'); end !== -1 && end < at; line += 1) {
      this.#meter.spend(COST.line)
      end = this.#template.indexOf('\n', end + 1)
    }
    return line
  }
}

function afterBlanks(text: string, from: number): number {
  const blanks = /\s*/y
  blanks.lastIndex = from
  blanks.test(text)
  return blanks.lastIndex
}
