import { fieldError } from '../../errors.ts'
import { checkTemplate } from '../../mail/render.ts'
import { TemplateSyntaxError } from '../../mail/template-parser.ts'

/** Refuses a subject or body that could not be rendered: a field error that names the line. */
export function assertSyntax(field: 'subject' | 'body', template: string): void {
  try {
    checkTemplate(template)
  } catch (error) {
    if (!(error instanceof TemplateSyntaxError)) throw error
    throw fieldError(field, 'custom', `is not a valid template: ${error.message}`)
  }
}
