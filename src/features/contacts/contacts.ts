import type { z } from 'zod'
import { wakeFollowers } from '../../changes/followers.ts'
import { type Ctx, projectIdOf } from '../../ctx.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { violates } from '../../db/sql.ts'
import { badRequest, conflict, notFound, serviceUnavailable } from '../../errors.ts'
import type { Contact } from '../../generated/prisma/client.ts'
import type { Consumer } from '../../generated/prisma/enums.ts'
import type { ContactWhereUniqueInput } from '../../generated/prisma/models.ts'
import { retried } from '../../lib/async/retried.ts'
import { isId, newId } from '../../lib/ids.ts'
import { normalizeEmail } from '../../messages/email-address.rules.ts'
import { readData } from './contact-data.rules.ts'
import type { createContactInput, lookupContactsInput, updateContactInput } from './contacts.input.ts'
import {
  type ContactChange,
  changeContact,
  ensureContacts as ensureContactsStatement,
  holdAddress,
  knownEmails,
  newestContact,
  readdressCampaigns,
  upsertContact,
} from './contacts.sql.ts'
import { forgetInJobs } from './erase-contacts.sql.ts'
import { eraseContact } from './erase-contacts.ts'
import { dataTooLarge, recordFieldNames } from './field-names.ts'
import type { UpsertOutcome } from './upsert-contact.sql.ts'

export type UpsertedContact = Contact & { outcome: UpsertOutcome }

/** Creates the contact or merges into the one with this address, in one commit. */
export async function createContact(
  ctx: Ctx,
  input: z.output<typeof createContactInput>,
): Promise<UpsertedContact> {
  const now = ctx.now()
  const { set, unset } = readData(input.data)
  await recordFieldNames(ctx, set)
  const params = {
    projectId: projectIdOf(ctx),
    email: input.email,
    id: newId(now),
    subscribed: input.subscribed ?? null,
    set: JSON.stringify(set),
    unset,
    source: 'api',
    now,
  }
  const contact = await retried(async () => (await ctx.sql(upsertContact, params).catch(refuseTooLarge))[0])
  if (!contact) throw serviceUnavailable()
  wakeFollowers(ctx, [contact])
  return contact
}

/** A rejection handler: data that the database refuses as too large is an error of the caller. */
export function refuseTooLarge(error: unknown): never {
  throw violates(error, 'contacts_data_size') ? dataTooLarge() : error
}

async function getContact(ctx: Ctx, id: string): Promise<Contact> {
  if (!isId(id)) throw notFound('The contact')
  return contactWhere(ctx, { projectId_id: { projectId: projectIdOf(ctx), id } })
}

type ContactKey = { id?: string | null | undefined; email?: string | null | undefined }

/** The contact with this id or this address; exactly one of the two is given. */
export async function findContact(ctx: Ctx, { id, email: address }: ContactKey): Promise<Contact> {
  if (id && !address) return getContact(ctx, id)
  if (id || !address) throw badRequest('Name the contact by its id or by its email.')
  const projectId_email = { projectId: projectIdOf(ctx), email: normalizeEmail(address) }
  return contactWhere(ctx, { projectId_email })
}

async function contactWhere(ctx: Ctx, where: ContactWhereUniqueInput): Promise<Contact> {
  const contact = await ctx.db.contact.findUnique({ where })
  if (!contact || contact.email.startsWith(ERASED)) throw contactNotFound()
  return contact
}

export const contactNotFound = () => notFound('The contact', 'CONTACT_NOT_FOUND')

/** Changes the given fields; a changed subscription is recorded as an event in the same commit. */
export async function updateContact(
  ctx: Ctx,
  id: string,
  input: z.output<typeof updateContactInput>,
): Promise<Contact> {
  if (!isId(id)) throw notFound('The contact')
  const now = ctx.now()
  const { set, unset } = readData(input.data)
  await recordFieldNames(ctx, set)
  const params = {
    projectId: projectIdOf(ctx),
    id,
    email: input.email ?? null,
    subscribed: input.subscribed ?? null,
    set: JSON.stringify(set),
    unset,
    eventId: newId(now),
    source: 'api',
    now,
  }
  const change = input.email === undefined ? changeInOne : changeAddress
  const contact = await retried(async () => {
    const [changed] = await change(ctx, params).catch(refuseTaken)
    if (!changed) throw contactNotFound()
    return changed.outdated ? undefined : changed
  })
  if (!contact) throw serviceUnavailable()
  wakeFollowers(ctx, [contact])
  return contact
}

type Changed = Contact & { outdated: boolean; heard: Consumer[] }

const changeInOne = (ctx: Ctx, params: ContactChange): Promise<Changed[]> => ctx.sql(changeContact, params)

/** The old address is personal, and nothing leads from it to the contact any more. */
const changeAddress = (ctx: Ctx, params: ContactChange): Promise<Changed[]> =>
  ctx.atomically(async (tx) => {
    const { projectId, id } = params
    const [before] = await tx.sql(holdAddress, { projectId, id })
    const changed = await tx.sql(changeContact, params)
    if (before && changed[0] && changed[0].email !== before.email) {
      await tx.sql(forgetInJobs, { projectId, emails: [before.email] })
      await tx.sql(readdressCampaigns, { projectId, id, email: changed[0].email, now: params.now })
    }
    return changed
  })

function refuseTaken(error: unknown): never {
  if (!violates(error, 'contacts_project_id_email_key')) return refuseTooLarge(error)
  throw conflict('Another contact of the project has this address.')
}

/** Removes the contact and everything that is about it; see `eraseContact`. */
export async function deleteContact(ctx: Ctx, id: string): Promise<void> {
  if (!isId(id)) throw notFound('The contact')
  if (!(await eraseContact(ctx, id))) throw contactNotFound()
}

export type Lookup = { found: string[]; notFound: string[] }

/** Which addresses belong to contacts, each once, in lower case and in the order given. */
export async function lookupContacts(
  ctx: Ctx,
  { emails }: z.output<typeof lookupContactsInput>,
): Promise<Lookup> {
  const asked = [...new Set(emails.map(normalizeEmail))]
  const known = new Set(
    (await ctx.sql(knownEmails, { projectId: projectIdOf(ctx), emails: asked })).map((row) => row.email),
  )
  return {
    found: asked.filter((address) => known.has(address)),
    notFound: asked.filter((address) => !known.has(address)),
  }
}

/**
 * Creates contacts for addresses that have none; existing ones stay as they are. Locks in the common order.
 */
export async function ensureContacts(
  ctx: Ctx,
  emails: string[],
  subscribed: boolean,
): Promise<{ id: string; email: string; outcome: UpsertOutcome }[]> {
  const now = ctx.now()
  const sorted = emails.toSorted()
  const ids = sorted.map(() => newId(now))
  const made = await ctx.sql(ensureContactsStatement, {
    projectId: projectIdOf(ctx),
    ids,
    emails: sorted,
    subscribed,
    now,
  })
  wakeFollowers(ctx, made)
  return made
}

/** The id of the contact that was created last; null when the project has none. */
export async function newestContactId(ctx: Ctx): Promise<string | null> {
  const [newest] = await ctx.sql(newestContact, { projectId: projectIdOf(ctx) })
  return newest?.id ?? null
}
