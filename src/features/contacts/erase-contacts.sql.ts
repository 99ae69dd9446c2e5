import { type Statement, statement } from '../../db/sql.ts'

/**
 * Deletes the contacts $2 of project $1; their emails, events, memberships and executions go with them, by the
 * foreign keys.
 */
export const deleteContacts: Statement<{ id: string; email: string }> = statement(
  'delete-contacts',
  'delete from contacts where project_id = $1::uuid and id = any($2::uuid[]) returning id, email',
)

/** The first half of the advisory locks here; the second one is the project. */
const LOCK = 1_836_544_619

/**
 * Of project $1. A deletion that finds a job waiting asks for none, and that job may be taken up before the
 * deletion is committed; so the job waits for it.
 */
export const deletionUnderWay: Statement<object> = statement(
  'deletion-under-way',
  `select pg_advisory_xact_lock_shared(${LOCK}, hashtext($1))::text`,
)

/** Waits for the deletions in project $1 that are under way. */
export const awaitDeletions: Statement<object> = statement(
  'await-deletions',
  `select pg_advisory_xact_lock(${LOCK}, hashtext($1))::text`,
)

/**
 * Keeps the events of project $1 from being counted until the commit. A statement of its own, and first: what
 * takes events out of the counts must see what was counted while it waited.
 */
export const lockEventCounts: Statement<object> = statement(
  'lock-event-counts',
  `insert into event_folds as f (project_id, first_open)
   values ($1::uuid, '00000000-0000-0000-0000-000000000000')
   on conflict (project_id) do update set first_open = f.first_open`,
)

/**
 * Takes the events of the contacts $2 of project $1 out of the counts by name and day, as far as they are in them.
 * Index: events_project_id_contact_id_id_idx.
 */
export const uncountEvents: Statement<object> = statement(
  'uncount-events-of-contacts',
  `with gone as (
     select e.name, (e.created_at at time zone 'UTC')::date as day, count(*)::int as count from events e
     where e.project_id = $1::uuid and e.contact_id = any($2::uuid[])
       and e.id < (select first_open from event_folds where project_id = $1::uuid)
     group by 1, 2
   ),
   days as (
     update event_counts c set count = c.count - gone.count from gone
     where c.project_id = $1::uuid and c.name = gone.name and c.day = gone.day
   )
   update event_names n set count = n.count - gone.count
   from (select name, sum(count)::int as count from gone group by name) gone
   where n.project_id = $1::uuid and n.name = gone.name`,
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

/** Files of project $1 that no message needs any more; at most $2. Index: emails_attachment_set. */
export const eraseFiles: Statement<{ id: string }> = statement(
  'erase-files',
  `delete from email_attachments a using (
     select a.set_id, a.position from email_attachments a
     where a.project_id = $1::uuid and not exists (
       select from emails e where e.project_id = a.project_id and e.attachment_set_id = a.set_id)
     limit $2::int
   ) old
   where a.project_id = $1::uuid and a.set_id = old.set_id and a.position = old.position
   returning a.set_id as id`,
)
