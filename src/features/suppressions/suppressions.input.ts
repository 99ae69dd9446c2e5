import { z } from 'zod'
import { email } from '../../messages/message.input.ts'

export const addSuppressionInput = z
  .object({
    email: email.describe('Address that must not be written to; in lower case in the answer.'),
  })
  .meta({ description: 'The address to suppress.', examples: [{ email: 'ada@example.org' }] })
