import { DATABASE_NOW } from '../../db/database-clock.ts'
import { ERASED } from '../../db/kept-contacts.sql.ts'
import { statement } from '../../db/sql.ts'
import { DELETED_RECIPIENTS } from '../../messages/ledger.sql.ts'

/**
 * Locks contacts, so that nothing is added to them. `many` says that one has more than `most` events or emails: too
 * many to go in one commit.
 */
export const holdToErase = statement<
  { projectId: string; ids: string[]; most: number },
  { id: string; email: string; many: boolean }
>(
  'hold-contacts-to-erase',
  `select c.id, c.email, greatest(
     (select count(*) from (select from events e
       where e.project_id = :projectId::uuid and e.contact_id = c.id limit :most::int + 1) few),
     (select count(*) from (select from emails e
       where e.project_id = :projectId::uuid and e.contact_id = c.id
         limit :most::int + 1) few)) > :most::int as many
   from contacts c
   where c.project_id = :projectId::uuid and c.id = any(:ids::uuid[]) and c.email not like '${ERASED}%'
   order by c.id for update`,
)

/** Removes waiting mail of the contacts `:ids` from the delivery queue. */
const WAITING = `waiting as (
  delete from deliveries d using emails e
  where d.project_id = :projectId::uuid and e.project_id = :projectId::uuid and e.id = d.email_id
    and e.contact_id = any(:ids::uuid[]))`

/** Their steps are deleted, and counted, all at once: by the foreign key each execution would take its own along. */
const EXECUTIONS = `steps as (
     delete from step_executions s using workflow_executions x where x.project_id = :projectId::uuid
       and x.contact_id = any(:ids::uuid[]) and s.project_id = :projectId::uuid and s.execution_id = x.id),
   executions as (delete from workflow_executions where project_id = :projectId::uuid
     and contact_id = any(:ids::uuid[]))`

/**
 * Deletes contacts; their emails, events and memberships go with them, by the
 * foreign keys. They stay in the ledgers of campaigns, which have to add up. Returns the files of their mail.
 */
export const deleteContacts = statement<{ projectId: string; ids: string[] }, { sets: string[] }>(
  'delete-contacts',
  `with ${WAITING}, ${DELETED_RECIPIENTS}, ${EXECUTIONS},
   deleted as (delete from contacts where project_id = :projectId::uuid and id = any(:ids::uuid[]))
   select coalesce(array_agg(distinct attachment_set_id::text), '{}') as sets from emails
   where project_id = :projectId::uuid and contact_id = any(:ids::uuid[]) and attachment_set_id is not null`,
)

/** Removes all data of contacts but their events and emails, which follow: no request finds the contacts. */
export const hideContacts = statement<{ projectId: string; ids: string[] }>(
  'hide-contacts',
  `with ${WAITING}, ${DELETED_RECIPIENTS},
   memberships as (delete from segment_members where project_id = :projectId::uuid
     and contact_id = any(:ids::uuid[])),
   ${EXECUTIONS},
   calls as (delete from webhook_messages where project_id = :projectId::uuid and contact_id = any(:ids::uuid[]))
   update contacts set email = '${ERASED}' || id, subscribed = false, data = '{}', subscription_event_id = null
   where project_id = :projectId::uuid and id = any(:ids::uuid[])`,
)

/**
 * Notes that traces must be removed, of a hidden contact or of deleted ones (null); the first note has the
 * files.
 */
export const noteErasures = statement<{
  projectId: string
  ids: string[]
  contactIds: (string | null)[]
  sets: string[]
}>(
  'note-erasures',
  `insert into contact_erasures (project_id, id, contact_id, attachment_sets)
   select :projectId::uuid, id, contact_id, case when position = 1 then :sets::uuid[] else '{}' end
   from unnest(:ids::uuid[], :contactIds::uuid[]) with ordinality as given (id, contact_id, position)`,
)

/** An erasure whose time has come; those of contacts that were hidden from the beginning have one. */
const IS_DUE = `(due_at is null or due_at <= ${DATABASE_NOW})`

/** The oldest erasure with a contact that is still to be removed. */
export const contactToErase = statement<
  { projectId: string; clockShift: number },
  { id: string; contactId: string }
>(
  'contact-to-erase',
  `select id, contact_id as "contactId" from contact_erasures
   where project_id = :projectId::uuid and contact_id is not null and ${IS_DUE} order by id limit 1`,
)

/** The oldest erasure whose contacts are gone and whose files are not. */
export const filesToErase = statement<{ projectId: string }, { id: string; sets: string[] }>(
  'files-to-erase',
  `select id, attachment_sets::text[] as sets from contact_erasures
   where project_id = :projectId::uuid and contact_id is null and attachment_sets <> '{}' order by id limit 1`,
)

/** That only answers are left to look through for an erasure. */
const ONLY_ANSWERS = `contact_id is null and attachment_sets = '{}'`

/** The erasure whose answers are looked through, or which is the next one; locked. */
export const holdErasure = statement<{ projectId: string }, { id: string; after: string }>(
  'hold-erasure',
  `select id, answers_after as after from contact_erasures
   where project_id = :projectId::uuid and ${ONLY_ANSWERS} order by answers_after desc, id limit 1 for update`,
)

/** An erasure, which is about to begin with the answers, stands for all others that wait for theirs. */
export const joinErasures = statement<{ projectId: string; id: string }>(
  'join-erasures',
  `delete from contact_erasures
   where project_id = :projectId::uuid and ${ONLY_ANSWERS} and answers_after = '' and id <> :id::uuid`,
)

