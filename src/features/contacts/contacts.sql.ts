import { contactCtes, heard } from '../../changes/changes.sql.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { statement } from '../../db/sql.ts'
import type { Contact } from '../../generated/prisma/client.ts'
import type { Consumer } from '../../generated/prisma/enums.ts'
import { mergeAlters, mergeAssignments, type UpsertOutcome, upsertContactCtes } from './upsert-contact.sql.ts'

/** Every column of a contact, by the names that the service uses; `alias` is the contact's relation. */
export const contactColumns = (alias: string): string =>
  `${alias}.project_id as "projectId", ${alias}.id, ${alias}.email, ${alias}.subscribed, ${alias}.data,
   ${alias}.subscription_event_id as "subscriptionEventId", ${alias}.created_at as "createdAt",
   ${alias}.updated_at as "updatedAt"`

const MERGE = { subscribed: ':subscribed', set: ':set', unset: ':unset' }

/**
 * Returns no row when a concurrent statement was faster and nothing is left to change: this one has read an
 * outdated row then, and the caller runs it again. `id` is that of a new contact, `set` is JSON.
 */
export const upsertContact = statement<
  {
    projectId: string
    email: string
    id: string
    subscribed: boolean | null
    set: string
    unset: string[]
    source: string
    now: Date
  },
  Contact & { outcome: UpsertOutcome; heard: Consumer[] }
>(
  'upsert-contact',
  `with person as (select :projectId::uuid as project_id, :id::uuid as id, :email::text as email),
   ${upsertContactCtes({ ...MERGE, defaultSubscribed: 'true' })},
   ${contactCtes({ set: ':set', unset: ':unset', source: ':source' })}
   select ${contactColumns('c')}, outcome, ${heard('heard_contact')} as heard from contact c
   where outcome <> 'unchanged' or not (${mergeAlters(MERGE)})`,
)

/** Whether the requested change would alter the contact `c`. */
const MAKES_A_DIFFERENCE = `(c.email <> coalesce(:email::text, c.email) or ${mergeAlters(MERGE)})`

export type ContactChange = {
  projectId: string
  id: string
  email: string | null
  subscribed: boolean | null
  /** JSON, and keys: what changes of its data. */
  set: string
  unset: string[]
  eventId: string
  source: string
  now: Date
}

/**
 * Changes one contact and records what that did to its subscription. Returns the contact as it is then; no row
 * when there is none. Merging happens in the row's newest version. When a concurrent statement has left nothing to
 * change, or no contact, the row is `outdated`: the caller runs the statement again.
 */
export const changeContact = statement<ContactChange, Contact & { outdated: boolean; heard: Consumer[] }>(
  'change-contact',
  `with changed as (
     update contacts c set email = coalesce(:email::text, c.email),
       ${mergeAssignments(MERGE, ':eventId::uuid')}
     where c.project_id = :projectId::uuid and c.id = :id::uuid and c.email not like '${ERASED}%'
       and ${MAKES_A_DIFFERENCE}
     returning *
   ),
   contact as (
     select *, 'updated' as outcome,
       subscription_event_id is not distinct from :eventId::uuid as subscription_changed
     from changed
   ),
   person as (select project_id, email, :eventId::uuid as id from changed),
   ${contactCtes({ set: ':set', unset: ':unset', source: ':source', email: ':email::text is not null' })}
   select ${contactColumns('contact')}, false as outdated, ${heard('heard_contact')} as heard from contact
   union all
   select ${contactColumns('c')}, ${MAKES_A_DIFFERENCE}, '{}' from contacts c
   where c.project_id = :projectId::uuid and c.id = :id::uuid and c.email not like '${ERASED}%'
     and not exists (select from changed)`,
)

/** Locks a contact and tells its address; no row when it is gone. */
export const holdAddress = statement<{ projectId: string; id: string }, { email: string }>(
  'hold-address',
  `select email from contacts
   where project_id = :projectId::uuid and id = :id::uuid and email not like '${ERASED}%' for update`,
)

/**
 * Has what waits of campaigns go to the address that the contact has now. What a worker has taken is left to it, and
 * messages that were accepted for an address go there. Indexes: emails_project_id_contact_id_id_idx, deliveries_pkey.
 */
export const readdressCampaigns = statement<{ projectId: string; id: string; email: string; now: Date }>(
  'readdress-campaigns',
  `with waiting as (
     select d.email_id from emails e join deliveries d on d.project_id = e.project_id and d.email_id = e.id
     where e.project_id = :projectId::uuid and e.contact_id = :id::uuid and e.source_type = 'CAMPAIGN'
       and e.status = 'PENDING' and d.taken_by is null
     for update of d skip locked
   )
   update emails e set to_email = :email, updated_at = :now::timestamptz from waiting
   where e.project_id = :projectId::uuid and e.id = waiting.email_id`,
)

/** The addresses that contacts have. Index: contacts_project_id_email_key. */
export const knownEmails = statement<{ projectId: string; emails: string[] }, { email: string }>(
  'known-emails',
  `select asked.email from unnest(:emails::text[]) as asked (email)
   where asked.email not like '${ERASED}%'
     and exists (select from contacts c where c.project_id = :projectId::uuid and c.email = asked.email)`,
)

/** Creates contacts with ids and addresses, unless the addresses exist. */
export const ensureContacts = statement<
  { projectId: string; ids: string[]; emails: string[]; subscribed: boolean; now: Date },
  {
    id: string
    email: string
    outcome: UpsertOutcome
    heard: Consumer[]
  }
>(
  'ensure-contacts',
  `with person as (
     select :projectId::uuid as project_id, id, email from unnest(:ids::uuid[], :emails::text[])
       as given (id, email)
   ),
   ${upsertContactCtes({
     subscribed: 'null',
     defaultSubscribed: ':subscribed',
     set: `'{}'`,
     unset: `'{}'`,
   })},
   ${contactCtes({ set: `'{}'`, unset: `'{}'`, source: `'api'` })}
   select id, email, outcome, ${heard('heard_contact')} as heard from contact`,
)

/** The last contact, in the order of ids. */
export const newestContact = statement<{ projectId: string }, { id: string }>(
  'newest-contact',
  'select id from contacts where project_id = :projectId::uuid order by id desc limit 1',
)
