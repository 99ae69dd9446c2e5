import { ERASED } from '../../db/kept-contacts.sql.ts'
import { type Statement, statement } from '../../db/sql.ts'

/**
 * Locks the contacts $2 of project $1, so that nothing is added to them. `many` says that one has more than $3
 * events or emails: too many to go in one commit.
 */
export const holdToErase: Statement<{ id: string; email: string; many: boolean }> = statement(
  'hold-contacts-to-erase',
  `select c.id, c.email, greatest(
     (select count(*) from (select from events e
       where e.project_id = $1::uuid and e.contact_id = c.id limit $3::int + 1) few),
     (select count(*) from (select from emails e
       where e.project_id = $1::uuid and e.contact_id = c.id limit $3::int + 1) few)) > $3::int as many
   from contacts c
   where c.project_id = $1::uuid and c.id = any($2::uuid[]) and c.email not like '${ERASED}%'
   order by c.id for update`,
)

/** Of the contacts $2 of project $1: nothing that waits is delivered to them. */
const WAITING = `waiting as (
  delete from deliveries d using emails e
  where d.project_id = $1::uuid and e.project_id = $1::uuid and e.id = d.email_id and e.contact_id = any($2::uuid[]))`

/**
 * Deletes the contacts $2 of project $1; their emails, events, memberships and executions go with them, by the
 * foreign keys. Returns the files of their mail.
 */
export const deleteContacts: Statement<{ sets: string[] }> = statement(
  'delete-contacts',
  `with ${WAITING},
   deleted as (delete from contacts where project_id = $1::uuid and id = any($2::uuid[]))
   select coalesce(array_agg(distinct attachment_set_id::text), '{}') as sets from emails
   where project_id = $1::uuid and contact_id = any($2::uuid[]) and attachment_set_id is not null`,
)

/** Takes all from the contacts $2 of project $1 but their events and emails, which follow: nobody finds them. */
export const hideContacts: Statement<object> = statement(
  'hide-contacts',
  `with ${WAITING},
   memberships as (delete from segment_members where project_id = $1::uuid and contact_id = any($2::uuid[])),
   executions as (delete from workflow_executions where project_id = $1::uuid and contact_id = any($2::uuid[]))
   update contacts set email = '${ERASED}' || id, subscribed = false, data = '{}', subscription_event_id = null
   where project_id = $1::uuid and id = any($2::uuid[])`,
)

/** Notes in project $1 that traces are to be removed: $2 ids, $3 contacts of each or null; $4 files, of the first one. */
export const noteErasures: Statement<object> = statement(
  'note-erasures',
  `insert into contact_erasures (project_id, id, contact_id, attachment_sets)
   select $1::uuid, id, contact_id, case when position = 1 then $4::uuid[] else '{}' end
   from unnest($2::uuid[], $3::uuid[]) with ordinality as given (id, contact_id, position)`,
)

/** The oldest erasure of project $1 with a contact that is still to be removed. */
export const contactToErase: Statement<{ id: string; contactId: string }> = statement(
  'contact-to-erase',
  `select id, contact_id as "contactId" from contact_erasures
   where project_id = $1::uuid and contact_id is not null order by id limit 1`,
)

/** The oldest erasure of project $1 whose contacts are gone and whose files are not. */
export const filesToErase: Statement<{ id: string; sets: string[] }> = statement(
  'files-to-erase',
  `select id, attachment_sets::text[] as sets from contact_erasures
   where project_id = $1::uuid and contact_id is null and attachment_sets <> '{}' order by id limit 1`,
)

/** That only answers are left to look through for an erasure. */
const ONLY_ANSWERS = `contact_id is null and attachment_sets = '{}'`

/** The erasure of project $1 whose answers are looked through, or which is the next one; locked. */
export const holdErasure: Statement<{ id: string; after: string }> = statement(
  'hold-erasure',
  `select id, answers_after as after from contact_erasures
   where project_id = $1::uuid and ${ONLY_ANSWERS} order by answers_after desc, id limit 1 for update`,
)

/** Erasure $2 of project $1, which is about to begin with the answers, stands for all others that wait for theirs. */
export const joinErasures: Statement<object> = statement(
  'join-erasures',
  `delete from contact_erasures
   where project_id = $1::uuid and ${ONLY_ANSWERS} and answers_after = '' and id <> $2::uuid`,
)

/** Projects with erasures. The table is small. */
export const projectsWithErasures: Statement<{ projectId: string }> = statement(
  'projects-with-erasures',
  `select distinct project_id as "projectId" from contact_erasures`,
)