/** Projects with erasures. The table is small. */
export const projectsWithErasures = statement<{ clockShift: number }, { projectId: string }>(
  'projects-with-erasures',
  `select distinct project_id as "projectId" from contact_erasures where ${IS_DUE}`,
)

/** The last one of the first events of a contact. Index: events_project_id_contact_id_id_idx. */
export const lastOfFirstEvents = statement<
  { projectId: string; contactId: string; limit: number },
  { id: string | null }
>(
  'last-of-first-events',
  `select (array_agg(id order by id desc))[1] as id from (
     select id from events where project_id = :projectId::uuid and contact_id = :contactId::uuid order by id
       limit :limit::int) first`,
)

/** Deletes the events of a contact up to one of them. */
export const deleteEventsUpTo = statement<{ projectId: string; contactId: string; upTo: string }>(
  'delete-events-up-to',
  `delete from events where project_id = :projectId::uuid and contact_id = :contactId::uuid
     and id <= :upTo::uuid`,
)

/** Deletes emails of a contact, also what waits of them; their files are noted with the erasure `id`. */
export const deleteFirstEmails = statement<
  { projectId: string; contactId: string; limit: number; id: string },
  { count: number }
>(
  'delete-first-emails',
  `with first as (
     select id, attachment_set_id from emails
     where project_id = :projectId::uuid and contact_id = :contactId::uuid order by id limit :limit::int
   ),
   deleted as (delete from emails e using first where e.project_id = :projectId::uuid and e.id = first.id
     returning e.id),
   waiting as (delete from deliveries d using first where d.project_id = :projectId::uuid
     and d.email_id = first.id),
   noted as (
     update contact_erasures set attachment_sets = attachment_sets || array(
       select distinct attachment_set_id from first where attachment_set_id is not null)
     where project_id = :projectId::uuid and id = :id::uuid
   )
   select count(*)::int as count from deleted`,
)

/** Deletes a contact, which has no events and emails any more; the erasure `id` goes on with its traces. */
export const deleteHidden = statement<{ projectId: string; contactId: string; id: string }>(
  'delete-hidden-contact',
  `with deleted as (delete from contacts where project_id = :projectId::uuid and id = :contactId::uuid)
   update contact_erasures set contact_id = null where project_id = :projectId::uuid and id = :id::uuid`,
)

/** Notes up to which key an erasure, which is held, has looked through the stored answers. */
export const noteAnswers = statement<{ projectId: string; id: string; after: string }>(
  'note-erased-answers',
  'update contact_erasures set answers_after = :after where project_id = :projectId::uuid and id = :id::uuid',
)

/** An erasure has these files less to look at. */
export const noteFiles = statement<{ projectId: string; id: string; sets: string[] }>(
  'note-erased-files',
  `update contact_erasures set attachment_sets = array(
     select set_id from unnest(attachment_sets) as listed (set_id) where set_id <> all(:sets::uuid[]))
   where project_id = :projectId::uuid and id = :id::uuid`,
)

/** An erasure is done. */
export const endErasure = statement<{ projectId: string; id: string }>(
  'end-erasure',
  'delete from contact_erasures where project_id = :projectId::uuid and id = :id::uuid',
)

/** Takes addresses out of the row errors of imports, which are few. */
export const forgetInJobs = statement<{ projectId: string; emails: string[] }>(
  'forget-in-jobs',
  `update contact_jobs set result = jsonb_set(result, '{errors}', (
     select jsonb_agg(case when error ->> 'email' = any(:emails::text[]) then error || '{"email": null}'
       else error end
       order by position)
     from jsonb_array_elements(result -> 'errors') with ordinality as listed (error, position)))
   where project_id = :projectId::uuid and exists (
     select from jsonb_array_elements(result -> 'errors') as listed (error)
     where error ->> 'email' = any(:emails::text[]))`,
)

/** Removes what was reported of mail to addresses: it is applied within seconds, or kept for the operator; both are few. */
export const forgetInReports = statement<{ projectId: string; emails: string[] }>(
  'forget-in-reports',
  `with waiting as (
     delete from mail_reports where project_id = :projectId::uuid and recipient = any(:emails::text[])
   )
   delete from unmatched_reports
   where (project_id = :projectId::uuid or project_id is null) and recipient = any(:emails::text[])`,
)

/**
 * Looks at the first stored answers (kept for repeats of requests) with keys greater than `after`, and
 * removes those that name a deleted contact. A repeat of such a request is then refused, not run again. The list of
 * keys keeps Postgres from comparing every stored answer with every key of the page where it takes the table for small.
 */
export const eraseAnswers = statement<{ projectId: string; after: string; limit: number }, { key: string }>(
  'erase-answers',
  `with page as (
     select key, response from idempotency_keys where project_id = :projectId::uuid and key > :after
       order by key limit :limit::int
   ),
   naming as (
     select key from page where exists (
       select from regexp_matches(page.response, '"contact":\\{"id":"([0-9a-f-]{36})"', 'g') as named (ids)
       where not exists (select from contacts c where c.project_id = :projectId::uuid
         and c.id = named.ids[1]::uuid))
   ),
   erased as (
     update idempotency_keys set response = null
     where project_id = :projectId::uuid and key = any(array(select key from naming))
   )
   select key from page order by key desc limit 1`,
)

/** Deletes files that no message needs any more. Index: emails_attachment_set. */
export const eraseFiles = statement<{ projectId: string; sets: string[] }>(
  'erase-files',
  `delete from email_attachments a where a.project_id = :projectId::uuid and a.set_id = any(:sets::uuid[])
     and not exists (
     select from emails e where e.project_id = :projectId::uuid and e.attachment_set_id = a.set_id)`,
)
