import { assertQuota, takeQuota } from '../../admission/quotas.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { sqlState } from '../../db/sql.ts'
import { AppError, conflict, fieldError, notFound } from '../../errors.ts'
import type { Domain } from '../../generated/prisma/client.ts'
import { newId } from '../../lib/ids.ts'
import { asciiDomain } from '../../lib/net/domain-name.ts'
import { recordChange } from '../audit/audit-log.ts'
import { findDomain, whereMailLeaves } from './check-domain.ts'
import { newDkimKey, nextSelector, publicKeyOf } from './dkim-keys.ts'
import { dkimRecord, dkimValue, readRecords, withStatus } from './dns-records.rules.ts'
import { takeDomainWork } from './domain-limit.ts'
import { usersOfDomain } from './domains.sql.ts'
import { domainProvider } from './providers/choose-provider.ts'
import { keepsMail } from './sender.ts'
import { nextCheckAt, warmUpStart } from './verification.rules.ts'
import { previousKeyOf, wantedRecords } from './wanted-records.ts'

export { whereMailLeaves } from './check-domain.ts'

const UNIQUE_VIOLATION = new Set(['23505', 'P2002'])

/**
 * Adds a domain with its DNS records and its DKIM key. With the mailbox provider nothing leaves the machine,
 * so the domain counts as verified at once, for as long as that is so. Throws CONFLICT, VALIDATION_ERROR when the
 * quota has no room, or EXTERNAL_SERVICE_ERROR when the mail provider does not take the domain, unless an operator vouches
 * for it.
 */
export async function addDomain(
  ctx: Ctx,
  input: { domain: string },
  { vouched }: { vouched: boolean } = { vouched: false },
): Promise<Domain> {
  const domain = asciiDomain(input.domain)
  if ((await ctx.db.domain.count({ where: { domain } })) > 0) throw domainTaken(domain)
  await assertQuota(ctx, 'domains', { field: 'domain' })
  await takeDomainWork(ctx)
  const now = ctx.now()
  const id = newId(now)
  const key = {
    dkimSelector: nextSelector(null),
    dkimPrivateKey: ctx.config.sealing.seal(await newDkimKey(ctx)),
  }
  const none = { dkimNextSelector: null, dkimNextPrivateKey: null, dkimPrevious: null }
  const { records } = await wantedRecords(ctx, { id, domain, ...key, ...none }).catch((error: unknown) => {
    ctx.log.warn({ err: error, domain }, 'the mail provider did not take a domain')
    if (!vouched) throw providerRefused(domain)
    return { records: [] }
  })
  const verified = keepsMail(ctx.config)
  try {
    return await ctx.atomically(async (tx) => {
      await takeQuota(tx, 'domains', { field: 'domain' })
      await recordChange(tx, projectIdOf(tx), { action: 'domain.add', target: domain })
      return tx.db.domain.create({
        data: {
          ...{ projectId: projectIdOf(ctx), id, domain, ...key },
          status: verified ? 'VERIFIED' : 'PENDING',
          mailboxOnly: verified,
          vouched,
          verifiedAt: verified ? now : null,
          records: withStatus(records, verified ? 'VERIFIED' : 'PENDING'),
          warmUp: [...ctx.config.domainWarmUp],
          nextCheckAt: nextCheckAt(true, now, Math.random()),
          ...{ createdAt: now, updatedAt: now },
        },
      })
    })
  } catch (error) {
    if (!UNIQUE_VIOLATION.has(sqlState(error) ?? '')) throw error
    throw domainTaken(domain)
  }
}

const domainTaken = (domain: string) =>
  conflict(`The domain ${domain} has been added already, to this project or to another one.`)

const providerRefused = (domain: string) =>
  new AppError('EXTERNAL_SERVICE_ERROR', `The mail provider did not take ${domain}. Nothing was added.`, {
    suggestion:
      'Try again later. If it stays so, another account of the provider may have the domain; the operator finds the reason in the log.',
  })

/** Domains of the caller's project, newest first. Another project's id is one that does not exist. */
export async function listDomains(ctx: Ctx, projectId: string): Promise<Domain[]> {
  if (projectId.toLowerCase() !== projectIdOf(ctx)) throw notFound('The project')
  const domains = await ctx.db.domain.findMany({
    where: { projectId: projectIdOf(ctx) },
    orderBy: { id: 'desc' },
  })
  return keepsMail(ctx.config) ? domains : domains.map(whereMailLeaves)
}

