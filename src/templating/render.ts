import Mustache from 'mustache'
import type { JsonObject } from '../lib/json.ts'
import { cutText } from '../lib/text/cut-text.ts'
import { escapeHtml, isMarkup, withLineBreaks } from '../lib/text/html.ts'
import { MAX_SUBJECT } from '../messages/subject.rules.ts'
import type { TemplateCache } from './template-cache.ts'
import type { Token } from './template-parser.ts'
import type { WorkMeter } from './work-meter.ts'

/** Nanoseconds. `node` is a value inside of one that is shown as JSON, `character` is one that is looked at, `replaced` one that replacing adds to a text. */
const COST = {
  lookup: 150,
  scope: 50,
  segment: 50,
  pass: 150,
  value: 50,
  node: 300,
  character: 1,
  replaced: 15,
}
/** Cost per character of a subject, which is searched for line breaks. */
const SUBJECT_CHARACTER = 50
/** Long texts are replaced in pieces, so that one that costs too much is given up in the middle. */
const PIECE = 65_536

/** The tools of a rendering, and the meter that it is charged to. */
export type RenderTools = { meter: WorkMeter; templates: TemplateCache }

/** Looks only at what the data itself holds, not at what JavaScript gives to every object. */
function valueAt(view: unknown, path: string, meter: WorkMeter): unknown {
  let value = view
  let start = 0
  meter.spend(COST.scope)
  for (;;) {
    const dot = path.indexOf('.', start)
    const name = path.slice(start, dot === -1 ? undefined : dot)
    meter.spend(COST.segment + name.length * COST.character)
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = Reflect.get(value, name)
    if (dot === -1) return value
    start = dot + 1
  }
}

const withoutQuotes = (text: string): string => /^(["'])(.*)\1$/s.exec(text)?.[2] ?? text

export class Variables extends Mustache.Context {
  readonly meter: WorkMeter

  constructor(view: unknown, meter: WorkMeter, parent?: Variables) {
    super(view, parent)
    this.meter = meter
  }

  /** `name`, `path.to.name`, `.` for the item of a loop, each with an optional `?? fallback`. */
  override lookup(name: string): unknown {
    this.meter.spend(COST.lookup + name.length * COST.character)
    const mark = name.indexOf('??')
    if (mark === -1) return this.#find(name)
    const value = this.#find(name.slice(0, mark).trim())
    const missing = value === undefined || value === null || value === ''
    return missing ? withoutQuotes(name.slice(mark + 2).trim()) : value
  }

  #find(name: string): unknown {
    if (name === '.') return this.view
    for (let scope: Mustache.Context | undefined = this; scope; scope = scope.parent) {
      const value = valueAt(scope.view, name, this.meter)
      if (value !== undefined) return value
    }
    return undefined
  }

  override push(view: unknown): Variables {
    this.meter.spend(COST.pass)
    return new Variables(view, this.meter, this)
  }
}

/** What values are written for: markup, where {{{x}}} is raw; text; or a part of an address, whatever braces they stand in. */
export type Purpose = 'html' | 'text' | 'url'

/** mustache.js with our parser, our variables and a limit. A writer serves one text. */
class MessageWriter extends Mustache.Writer {
  readonly #purpose: Purpose
  readonly #tools: RenderTools

  constructor(purpose: Purpose, tools: RenderTools) {
    super()
    this.#purpose = purpose
    this.#tools = tools
  }

  override parse(template: string): Token[] {
    return this.#tools.templates.tokensOf(template, this.#tools.meter)
  }

  override escapedValue(token: string[], context: Mustache.Context): string {
    const text = this.#textOf(context.lookup(token[1] ?? ''))
    if (this.#purpose === 'html') return this.#written(inPieces(text, escaped, this.#tools.meter))
    return this.#plain(text)
  }

  override unescapedValue(token: string[], context: Mustache.Context): string {
    return this.#plain(this.#textOf(context.lookup(token[1] ?? '')))
  }

  #plain(text: string): string {
    return this.#written(this.#purpose === 'url' ? encoded(text, this.#tools.meter) : text)
  }

  override rawValue(token: string[]): string {
    this.#tools.meter.spend(COST.value)
    return this.#written(token[1] ?? '')
  }

  /** A variable as a message shows it: nothing for a missing one, JSON for an object. */
  #textOf(value: unknown): string {
    if (value === undefined || value === null) return ''
    return typeof value === 'object' ? jsonOf(value, this.#tools.meter) : String(value)
  }

  #written(text: string): string {
    this.#tools.meter.write(text.length)
    return text
  }
}

