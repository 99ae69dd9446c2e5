import { z } from 'zod'
import type { Ctx } from '../../ctx.ts'
import type { Domain } from '../../generated/prisma/client.ts'
import { publicKeyOf } from './dkim-keys.ts'
import {
  type DnsRecord,
  dkimRecord,
  dkimValue,
  dmarcRecord,
  mxRecord,
  ownershipRecord,
  spfRecord,
} from './dns-records.rules.ts'
import { domainProvider } from './providers/choose-provider.ts'
import type { Verdict } from './verification.rules.ts'

type Keys = Pick<Domain, 'dkimSelector' | 'dkimPrivateKey' | 'dkimNextSelector' | 'dkimNextPrivateKey'>
export type Named = Pick<Domain, 'id' | 'domain' | 'dkimPrevious'> & Keys

/** `provider` is what the mail provider says of the domain; null where only the DNS counts. */
export type WantedRecords = { records: DnsRecord[]; provider: Verdict | null }

/** The key before: its record has to stay for mail that is under way. */
const previousKey = z.object({ selector: z.string(), value: z.string(), until: z.coerce.date() })
export type PreviousKey = z.infer<typeof previousKey>

export const previousKeyOf = ({ dkimPrevious }: Pick<Domain, 'dkimPrevious'>): PreviousKey | null =>
  previousKey.safeParse(dkimPrevious).data ?? null

/** The records that a domain has to have with the provider of this service. Throws what the provider answers. */
export async function wantedRecords(ctx: Ctx, named: Named): Promise<WantedRecords> {
  const { config } = ctx
  const { domain, id } = named
  const inbound = config.senderDomains.inboundMx
  const common = [dmarcRecord(domain), ...(inbound === null ? [] : [mxRecord(domain, inbound, 'INBOUND')])]
  const provider = domainProvider(config)
  if (!provider) return { records: [...ownRecords(ctx, named), ...common], provider: null }
  const { records, verdict } = await provider.look(domain)
  return { records: [...records, ownershipRecord(domain, id), ...common], provider: verdict }
}

function ownRecords(ctx: Ctx, named: Named): DnsRecord[] {
  const { sealing, senderDomains } = ctx.config
  const { domain } = named
  const keyRecord = (selector: string | null, key: Uint8Array | null, required: boolean): DnsRecord[] =>
    selector === null || key === null
      ? []
      : [dkimRecord(domain, selector, dkimValue(publicKeyOf(sealing.open(key))), required)]
  const previous = previousKeyOf(named)
  return [
    ...keyRecord(named.dkimSelector, named.dkimPrivateKey, true),
    ...keyRecord(named.dkimNextSelector, named.dkimNextPrivateKey, false),
    ...(previous && previous.until > ctx.now()
      ? [dkimRecord(domain, previous.selector, previous.value, false)]
      : []),
    ...(senderDomains.spf === null ? [] : [spfRecord(domain, senderDomains.spf)]),
  ]
}
