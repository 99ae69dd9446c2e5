import { z } from 'zod'
import { line } from '../../lib/fields.ts'
import { MAX_SUBJECT } from '../../messages/subject.rules.ts'
import { recipients, sender } from './recipients.input.ts'

/** The parts of a submitted message that have rules of their own: those of a request to send, but the subject may be empty. */
export const submissionInput = z.object({ to: recipients, from: sender, subject: line(MAX_SUBJECT) })
