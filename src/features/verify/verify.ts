import type { z } from 'zod'
import type { Ctx } from '../../ctx.ts'
import { domainOf } from '../../messages/email-address.rules.ts'
import type { verifyEmailInput } from './verify.input.ts'
import { type EmailVerification, judgeAddress } from './verify.rules.ts'

/**
 * Judges an address by its form, by lists of providers and by the DNS; nothing is sent to it, and its server
 * is not asked. All questions to the DNS are put at once, and what cannot be asked is said in the result.
 */
export async function verifyEmail(
  { services: { dns } }: Ctx,
  input: z.output<typeof verifyEmailInput>,
): Promise<EmailVerification> {
  const domain = domainOf(input.email)
  const www = `www.${domain}`
  const [ns, soa, mx, a, aaaa, wwwA, wwwAaaa] = await Promise.all([
    dns.ns(domain),
    dns.soa(domain),
    dns.mx(domain),
    dns.a(domain),
    dns.aaaa(domain),
    dns.a(www),
    dns.aaaa(www),
  ])
  return judgeAddress(input.email, { ns, soa, mx, a, aaaa, wwwA, wwwAaaa })
}
