import { z } from 'zod'
import { line } from '../../lib/fields.ts'
import { LANGUAGES } from '../../lib/text/languages.ts'

export const createProjectInput = z.object({ name: line(100).trim().min(1) })

export const projectLanguageInput = z.enum(LANGUAGES)