/**
 * Deletes a domain. Unless `force` is given, throws CONFLICT while campaigns under way or workflows that are on send from it.
 */
export async function deleteDomain(ctx: Ctx, id: string, { force }: { force: boolean }): Promise<void> {
  const { projectId, domain } = await findDomain(ctx, id)
  const [users] = force ? [] : await ctx.sql(usersOfDomain, { projectId, domain })
  const names = [...(users?.campaigns ?? []), ...(users?.workflows ?? [])]
  if (names.length > 0) {
    throw conflict(
      `Mail is being sent from ${domain} by ${names.map((name) => `"${name}"`).join(', ')}. Cancel or change the campaigns ` +
        'and turn the workflows off first, or delete it with force=true: their mail fails then.',
    )
  }
  await ctx.atomically(async (tx) => {
    const { count } = await tx.db.domain.deleteMany({ where: { projectId, id } })
    if (count === 0) throw notFound('The domain', 'DOMAIN_NOT_FOUND')
    await recordChange(tx, projectId, { action: 'domain.delete', target: domain })
  })
}

/**
 * Begins to replace the DKIM key of a domain: the new one signs once its record is found in the DNS. Throws CONFLICT while a
 * replacement is going on, and where the mail provider signs with keys of its own.
 */
export async function rotateDkimKey(ctx: Ctx, id: string): Promise<Domain> {
  if (domainProvider(ctx.config)) {
    throw conflict('The mail provider signs with keys of its own, so there is none to replace here.')
  }
  const domain = await findDomain(ctx, id)
  const previous = previousKeyOf(domain)
  const now = ctx.now()
  if (domain.dkimNextSelector !== null) throw keyWaits(domain.domain, domain.dkimNextSelector)
  if (previous && previous.until > now) {
    throw conflict(
      `The last replacement ends on ${previous.until.toISOString()}; mail may be under way until then.`,
    )
  }
  await takeDomainWork(ctx)
  const selector = nextSelector(domain.dkimSelector)
  const privateKey = await newDkimKey(ctx)
  const record = dkimRecord(domain.domain, selector, dkimValue(publicKeyOf(privateKey)), false)
  const others = readRecords(domain.records).filter(({ name }) => name !== record.name)
  const [added] = withStatus([record], 'PENDING')
  await ctx.atomically(async (tx) => {
    await recordChange(tx, domain.projectId, { action: 'domain.rotateKey', target: domain.domain })
    const { count } = await tx.db.domain.updateMany({
      where: { projectId: domain.projectId, id, dkimSelector: domain.dkimSelector, dkimNextSelector: null },
      data: {
        dkimNextSelector: selector,
        dkimNextPrivateKey: ctx.config.sealing.seal(privateKey),
        dkimPrevious: {},
        records: added ? [...others, added] : others,
        nextCheckAt: nextCheckAt(true, now, Math.random()),
        updatedAt: now,
      },
    })
    if (count === 0) throw keyWaits(domain.domain, selector)
  })
  return findDomain(ctx, id)
}

const keyWaits = (domain: string, selector: string) =>
  conflict(`A new key waits for its record already; publish ${selector}._domainkey.${domain}.`)

/** Marks a domain as verified without looking at DNS; the operator vouches for it. Adds it when it is new. */
export async function forceVerified(ctx: Ctx, domain: string): Promise<Domain> {
  const name = asciiDomain(domain.trim())
  if (name === '') throw fieldError('domain', 'invalid_string', 'must be a domain name')
  const projectId = projectIdOf(ctx)
  const known = await ctx.db.domain.findFirst({ where: { projectId, domain: name } })
  const added = known ?? (await addDomain(ctx, { domain: name }, { vouched: true }))
  const { id, records } = added
  const now = ctx.now()
  return ctx.atomically(async (tx) => {
    await recordChange(tx, projectId, { action: 'domain.verify', target: name })
    return tx.db.domain.update({
      where: { projectId_id: { projectId, id } },
      data: {
        ...{ status: 'VERIFIED', mailboxOnly: false, vouched: true, missingSince: null },
        records: withStatus(readRecords(records), 'VERIFIED'),
        ...{ verifiedAt: now, updatedAt: now },
        warmUpFrom: warmUpStart(added, now),
      },
    })
  })
}
