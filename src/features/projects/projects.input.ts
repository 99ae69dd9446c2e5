import { z } from 'zod'
import { line } from '../../lib/fields.ts'

export const createProjectInput = z.object({ name: line(100).trim().min(1) })
