import { type Ctx, projectIdOf } from '../../ctx.ts'
import { notFound } from '../../errors.ts'
import type { Domain } from '../../generated/prisma/client.ts'
import { within } from '../../lib/async/within.ts'
import { isId } from '../../lib/ids.ts'
import { createDnsResolver } from '../../lib/net/dns-resolver.ts'
import { notifyAdmins } from '../service-mail/service-mail.ts'
import { checkDns } from './check-dns.ts'
import { type DnsRecord, dkimName, readRecords, type StoredRecord, withStatus } from './dns-records.rules.ts'
import { takeDomainWork } from './domain-limit.ts'
import { keepsMail } from './sender.ts'
import {
  afterCheck,
  KEY_OVERLAP_MS,
  nextCheckAt,
  type Verdict,
  verdictOf,
  warmUpStart,
  worstOf,
} from './verification.rules.ts'
import { type PreviousKey, previousKeyOf, type WantedRecords, wantedRecords } from './wanted-records.ts'

/** How long a caller waits; a check that takes longer goes on. */
const LONGEST_WAIT_MS = 20_000

/**
 * Looks at the DNS of a domain now, and at its provider. Throws RATE_LIMIT_EXCEEDED when the project asks too often.
 */
export async function verifyDomain(ctx: Ctx, id: string): Promise<Domain> {
  const domain = await findDomain(ctx, id)
  await takeDomainWork(ctx)
  return (await within(LONGEST_WAIT_MS, checkDomain(ctx, domain))) ?? domain
}

/** Throws DOMAIN_NOT_FOUND when the project has none with this id. */
export async function findDomain(ctx: Ctx, id: string): Promise<Domain> {
  if (!isId(id)) throw notFound('The domain')
  const domain = await ctx.db.domain.findUnique({ where: keyOf(ctx, id) })
  if (!domain) throw notFound('The domain', 'DOMAIN_NOT_FOUND')
  return domain
}

const keyOf = (ctx: Ctx, id: string) => ({ projectId_id: { projectId: projectIdOf(ctx), id } })

/** A domain as real mail sees it: verified for the mailbox only is not verified. */
export const whereMailLeaves = (domain: Domain): Domain =>
  domain.mailboxOnly
    ? {
        ...domain,
        status: 'PENDING',
        records: withStatus(readRecords(domain.records), 'PENDING'),
        verifiedAt: null,
      }
    : domain

/** Checks a domain and stores what it has found, unless the domain was changed meanwhile. Returns it as it is stored. */
export async function checkDomain(ctx: Ctx, given: Domain): Promise<Domain> {
  const { projectId, id, updatedAt } = given
  const now = ctx.now()
  const change = keepsMail(ctx.config)
    ? await inMailbox(ctx, given)
    : await inDns(ctx, whereMailLeaves(given))
  const isAwaited = change.status !== 'VERIFIED' || change.dkimNextSelector !== null
  const mayLeave = change.status === 'VERIFIED' && !change.mailboxOnly
  const wasVerified = given.status === 'VERIFIED' && !given.mailboxOnly
  await ctx.atomically(async (tx) => {
    const { count } = await tx.db.domain.updateMany({
      where: { projectId, id, updatedAt },
      data: {
        ...change,
        ...(mayLeave && { warmUpFrom: warmUpStart(given, now) }),
        nextCheckAt: nextCheckAt(isAwaited, now, Math.random()),
        lastCheckedAt: now,
        updatedAt: now,
      },
    })
    if (count > 0 && wasVerified && change.status !== 'VERIFIED') await tellFallBack(tx, given)
  })
  return findDomain(ctx, id)
}

async function tellFallBack(tx: Ctx, { projectId, id, domain }: Domain): Promise<void> {
  const about = { projectId, domainId: id, domain }
  tx.log.warn(about, 'a sender domain is no longer verified: mail from it is refused until it is again')
  await notifyAdmins(tx, projectId, {
    subject: `Mail from ${domain} is refused: its DNS records are gone`,
    paragraphs: [
      `The DNS records of ${domain} have been missing for three days, so it no longer counts as verified and mail from it is refused.`,
      'Publish the records again, as the list of the domain shows them. The domain is checked every few minutes and counts as verified as soon as they are there.',
    ],
  })
}

