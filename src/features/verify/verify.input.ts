import { z } from 'zod'
import { email } from '../../messages/message.input.ts'

export const verifyEmailInput = z
  .object({ email: email.describe('Address to verify, in any case.') })
  .meta({ description: 'The address to verify.', examples: [{ email: 'ada@example.org' }] })
