import Mustache from 'mustache'
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts'

/** Why a template cannot be parsed, and where; lines count from 1. */
export class TemplateSyntaxError extends Error {
  override name = 'TemplateSyntaxError'
  readonly line: number

  constructor(reason: string, line: number) {
    super(`${reason} (line ${line})`)
    this.line = line
  }
}

const HTML_ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (c) => HTML_ENTITIES[c] ?? c)

const plain = (text: string): string => text

/** What a variable looks like in a message: nothing for a missing one, JSON for an object. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** `name ?? fallback`, with or without quotes around the fallback. */
const FALLBACK = /^(.*?)\s*\?\?\s*(.*)$/s

class Variables extends Mustache.Context {
  override lookup(name: string): unknown {
    const [, variable, fallback] = FALLBACK.exec(name) ?? []
    if (variable === undefined || fallback === undefined) return super.lookup(name)
    const value = super.lookup(variable.trim())
    const missing = value === undefined || value === null || value === ''
    return missing ? fallback.replace(/^(["'])(.*)\1$/s, '$2') : value
  }

  override push(view: unknown): Variables {
    return new Variables(view, this)
  }
}

/** Parsed templates, so that a campaign or a busy template is parsed once. Bounded: bodies come from callers. */
const MAX_CACHED = 200
const MAX_CACHED_LENGTH = 200_000

class BoundedCache {
  readonly #entries = new Map<string, unknown>()

  get(key: string): unknown {
    return this.#entries.get(key)
  }

  set(key: string, value: unknown): void {
    if (key.length > MAX_CACHED_LENGTH) return
    if (this.#entries.size >= MAX_CACHED) this.#entries.clear()
    this.#entries.set(key, value)
  }

  clear(): void {
    this.#entries.clear()
  }
}

class MessageWriter extends Mustache.Writer {
  readonly escape: (text: string) => string

  constructor(escapeText: (text: string) => string) {
    super()
    this.escape = escapeText
    Object.assign(this, { templateCache: new BoundedCache() })
  }

  override escapedValue(token: string[], context: Mustache.Context): string {
    return this.escape(textOf(context.lookup(token[1] ?? '')))
  }

  override unescapedValue(token: string[], context: Mustache.Context): string {
    return textOf(context.lookup(token[1] ?? ''))
  }
}

const htmlWriter = new MessageWriter(escapeHtml)
const textWriter = new MessageWriter(plain)

/** Objects without a prototype, so that {{constructor}} and the like find nothing. */
function withoutPrototypes(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map(withoutPrototypes)
  if (!isJsonObject(value)) return value
  const copy: Record<string, unknown> = Object.create(null)
  for (const [key, item] of Object.entries(value)) copy[key] = withoutPrototypes(item)
  return copy
}

/** Variables of one message, prepared once and used for its subject and body. */
export type View = { context: Mustache.Context }

export function viewOf(variables: JsonObject): View {
  return { context: new Variables(withoutPrototypes(variables)) }
}

const isPlainText = (template: string) => !template.includes('{{')

/** Fills a body: {{x}} is HTML-escaped, {{{x}}} is raw. What comes out is never rendered again. */
export const renderHtml = (template: string, view: View): string =>
  isPlainText(template) ? template : htmlWriter.render(template, view.context)

/** Fills a subject: nothing is escaped, and line breaks that came with a variable become blanks. */
export const renderSubject = (template: string, view: View): string => {
  const subject = isPlainText(template) ? template : textWriter.render(template, view.context)
  return subject.replace(/\s*[\r\n]+\s*/g, ' ').slice(0, MAX_SUBJECT)
}

/** RFC 5322, 2.1.1. */
export const MAX_SUBJECT = 998

/** Throws TemplateSyntaxError when the template could not be rendered. */
export function checkTemplate(template: string): void {
  if (isPlainText(template)) return
  try {
    htmlWriter.parse(template)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const at = /^(.*?)(?: at (\d+))$/s.exec(error.message)
    const index = Number(at?.[2] ?? template.length)
    throw new TemplateSyntaxError(at?.[1] ?? error.message, template.slice(0, index).split('\n').length)
  }
}