/** Charges each value before it is written. */
const jsonOf = (value: object, meter: WorkMeter): string =>
  JSON.stringify(value, (key, inner: unknown) => {
    const length = key.length + (typeof inner === 'string' ? inner.length : 0)
    meter.spend(COST.node + length * COST.character)
    return inner
  })

type Replace = (piece: string, meter: WorkMeter) => string

function inPieces(text: string, replace: Replace, meter: WorkMeter): string {
  if (text.length <= PIECE) return replace(text, meter)
  let result = ''
  for (let start = 0; start < text.length; ) {
    const end = start + PIECE
    // The halves of a line break stay together.
    const piece = text.slice(start, text.startsWith('\r\n', end - 1) ? end + 1 : end)
    result += replace(piece, meter)
    start += piece.length
  }
  return result
}

function escaped(text: string, meter: WorkMeter): string {
  meter.spend(text.length * COST.character)
  return charged(text, escapeHtml(text), meter)
}

function encoded(text: string, meter: WorkMeter): string {
  meter.spend(text.length * COST.replaced)
  return charged(text, encodeURIComponent(text.toWellFormed()), meter)
}

/** A text without line breaks costs nothing, however long: the size of a message bounds it. */
const broken: Replace = (text, meter) => charged(text, withLineBreaks(text), meter)

function charged(text: string, result: string, meter: WorkMeter): string {
  meter.spend((result.length - text.length) * COST.replaced)
  return result
}

/** Variables of one message, prepared once and used for its subject and body. */
export type View = { context: Variables; tools: RenderTools }

/** Rendering with it throws RenderedTooLarge when that costs more than the meter has left. */
export const viewOf = (variables: JsonObject, tools: RenderTools): View => ({
  context: new Variables(variables, tools.meter),
  tools,
})

const isPlainText = (template: string) => !template.includes('{{')

/** Fills a template. What comes out is never rendered again. */
export function fill(template: string, { context, tools }: View, purpose: Purpose): string {
  if (isPlainText(template)) return template
  return new MessageWriter(purpose, tools).render(template, context)
}

/** Fills a body: {{x}} is HTML-escaped, {{{x}}} is raw. What comes out is never rendered again. */
export const renderHtml = (template: string, view: View): string => fill(template, view, 'html')

/** Fills a text: nothing is escaped. */
export const renderText = (template: string, view: View): string => fill(template, view, 'text')

/** As `renderHtml`, and when it has no tag at all it is text, whose line breaks are kept. */
export function renderBody(template: string, view: View): string {
  const html = renderHtml(template, view)
  return isMarkup(html) ? html : inPieces(html, broken, view.tools.meter)
}

/** Fills a subject: nothing is escaped, and line breaks that came with a variable become blanks. */
export function renderSubject(template: string, view: View): string {
  const subject = fill(template, view, 'text')
  view.tools.meter.spend(subject.length * SUBJECT_CHARACTER)
  const lines = subject.split(/[\r\n]+/)
  const line = lines.length === 1 ? subject : lines.map((part) => part.trim()).join(' ')
  return cutText(line, MAX_SUBJECT)
}

/** The parts of a template that every text made from it has, in this order. Throws RenderedTooLarge. */
export function constantParts(template: string, { meter, templates }: RenderTools): string[] {
  if (isPlainText(template)) return [template]
  const parts = ['']
  for (const [kind, value] of templates.tokensOf(template, meter)) {
    if (kind === 'text') parts.push((parts.pop() ?? '') + value)
    else parts.push('')
  }
  return parts
}

/** Throws TemplateSyntaxError when the template could not be rendered, and RenderedTooLarge. */
export function checkTemplate(template: string, { meter, templates }: RenderTools): void {
  if (!isPlainText(template)) templates.tokensOf(template, meter)
}
