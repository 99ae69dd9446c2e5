import type { View } from './render.ts'
import type { Token } from './template-parser.ts'

export type TemplateVariables = {
  /** The names that a template refers to, as they stand in it, in the order of their first use. */
  used: string[]
  /** Variables that are used somewhere without a fallback, and have no value anywhere. */
  missing: string[]
}

/**
 * The variables that the templates refer to. A section counts whether or not it is shown: names in a loop are
 * looked up in its items, names in a section that is not shown in what is around it. Throws RenderedTooLarge,
 * as rendering does.
 */
export function variablesOf(templates: string[], { context, tools }: View): TemplateVariables {
  const found: Found = { used: new Set(), bare: new Set(), valued: new Set() }
  for (const template of templates) visit(tools.templates.tokensOf(template, tools.meter), context, found)
  const used = [...found.used]
  return { used, missing: used.filter((name) => found.bare.has(name) && !found.valued.has(name)) }
}

type Scope = View['context']
type Found = { used: Set<string>; bare: Set<string>; valued: Set<string> }

function visit(tokens: Token[], scope: Scope, found: Found): void {
  for (const [kind, tag, , , parts] of tokens) {
    if (kind === 'text') continue
    note(tag, scope, found)
    if (kind === '#') for (const inner of scopesOf(tag, scope)) visit(parts, inner, found)
    if (kind === '^') visit(parts, scope, found)
  }
}

function note(tag: string, scope: Scope, { used, bare, valued }: Found): void {
  const mark = tag.indexOf('??')
  const name = (mark === -1 ? tag : tag.slice(0, mark)).trim()
  // The item of a loop has no name.
  if (name === '' || name === '.') return
  used.add(name)
  if (mark === -1) bare.add(name)
  const value = scope.lookup(name)
  if (value !== undefined && value !== null && value !== '') valued.add(name)
}

/** Where the parts of a section are filled from: once per item of a list, else as often as they are seen. */
function* scopesOf(tag: string, scope: Scope): Generator<Scope> {
  const value = scope.lookup(tag)
  if (Array.isArray(value) && value.length > 0) for (const item of value) yield scope.push(item)
  else if (typeof value === 'object' && value !== null && !Array.isArray(value)) yield scope.push(value)
  else yield scope
}
