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

/** What filling templates may cost; shared by all that one request renders. */
export class RenderBudget {
  #left = MAX_WORK

  /** Throws RenderedTooLarge. */
  spend(characters: number): void {
    this.#left -= characters
    if (this.#left < 0) throw new RenderedTooLarge()
  }
}

/** What a variable looks like in a message: nothing for a missing one, JSON for an object. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Only what the data itself holds: nothing that JavaScript gives to every object. */
function valueAt(view: unknown, path: string[]): unknown {
  let value = view
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = Reflect.get(value, name)
  }
  return value
}

const withoutQuotes = (text: string): string => /^(["'])(.*)\1$/s.exec(text)?.[2] ?? text

class Variables extends Mustache.Context {
  readonly budget: RenderBudget

  constructor(view: unknown, budget: RenderBudget, parent?: Variables) {
    super(view, parent)
    this.budget = budget
  }

  /** `name`, `path.to.name`, `.` for the item of a loop, each with an optional `?? fallback`. */
  override lookup(name: string): unknown {
    this.budget.spend(STEP + name.length)
    const mark = name.indexOf('??')
    if (mark === -1) return this.#find(name)
    const value = this.#find(name.slice(0, mark).trim())
    const missing = value === undefined || value === null || value === ''
    return missing ? withoutQuotes(name.slice(mark + 2).trim()) : value
  }

  #find(name: string): unknown {
    if (name === '.') return this.view
    const path = name.split('.')
    for (let scope: Mustache.Context | undefined = this; scope; scope = scope.parent) {
      const value = valueAt(scope.view, path)
      if (value !== undefined) return value
    }
    return undefined
  }

  override push(view: unknown): Variables {
    this.budget.spend(STEP)
    return new Variables(view, this.budget, this)
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

/** mustache.js with our parser, our variables and a budget. A writer serves one message. */
class MessageWriter extends Mustache.Writer {
  readonly #escape: (text: string) => string
  readonly #budget: RenderBudget

  constructor(escapeText: (text: string) => string, budget: RenderBudget) {
    super()
    this.#escape = escapeText
    this.#budget = budget
  }

  override parse(template: string): Token[] {
    return tokensOf(template)
  }

  override escapedValue(token: string[], context: Mustache.Context): string {
    return this.#spent(this.#escape(textOf(context.lookup(token[1] ?? ''))))
  }

  override unescapedValue(token: string[], context: Mustache.Context): string {
    return this.#spent(textOf(context.lookup(token[1] ?? '')))
  }

  override rawValue(token: string[]): string {
    this.#budget.spend(STEP)
    return this.#spent(token[1] ?? '')
  }

  #spent(text: string): string {
    this.#budget.spend(text.length)
    return text
  }
}

/** Variables of one message, prepared once and used for its subject and body. */
export type View = { context: Variables }

/** Throws RenderedTooLarge when it is rendered for more than `budget` allows. */
export const viewOf = (variables: JsonObject, budget: RenderBudget = new RenderBudget()): View => ({
  context: new Variables(variables, budget),
})

const isPlainText = (template: string) => !template.includes('{{')

function fill(template: string, { context }: View, escapeText: (text: string) => string): string {
  if (isPlainText(template)) return template
  return new MessageWriter(escapeText, context.budget).render(template, context)
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
