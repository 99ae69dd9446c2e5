import type { JsonObject } from '../lib/json.ts'
import { cleanHtml } from './clean-html.ts'
import {
  checkTemplate,
  constantParts,
  fill,
  type Purpose,
  type RenderTools,
  renderBody,
  renderSubject,
  renderText,
  viewOf,
} from './render.ts'
import { TemplateSyntaxError } from './template-parser.ts'
import { type TemplateVariables, variablesOf } from './template-variables.ts'
import { textFromHtml } from './text-part.ts'
import { type TrackedTemplate, trackLinks } from './tracked-links.ts'
import type { Allowance } from './work-meter.ts'

export type MessageTemplate = { subject: string; body: string }

/** The tasks of rendering, on whichever thread. Inputs and results are JSON. */
type Inputs = {
  /** `text` is the template of a text part, of which nothing is escaped. */
  message: MessageTemplate & { text?: string | null; variables: JsonObject }
  /** Any texts with the same variables. */
  texts: { texts: { template: string; purpose: Purpose }[]; variables: JsonObject }
  variables: MessageTemplate & { variables: JsonObject }
  check: { template: string }
  links: { template: string; ownUrl: string }
  parts: { template: string }
  text: { html: string }
  clean: { html: string }
}

type Results = {
  message: { subject: string; html: string; text: string | null }
  texts: string[]
  variables: TemplateVariables
  /** Why the template cannot be rendered; null when it can. */
  check: string | null
  links: TrackedTemplate
  parts: string[]
  text: string
  clean: string
}

export type TaskName = keyof Inputs
/** A text part and cleaned HTML have bounds of their own. */
export type MeteredTask = Exclude<TaskName, 'text' | 'clean'>
export type TaskInput<Name extends TaskName> = Inputs[Name]
export type TaskResult<Name extends TaskName> = Results[Name]

const tasks: { [Name in TaskName]: (input: Inputs[Name], tools: RenderTools) => Results[Name] } = {
  message({ subject, body, text = null, variables }, tools) {
    const view = viewOf(variables, tools)
    return {
      subject: renderSubject(subject, view),
      html: renderBody(body, view),
      text: text === null ? null : renderText(text, view),
    }
  },
  texts({ texts, variables }, tools) {
    const view = viewOf(variables, tools)
    return texts.map(({ template, purpose }) => fill(template, view, purpose))
  },
  variables: ({ subject, body, variables }, tools) => variablesOf([subject, body], viewOf(variables, tools)),
  check({ template }, tools) {
    try {
      checkTemplate(template, tools)
      return null
    } catch (error) {
      if (error instanceof TemplateSyntaxError) return error.message
      throw error
    }
  },
  links: ({ template, ownUrl }, { meter }) => trackLinks(template, ownUrl, meter),
  parts: ({ template }, tools) => constantParts(template, tools),
  text: ({ html }) => textFromHtml(html),
  clean: ({ html }) => cleanHtml(html),
}

/** Throws RenderedTooLarge. */
export const perform = <Name extends TaskName>(
  name: Name,
  input: TaskInput<Name>,
  tools: RenderTools,
): TaskResult<Name> => tasks[name](input, tools)

/**
 * A task for another thread, and its limits. The input is JSON text, which is faster to create than a copy of
 * the data.
 */
export type Job<Name extends TaskName> = { name: Name; input: string; allowance: Allowance }

/** `result` is null when the task exceeded its limits. */
export type Answer<Name extends TaskName> = { result: { value: TaskResult<Name>; spent: Allowance } | null }
