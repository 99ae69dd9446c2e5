import type { GetEmailIdentityCommandOutput, SESv2Client } from '@aws-sdk/client-sesv2'
import { openSes, type SesConnection, type SesSdk } from '../../../lib/net/ses-client.ts'
import { cnameRecord, type DnsRecord, mxRecord, spfRecord } from '../dns-records.rules.ts'
import type { Verdict } from '../verification.rules.ts'
import type { DomainProvider } from './domain-provider.ts'

const LIMITS = { connect: 3_000, idle: 5_000 }
const LONGEST_LOOK_MS = 8_000

/**
 * Identities of Amazon SES with Easy DKIM and a MAIL FROM domain of their own (docs.aws.amazon.com/ses/latest/dg,
 * "Easy DKIM in Amazon SES" and "Using a custom MAIL FROM domain").
 */
export const sesDomains = (access: SesConnection): DomainProvider => ({
  async look(domain) {
    const { sdk, client } = await openSes(access, LIMITS)
    const abortSignal = AbortSignal.timeout(LONGEST_LOOK_MS)
    try {
      const identity =
        (await read(client, sdk, domain, abortSignal)) ?? (await create(client, sdk, domain, abortSignal))
      return { records: recordsOf(identity, domain, access.region), verdict: verdictOf(identity) }
    } finally {
      client.destroy()
    }
  },
})

async function read(client: SESv2Client, sdk: SesSdk, domain: string, abortSignal: AbortSignal) {
  try {
    return await client.send(new sdk.GetEmailIdentityCommand({ EmailIdentity: domain }), { abortSignal })
  } catch (error) {
    if (error instanceof sdk.NotFoundException) return null
    throw error
  }
}

async function create(client: SESv2Client, sdk: SesSdk, domain: string, abortSignal: AbortSignal) {
  const options = { abortSignal }
  const DkimSigningAttributes = { NextSigningKeyLength: 'RSA_2048_BIT' } as const
  await client.send(
    new sdk.CreateEmailIdentityCommand({ EmailIdentity: domain, DkimSigningAttributes }),
    options,
  )
  // Without its record Amazon's own domain is used, so that mail leaves all the same.
  const mailFrom = new sdk.PutEmailIdentityMailFromAttributesCommand({
    EmailIdentity: domain,
    MailFromDomain: mailFromOf(domain),
    BehaviorOnMxFailure: 'USE_DEFAULT_VALUE',
  })
  await client.send(mailFrom, options)
  return client.send(new sdk.GetEmailIdentityCommand({ EmailIdentity: domain }), options)
}

const mailFromOf = (domain: string) => `bounce.${domain}`

function verdictOf({ VerifiedForSendingStatus, DkimAttributes }: GetEmailIdentityCommandOutput): Verdict {
  switch (DkimAttributes?.Status) {
    case 'SUCCESS':
      return VerifiedForSendingStatus ? 'present' : 'missing'
    case 'TEMPORARY_FAILURE':
      return 'unknown'
    default:
      return 'missing'
  }
}

function recordsOf(identity: GetEmailIdentityCommandOutput, domain: string, region: string): DnsRecord[] {
  const { DkimAttributes, MailFromAttributes } = identity
  const zone = DkimAttributes?.SigningHostedZone ?? 'dkim.amazonses.com'
  const dkim = (DkimAttributes?.Tokens ?? []).map((token) =>
    cnameRecord(`${token}._domainkey.${domain}`, `${token}.${zone}`, 'DKIM'),
  )
  const mailFrom = MailFromAttributes?.MailFromDomain
  if (!mailFrom) return dkim
  const returnPath = mxRecord(mailFrom, `feedback-smtp.${region}.amazonses.com`, 'RETURN_PATH')
  return [...dkim, returnPath, spfRecord(mailFrom, 'include:amazonses.com')]
}
