import { z } from 'zod'
import { optional } from '../../lib/fields.ts'
import { isEmailAddress, normalizeEmail } from '../../messages/email-address.rules.ts'

/** OWASP Authentication Cheat Sheet: at least 8 characters, at most more than anyone types. */
export const MIN_PASSWORD = 8
const MAX_PASSWORD = 128

const accountEmail = z
  .string()
  .max(320)
  .refine(isEmailAddress, { error: 'must be an e-mail address', params: { code: 'invalid_string' } })
  .transform(normalizeEmail)
  .describe('Address of the account; upper and lower case are the same.')

const presentPassword = z.string().min(1).max(MAX_PASSWORD).describe('Password of the account.')

const code = optional(z.string().max(50)).describe(
  'Code of the authenticator app, or a recovery code; needed by accounts with a second factor.',
)

const newPassword = z
  .string()
  .min(MIN_PASSWORD)
  .max(MAX_PASSWORD)
  .describe('Password with at least 8 and at most 128 characters.')

const token = z
  .string()
  .min(1)
  .max(200)
  .describe('The token of the link in the mail, used once within an hour.')

const EXAMPLE = { email: 'ada@example.com', password: 'correct horse battery staple' }

export const loginInput = z
  .object({
    email: accountEmail,
    password: presentPassword,
    code,
  })
  .meta({ description: 'Who signs in.', examples: [EXAMPLE] })

export const signupInput = z
  .object({ email: accountEmail, password: newPassword })
  .meta({ description: 'The account to create.', examples: [EXAMPLE] })

export const verifyEmailInput = z
  .object({ token })
  .meta({ description: 'Proof that a mail has arrived.', examples: [{ token: 'q1Zr…' }] })

export const requestPasswordResetInput = z
  .object({ email: accountEmail })
  .meta({ description: 'Who has forgotten the password.', examples: [{ email: 'ada@example.com' }] })

export const resetPasswordInput = z
  .object({ token, password: newPassword })
  .meta({ description: 'The new password.', examples: [{ token: 'q1Zr…', password: EXAMPLE.password }] })

export const changePasswordInput = z
  .object({
    password: presentPassword,
    code,
    newPassword,
  })
  .meta({ description: 'The new password, and proof that the caller knows the present one.' })

export const beginSecondFactorInput = z
  .object({ password: presentPassword })
  .meta({ description: 'Proof that it is the user who asks.' })

export const confirmSecondFactorInput = z
  .object({ code: z.string().max(50).describe('Code that the authenticator app shows at this moment.') })
  .meta({ description: 'Proof that the authenticator app has the secret.' })

export const removeSecondFactorInput = z
  .object({ password: presentPassword, code })
  .meta({ description: 'Proof that it is the user who asks.' })

export type Credentials = z.output<typeof loginInput>
export type NewCredentials = z.output<typeof signupInput>
export type ChangePasswordInput = z.output<typeof changePasswordInput>