/** No mail leaves, so that nobody needs records: every domain counts as verified. */
async function inMailbox(ctx: Ctx, domain: Domain) {
  const { records } = await wantedRecords(ctx, domain)
  const checked = withStatus(records, 'VERIFIED')
  return {
    status: 'VERIFIED' as const,
    mailboxOnly: domain.mailboxOnly || domain.status !== 'VERIFIED',
    verifiedAt: domain.verifiedAt ?? ctx.now(),
    missingSince: null,
    ...withNewKey(ctx, domain, checked),
  }
}

async function inDns(ctx: Ctx, domain: Domain) {
  const { records, provider } = await wanted(ctx, domain)
  const before = new Map(readRecords(domain.records).map((record) => [nameOf(record), record.status]))
  // An answer of a moment ago would hide what was published since.
  const dns = createDnsResolver({ servers: ctx.config.dnsServers, now: ctx.now })
  const known = records.map((record) => ({ ...record, status: before.get(nameOf(record)) ?? 'PENDING' }))
  const checked = await checkDns(dns, domain.domain, known)
  return {
    mailboxOnly: false,
    ...afterCheck(domain, verdictOn(checked, provider), ctx.now()),
    ...withNewKey(ctx, domain, checked),
  }
}

const nameOf = ({ type, name, value }: DnsRecord) => `${type} ${name} ${value}`

/** A provider that does not answer says nothing about the domain. */
async function wanted(ctx: Ctx, domain: Domain): Promise<WantedRecords> {
  try {
    return await wantedRecords(ctx, domain)
  } catch (error) {
    ctx.log.warn({ err: error, domain: domain.domain }, 'the mail provider could not be asked about a domain')
    return { records: readRecords(domain.records), provider: 'unknown' }
  }
}

/** A provider that signs tells itself whether it finds its keys. */
function verdictOn(checked: StoredRecord[], provider: Verdict | null): Verdict {
  const needed = checked.filter(({ required, purpose }) =>
    provider === null ? required : purpose === 'OWNERSHIP',
  )
  const verdicts = needed.map(verdictOf)
  if (provider !== null) verdicts.push(provider)
  return verdicts.length === 0 ? 'missing' : worstOf(verdicts)
}

/** Has the new key sign once its record is found; the record of the one before stays for a while. */
function withNewKey(ctx: Ctx, domain: Domain, checked: StoredRecord[]) {
  const { dkimSelector, dkimNextSelector, dkimNextPrivateKey } = domain
  const previous = previousKeyOf(domain)
  const recordOf = (selector: string | null | undefined) =>
    checked.find(({ name }) => name === dkimName(domain.domain, selector ?? ''))
  const next = dkimNextSelector === null ? undefined : recordOf(dkimNextSelector)
  const current = recordOf(dkimSelector)
  if (next?.status !== 'VERIFIED' || !current || dkimSelector === null) {
    const records = checked.map((record) =>
      record === next
        ? waiting(record)
        : previous && record === recordOf(previous.selector)
          ? kept(record, previous)
          : record,
    )
    const isOver = previous !== null && previous.until <= ctx.now()
    return { records, dkimNextSelector, ...(isOver && { dkimPrevious: {} }) }
  }
  const until = new Date(ctx.now().getTime() + KEY_OVERLAP_MS)
  const replaced: PreviousKey = { selector: dkimSelector, value: current.value, until }
  return {
    records: checked.map((record) =>
      record === next
        ? { ...record, required: true }
        : record === current
          ? kept({ ...record, required: false }, replaced)
          : record,
    ),
    ...{ dkimSelector: dkimNextSelector, dkimPrivateKey: dkimNextPrivateKey },
    ...{ dkimNextSelector: null, dkimNextPrivateKey: null },
    dkimPrevious: { ...replaced, until: until.toISOString() },
  }
}

const kept = (record: StoredRecord, { until }: PreviousKey): StoredRecord => ({
  ...record,
  message: `Leave it until ${until.toISOString()}: mail that was signed with this key may be under way.`,
})

const waiting = (record: StoredRecord): StoredRecord => ({
  ...record,
  message: ['The new key signs once this record is found.', record.message].filter(Boolean).join(' '),
})
