import { z } from 'zod'
import { clearable, optional } from '../../lib/fields.ts'
import { LANGUAGES } from '../../lib/text/languages.ts'
import {
  createProjectInput,
  MAX_FOOTER_TEXT,
  MAX_PROJECT_NAME,
  MAX_SEND_RATE,
} from '../projects/projects.input.ts'

const name = createProjectInput.shape.name.describe(
  `Name of the project, 1 to ${MAX_PROJECT_NAME} characters; it need not be unique.`,
)

export const newProjectInput = z
  .object({ name })
  .meta({ description: 'The project to create.', examples: [{ name: 'My shop' }] })

export const updateProjectInput = z
  .object({
    name: optional(name).describe(`Name of the project, 1 to ${MAX_PROJECT_NAME} characters.`),
    tracking: optional(z.enum(['ENABLED', 'DISABLED', 'MARKETING_ONLY']).meta({ id: 'Tracking' })).describe(
      'Messages whose opens and clicks are tracked.',
    ),
    language: optional(z.enum(LANGUAGES).meta({ id: 'Language' })).describe(
      'Language of footers and pages for contacts whose `locale` names none.',
    ),
    sendRatePerSecond: clearable(z.int().min(0).max(MAX_SEND_RATE)).describe(
      `Messages that the project hands over per second, 0 to ${MAX_SEND_RATE}; 0 is no limit, null the setting of the service.`,
    ),
    footerText: clearable(z.string().trim().min(1).max(MAX_FOOTER_TEXT)).describe(
      `Text that footers of marketing mail show besides, such as a postal address: plain text, at most ${MAX_FOOTER_TEXT} characters on one line or several; null takes it away.`,
    ),
  })
  .meta({
    description: 'Changes of a project; what is left out stays as it is.',
    examples: [{ name: 'My shop', tracking: 'MARKETING_ONLY', footerText: 'My shop, 1 High Street, London' }],
  })

export type UpdateProjectInput = z.output<typeof updateProjectInput>