/** The last one of the first $3 events of contact $2 of project $1. Index: events_project_id_contact_id_id_idx. */
export const lastOfFirstEvents: Statement<{ id: string | null }> = statement(
  'last-of-first-events',
  `select (array_agg(id order by id desc))[1] as id from (
     select id from events where project_id = $1::uuid and contact_id = $2::uuid order by id limit $3::int) first`,
)

/** Deletes the events of contact $2 of project $1 up to $3. */
export const deleteEventsUpTo: Statement<object> = statement(
  'delete-events-up-to',
  'delete from events where project_id = $1::uuid and contact_id = $2::uuid and id <= $3::uuid',
)

/** Deletes $3 emails of contact $2 of project $1, also what waits of them; their files are noted with erasure $4. */
export const deleteFirstEmails: Statement<{ count: number }> = statement(
  'delete-first-emails',
  `with first as (
     select id, attachment_set_id from emails
     where project_id = $1::uuid and contact_id = $2::uuid order by id limit $3::int
   ),
   deleted as (delete from emails e using first where e.project_id = $1::uuid and e.id = first.id returning e.id),
   waiting as (delete from deliveries d using first where d.project_id = $1::uuid and d.email_id = first.id),
   noted as (
     update contact_erasures set attachment_sets = attachment_sets || array(
       select distinct attachment_set_id from first where attachment_set_id is not null)
     where project_id = $1::uuid and id = $4::uuid
   )
   select count(*)::int as count from deleted`,
)

/** Deletes contact $2 of project $1, which has no events and emails any more; erasure $3 goes on with its traces. */
export const deleteHidden: Statement<object> = statement(
  'delete-hidden-contact',
  `with deleted as (delete from contacts where project_id = $1::uuid and id = $2::uuid)
   update contact_erasures set contact_id = null where project_id = $1::uuid and id = $3::uuid`,
)

/** For erasure $2 of project $1, which is held, answers have been looked through up to $3. */
export const noteAnswers: Statement<object> = statement(
  'note-erased-answers',
  'update contact_erasures set answers_after = $3 where project_id = $1::uuid and id = $2::uuid',
)

/** Erasure $2 of project $1 has $3 files less to look at. */
export const noteFiles: Statement<object> = statement(
  'note-erased-files',
  `update contact_erasures set attachment_sets = array(
     select set_id from unnest(attachment_sets) as listed (set_id) where set_id <> all($3::uuid[]))
   where project_id = $1::uuid and id = $2::uuid`,
)

/** Erasure $2 of project $1 is done. */
export const endErasure: Statement<object> = statement(
  'end-erasure',
  'delete from contact_erasures where project_id = $1::uuid and id = $2::uuid',
)

/** Takes the addresses $2 out of the row errors of imports of project $1, which are few. */
export const forgetInJobs: Statement<object> = statement(
  'forget-in-jobs',
  `update contact_jobs set result = jsonb_set(result, '{errors}', (
     select jsonb_agg(case when error ->> 'email' = any($2::text[]) then error || '{"email": null}' else error end
       order by position)
     from jsonb_array_elements(result -> 'errors') with ordinality as listed (error, position)))
   where project_id = $1::uuid and exists (
     select from jsonb_array_elements(result -> 'errors') as listed (error)
     where error ->> 'email' = any($2::text[]))`,
)

/**
 * Of $3 answers that project $1 keeps for repeats of requests, those with keys greater than $2: takes the answer
 * away where it names a contact that is gone. A repeat is then refused, not run again.
 */
export const eraseAnswers: Statement<{ key: string }> = statement(
  'erase-answers',
  `with page as (
     select key, response from idempotency_keys where project_id = $1::uuid and key > $2 order by key limit $3::int
   ),
   erased as (
     update idempotency_keys k set response = null from page
     where k.project_id = $1::uuid and k.key = page.key and exists (
       select from regexp_matches(page.response, '"contact":\\{"id":"([0-9a-f-]{36})"', 'g') as named (ids)
       where not exists (select from contacts c where c.project_id = $1::uuid and c.id = named.ids[1]::uuid))
   )
   select key from page order by key desc limit 1`,
)

/** Deletes the files $2 of project $1 that no message needs any more. Index: emails_attachment_set. */
export const eraseFiles: Statement<object> = statement(
  'erase-files',
  `delete from email_attachments a where a.project_id = $1::uuid and a.set_id = any($2::uuid[]) and not exists (
     select from emails e where e.project_id = $1::uuid and e.attachment_set_id = a.set_id)`,
)
