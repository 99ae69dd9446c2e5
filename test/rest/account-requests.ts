import { randomUUID } from 'node:crypto'
import { createToken } from '../../src/features/service-mail/tokens.ts'
import type { UserTokenPurpose } from '../../src/generated/prisma/enums.ts'
import { PASSWORD, signedUp } from '../support/browser-session.ts'
import type { Service } from '../support/service.ts'
import type { Case } from './openapi-requests.ts'

/** A request that a page of another site makes the browser send; a key would go before the cookie. */
const FORGED = () => ({
  headers: { authorization: '', cookie: 'token=x', origin: 'https://elsewhere.example' },
})

const newAccount = () => ({ body: { email: `${randomUUID()}@example.org`, password: PASSWORD } })

/** As it would be in a mail to a new account. */
async function tokenOf(service: Service, purpose: UserTokenPurpose): Promise<string> {
  const { email } = await signedUp(service, { verified: false })
  const token = await createToken(service.ctx(), email, purpose)
  if (token === null) throw new Error('there is no token')
  return token
}

export const SUCCEEDING_ACCOUNTS: Record<string, (service: Service) => Promise<Case> | Case> = {
  login: async (service) => ({ body: { email: (await signedUp(service)).email, password: PASSWORD } }),
  signup: newAccount,
  logout: () => ({}),
  me: () => ({}),
  oauthConfiguration: () => ({}),
  requestVerification: () => ({}),
  requestPasswordReset: () => ({ body: { email: 'nobody@example.org' } }),
  confirmEmail: async (service) => ({ body: { token: await tokenOf(service, 'VERIFY_EMAIL') } }),
  resetPassword: async (service) => ({
    body: { token: await tokenOf(service, 'RESET_PASSWORD'), password: PASSWORD },
  }),
}

export const FAILING_ACCOUNTS: Record<string, (service: Service) => Promise<Case> | Case> = {
  'login 401 INVALID_CREDENTIALS': newAccount,
  'login 422 VALIDATION_ERROR': () => ({ body: { email: -1, password: -1 } }),
  'signup 409 CONFLICT': async (service) => ({
    body: { email: (await signedUp(service)).email, password: PASSWORD },
  }),
  'login 403 FORBIDDEN': FORGED,
  'signup 403 FORBIDDEN': FORGED,
  'logout 403 FORBIDDEN': FORGED,
  'confirmEmail 403 FORBIDDEN': FORGED,
  'requestPasswordReset 403 FORBIDDEN': FORGED,
  'resetPassword 403 FORBIDDEN': FORGED,
}
