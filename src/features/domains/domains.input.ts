import { z } from 'zod'
import { isDomain } from '../../lib/net/domain-name.ts'

export const addDomainInput = z
  .object({
    domain: z
      .string()
      .transform((value) => value.trim().toLowerCase())
      .refine(isDomain, { error: 'must be a domain name', params: { code: 'invalid_string' } })
      .describe('Domain or subdomain to send mail from, in any case. Each subdomain is added by itself.'),
  })
  .meta({ description: 'The sender domain to add.', examples: [{ domain: 'mail.example.com' }] })
