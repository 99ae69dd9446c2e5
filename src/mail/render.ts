import Mustache from 'mustache'
import { escapeHtml } from '../lib/html.ts'
import type { JsonObject } from '../lib/json.ts'
import { MAX_SUBJECT } from './headers.rules.ts'
import { parseTemplate, type Token } from './template-parser.ts'

const plain = (text: string): string => text

/** A template whose loops come to more text, or to more work, than a message may. */
export class RenderedTooLarge extends Error {
  override name = 'RenderedTooLarge'
}

/** About a second of work, or as many characters. */
const MAX_WORK = 128 * 1024 * 1024
/** What a tag or a pass of a loop costs, in characters. */
const STEP = 32

/** Messages that are rendered together: they share what that may cost, and a template is parsed once for all. */
export class RenderBatch {
  #left = MAX_WORK
  readonly #parsed = new Map<string, Token[]>()

  /** Throws RenderedTooLarge. */
  spend(characters: number): void {
    this.#left -= characters
    if (this.#left < 0) throw new RenderedTooLarge()
  }

  tokensOf(template: string): Token[] {
    const tokens = this.#parsed.get(template) ?? tokensOf(template)
    this.#parsed.set(template, tokens)
    return tokens
  }
}

/** What a variable looks like in a message: nothing for a missing one, JSON for an object. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Only what the data itself holds: nothing that JavaScript gives to every object. */
function valueAt(view: unknown, path: string): unknown {
  let value = view
  let start = 0
  for (;;) {
    const dot = path.indexOf('.', start)
    const name = path.slice(start, dot === -1 ? undefined : dot)
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = Reflect.get(value, name)
    if (dot === -1) return value
    start = dot + 1
  }
}

const withoutQuotes = (text: string): string => /^(["'])(.*)\1$/s.exec(text)?.[2] ?? text

class Variables extends Mustache.Context {
  readonly batch: RenderBatch

  constructor(view: unknown, batch: RenderBatch, parent?: Variables) {
    super(view, parent)
    this.batch = batch
  }

  /** `name`, `path.to.name`, `.` for the item of a loop, each with an optional `?? fallback`. */
  override lookup(name: string): unknown {
    this.batch.spend(STEP + name.length)
    const mark = name.indexOf('??')
    if (mark === -1) return this.#find(name)
    const value = this.#find(name.slice(0, mark).trim())
    const missing = value === undefined || value === null || value === ''
    return missing ? withoutQuotes(name.slice(mark + 2).trim()) : value
  }

  #find(name: string): unknown {
    if (name === '.') return this.view
    for (let scope: Mustache.Context | undefined = this; scope; scope = scope.parent) {
      const value = valueAt(scope.view, name)
      if (value !== undefined) return value
    }
    return undefined
  }

  override push(view: unknown): Variables {
    this.batch.spend(STEP)
    return new Variables(view, this.batch, this)
  }
}

/** Parsed templates, so that a campaign or a busy template is parsed once. Bounded: bodies come from callers. */
const MAX_CACHED = 200
const MAX_CACHED_LENGTH = 200_000
const parsed = new Map<string, Token[]>()

function tokensOf(template: string): Token[] {
  const known = parsed.get(template)
  if (known) return known
  const tokens = parseTemplate(template)
  if (template.length > MAX_CACHED_LENGTH) return tokens
  if (parsed.size >= MAX_CACHED) parsed.clear()
  parsed.set(template, tokens)
  return tokens
}

/** mustache.js with our parser, our variables and a limit. A writer serves one text. */
class MessageWriter extends Mustache.Writer {
  readonly #escape: (text: string) => string
  readonly #batch: RenderBatch

  constructor(escapeText: (text: string) => string, batch: RenderBatch) {
    super()
    this.#escape = escapeText
    this.#batch = batch
  }

  override parse(template: string): Token[] {
    return this.#batch.tokensOf(template)
  }

  override escapedValue(token: string[], context: Mustache.Context): string {
    return this.#spent(this.#escape(textOf(context.lookup(token[1] ?? ''))))
  }

  override unescapedValue(token: string[], context: Mustache.Context): string {
    return this.#spent(textOf(context.lookup(token[1] ?? '')))
  }

  override rawValue(token: string[]): string {
    this.#batch.spend(STEP)
    return this.#spent(token[1] ?? '')
  }

  #spent(text: string): string {
    this.#batch.spend(text.length)
    return text
  }
}

/** Variables of one message, prepared once and used for its subject and body. */
export type View = { context: Variables }

/** Rendering with it throws RenderedTooLarge when that comes to more than the batch may. */
export const viewOf = (variables: JsonObject, batch: RenderBatch = new RenderBatch()): View => ({
  context: new Variables(variables, batch),
})

const isPlainText = (template: string) => !template.includes('{{')

function fill(template: string, { context }: View, escapeText: (text: string) => string): string {
  if (isPlainText(template)) return template
  return new MessageWriter(escapeText, context.batch).render(template, context)
}

/** Fills a body: {{x}} is HTML-escaped, {{{x}}} is raw. What comes out is never rendered again. */
export const renderHtml = (template: string, view: View): string => fill(template, view, escapeHtml)

/** Fills a subject: nothing is escaped, and line breaks that came with a variable become blanks. */
export function renderSubject(template: string, view: View): string {
  const subject = fill(template, view, plain)
  const lines = subject.split(/[\r\n]+/)
  const line = lines.length === 1 ? subject : lines.map((part) => part.trim()).join(' ')
  return line.length <= MAX_SUBJECT ? line : line.slice(0, MAX_SUBJECT).replace(/[\ud800-\udbff]$/, '')
}

/** Throws TemplateSyntaxError when the template could not be rendered. */
export function checkTemplate(template: string): void {
  if (!isPlainText(template)) tokensOf(template)
}
