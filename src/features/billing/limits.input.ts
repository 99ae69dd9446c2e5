import { z } from 'zod'

/** The column is an integer of 32 bits. */
const MAX_CAP = 2_147_483_647

const cap = (what: string) =>
  z
    .int()
    .min(1)
    .max(MAX_CAP)
    .nullable()
    .describe(`Most messages of ${what} in a calendar month (UTC); null: no cap. It has to be given.`)

export const billingLimitsInput = z
  .object({
    workflows: cap('workflows'),
    campaigns: cap('campaigns'),
    transactional: cap('POST /v1/send and SMTP'),
    inbound: cap('mail that comes in'),
  })
  .meta({
    description: 'The caps of a project, all four of them.',
    examples: [{ workflows: 10_000, campaigns: 50_000, transactional: null, inbound: null }],
  })

export type BillingLimitsInput = z.output<typeof billingLimitsInput>
