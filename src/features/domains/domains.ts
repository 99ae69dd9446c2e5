import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { assertQuota, takeQuota } from '../../admission/quotas.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { sqlState } from '../../db/sql.ts'
import { conflict, fieldError, notFound } from '../../errors.ts'
import type { Domain } from '../../generated/prisma/client.ts'
import { isId, newId } from '../../lib/ids.ts'
import { asciiDomain } from '../../lib/net/domain-name.ts'
import { deriveKey, encrypt } from '../../lib/secrets.ts'
import { type DnsRecord, dkimRecord, mailRecords, readRecords } from './dns-records.rules.ts'
import { keepsMail } from './sender.ts'

const SELECTOR = 'mailwright'
const UNIQUE_VIOLATION = new Set(['23505', 'P2002'])

const generateKeys = promisify(generateKeyPair)

/** RSA with 2048 bits, which every receiver verifies (RFC 8301, 3.2). */
async function newDkimKey(): Promise<{ publicKey: string; privateKey: string }> {
  const { publicKey, privateKey } = await generateKeys('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return { publicKey: publicKey.toString('base64'), privateKey }
}

/**
 * Adds a domain with its DNS records and its DKIM key. With the mailbox provider nothing leaves the machine,
 * so the domain counts as verified at once, for as long as that is so. Throws CONFLICT, or VALIDATION_ERROR when the
 * quota has no room.
 */
export async function addDomain(ctx: Ctx, input: { domain: string }): Promise<Domain> {
  const domain = asciiDomain(input.domain)
  if ((await ctx.db.domain.count({ where: { domain } })) > 0) throw domainTaken(domain)
  await assertQuota(ctx, 'domains', { field: 'domain' })
  const key = await newDkimKey()
  const now = ctx.now()
  const verified = keepsMail(ctx.config)
  const records: DnsRecord[] = [dkimRecord(domain, SELECTOR, key.publicKey), ...mailRecords(domain)]
  try {
    return await ctx.atomically(async (tx) => {
      await takeQuota(tx, 'domains', { field: 'domain' })
      return tx.db.domain.create({
        data: {
          projectId: projectIdOf(ctx),
          id: newId(now),
          domain,
          status: verified ? 'VERIFIED' : 'PENDING',
          mailboxOnly: verified,
          verifiedAt: verified ? now : null,
          records: records.map((record) => ({ ...record, status: verified ? 'VERIFIED' : 'PENDING' })),
          dkimSelector: SELECTOR,
          dkimPrivateKey: new Uint8Array(encrypt(encryptionKey(ctx), key.privateKey)),
          createdAt: now,
          updatedAt: now,
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

const encryptionKey = (ctx: Ctx) => deriveKey(ctx.config.encryptionSecret, 'mailwright secrets at rest')

/** Domains of the caller's project, newest first. Another project's id is one that does not exist. */
export async function listDomains(ctx: Ctx, projectId: string): Promise<Domain[]> {
  if (projectId.toLowerCase() !== projectIdOf(ctx)) throw notFound('The project')
  const domains = await ctx.db.domain.findMany({
    where: { projectId: projectIdOf(ctx) },
    orderBy: { id: 'desc' },
  })
  return keepsMail(ctx.config) ? domains : domains.map(whereMailLeaves)
}

/** A domain as real mail sees it: verified for the mailbox only is not verified. */
export const whereMailLeaves = (domain: Domain): Domain =>
  domain.mailboxOnly
    ? {
        ...domain,
        status: 'PENDING',
        records: readRecords(domain.records).map((record) => ({ ...record, status: 'PENDING' })),
        verifiedAt: null,
      }
    : domain

export async function deleteDomain(ctx: Ctx, id: string): Promise<void> {
  if (!isId(id)) throw notFound('The domain')
  const { count } = await ctx.db.domain.deleteMany({ where: { projectId: projectIdOf(ctx), id } })
  if (count === 0) throw notFound('The domain', 'DOMAIN_NOT_FOUND')
}

/** Marks a domain as verified without looking at DNS; the operator vouches for it. Adds it when it is new. */
export async function forceVerified(ctx: Ctx, domain: string): Promise<Domain> {
  const name = asciiDomain(domain.trim())
  if (name === '') throw fieldError('domain', 'invalid_string', 'must be a domain name')
  const projectId = projectIdOf(ctx)
  const known = await ctx.db.domain.findFirst({ where: { projectId, domain: name } })
  const { id, records } = known ?? (await addDomain(ctx, { domain: name }))
  const now = ctx.now()
  return ctx.db.domain.update({
    where: { projectId_id: { projectId, id } },
    data: {
      status: 'VERIFIED',
      mailboxOnly: false,
      records: readRecords(records).map((record) => ({ ...record, status: 'VERIFIED' })),
      verifiedAt: now,
      updatedAt: now,
    },
  })
}
