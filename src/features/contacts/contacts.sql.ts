import { contactCtes, heard } from '../../changes/changes.sql.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { type Statement, statement } from '../../db/sql.ts'
import type { Contact } from '../../generated/prisma/client.ts'
import { upsertContactCtes } from './upsert-contact.sql.ts'

/** Every column of a contact, by the names that the service uses; `alias` is the contact's relation. */
export const contactColumns = (alias: string): string =>
  `${alias}.project_id as "projectId", ${alias}.id, ${alias}.email, ${alias}.subscribed, ${alias}.data,
   ${alias}.subscription_event_id as "subscriptionEventId", ${alias}.created_at as "createdAt",
   ${alias}.updated_at as "updatedAt"`

export type UpsertOutcome = 'created' | 'updated' | 'unchanged'

/**
 * No row when a concurrent statement was faster and has left nothing to change: what this one has read is outdated
 * then, and the caller runs it again.
 * $1 project, $2 email, $3 id if new, $4 subscribed, $5 data to set, $6 data to unset, $7 source, $8 now.
 */
export const upsertContact: Statement<Contact & { outcome: UpsertOutcome; heard: boolean }> = statement(
  'upsert-contact',
  `with person as (select $1::uuid as project_id, $3::uuid as id, $2::text as email),
   ${upsertContactCtes({ subscribed: '$4', defaultSubscribed: 'true', set: '$5', unset: '$6', now: '$8' })},
   ${contactCtes({ set: '$5', unset: '$6', source: '$7', now: '$8' })}
   select ${contactColumns('contact')}, outcome, ${heard('heard_contact')} as heard from contact
   where outcome <> 'unchanged'
     or subscribed = coalesce($4::boolean, subscribed) and data = (data || $5::jsonb) - $6::text[]`,
)

/** Whether the change that is asked for makes any difference to the contact `c`. */
const MAKES_A_DIFFERENCE = `(c.email <> coalesce($3::text, c.email)
  or c.subscribed <> coalesce($4::boolean, c.subscribed) or c.data <> (c.data || $5::jsonb) - $6::text[])`

/**
 * Changes one contact and records what that did to its subscription. Returns the contact as it is then; no row
 * when there is none. Merging happens in the row's newest version. When a concurrent statement has left nothing to
 * change, or no contact, the row is `outdated`: the caller runs the statement again.
 * $1 project, $2 contact, $3 email, $4 subscribed, $5 data to set, $6 data to unset, $7 event id, $8 source, $9 now.
 */
export const changeContact: Statement<Contact & { outdated: boolean; heard: boolean }> = statement(
  'change-contact',
  `with changed as (
     update contacts c set email = coalesce($3::text, c.email), subscribed = coalesce($4::boolean, c.subscribed),
       data = (c.data || $5::jsonb) - $6::text[],
       subscription_event_id = case when c.subscribed <> coalesce($4::boolean, c.subscribed)
         then $7::uuid else c.subscription_event_id end,
       updated_at = $9::timestamptz
     where c.project_id = $1::uuid and c.id = $2::uuid and c.email not like '${ERASED}%' and ${MAKES_A_DIFFERENCE}
     returning *
   ),
   contact as (
     select *, 'updated' as outcome, subscription_event_id is not distinct from $7::uuid as subscription_changed
     from changed
   ),
   person as (select project_id, email, $7::uuid as id from changed),
   ${contactCtes({ set: '$5', unset: '$6', source: '$8', now: '$9', email: '$3::text is not null' })}
   select ${contactColumns('contact')}, false as outdated, ${heard('heard_contact')} as heard from contact
   union all
   select ${contactColumns('c')}, ${MAKES_A_DIFFERENCE}, false from contacts c
   where c.project_id = $1::uuid and c.id = $2::uuid and c.email not like '${ERASED}%' and not exists (select from changed)`,
)

/** Locks contact $2 of project $1 and tells its address; no row when it is gone. */
export const holdAddress: Statement<{ email: string }> = statement(
  'hold-address',
  `select email from contacts
   where project_id = $1::uuid and id = $2::uuid and email not like '${ERASED}%' for update`,
)

/** Which of the addresses $2 are those of contacts of project $1. Index: contacts_project_id_email_key. */
export const knownEmails: Statement<{ email: string }> = statement(
  'known-emails',
  `select asked.email from unnest($2::text[]) as asked (email)
   where asked.email not like '${ERASED}%'
     and exists (select from contacts c where c.project_id = $1::uuid and c.email = asked.email)`,
)
