import { z } from 'zod'
import { line } from '../../lib/fields.ts'
import { LANGUAGES } from '../../lib/text/languages.ts'

export const MAX_PROJECT_NAME = 100
export const MAX_FOOTER_TEXT = 500
/** Messages a second; more is no limit. */
export const MAX_SEND_RATE = 10_000

export const createProjectInput = z.object({ name: line(MAX_PROJECT_NAME).trim().min(1) })

export const projectLanguageInput = z.enum(LANGUAGES)

/** Which messages are tracked, as people write it. */
export const projectTrackingInput = z
  .enum(['enabled', 'disabled', 'marketing-only'])
  .transform((mode) => TRACKING[mode])

const TRACKING = { enabled: 'ENABLED', disabled: 'DISABLED', 'marketing-only': 'MARKETING_ONLY' } as const
