/** Outcome for a contact. */
export type UpsertOutcome = 'created' | 'updated' | 'unchanged'

/** Parameters of a statement (":subscribed"), columns of `person`, or expressions. */
export type UpsertParameters = {
  /** boolean; null keeps the state of a known contact. */
  subscribed: string
  /** boolean: the state of a new contact when `subscribed` is null. */
  defaultSubscribed: string
  /** jsonb object and text array, both from `readData`. */
  set: string
  unset: string
}

/**
 * The one way to create or change a contact by its address, as the CTEs `merged` and `contact` of a larger
 * statement, at the time `:now`. They read the relation `person` (project_id, id, email) with an id for each contact
 * that may be new.
 *
 * Merging happens in the row's newest version, so concurrent writers lose nothing. A contact that would not change is
 * not written: tracking a known contact costs no dead row version. When the subscription changes, `person.id`, which
 * no new contact takes then, becomes the id of the event that records it.
 *
 * `contact` has a row per person: the contact's columns, `outcome` ('created', 'updated' or 'unchanged') and
 * `subscription_changed`. It has none when a concurrent statement creates the same contact at the same moment and
 * nothing is left to change; the caller runs its statement again then. Index: contacts_project_id_email_key; the
 * subqueries are written so that it serves each person alone, however many rows the planner expects of `person`.
 */
export const upsertContactCtes = (p: UpsertParameters): string => `
  merged as (
    insert into contacts as c (project_id, id, email, subscribed, data, created_at, updated_at)
    select project_id, id, email, coalesce(${p.subscribed}::boolean, ${p.defaultSubscribed}::boolean),
      ${p.set}::jsonb, :now::timestamptz, :now::timestamptz
    from person
    where (
      select c.subscribed = coalesce(${p.subscribed}::boolean, c.subscribed)
        and c.data = (c.data || ${p.set}::jsonb) - ${p.unset}::text[]
      from contacts c where c.project_id = person.project_id and c.email = person.email) is not true
    on conflict (project_id, email) do update set
      subscribed = coalesce(${p.subscribed}::boolean, c.subscribed),
      data = (c.data || excluded.data) - ${p.unset}::text[],
      subscription_event_id = case when c.subscribed <> coalesce(${p.subscribed}::boolean, c.subscribed)
        then excluded.id else c.subscription_event_id end,
      updated_at = :now::timestamptz
    where c.subscribed <> coalesce(${p.subscribed}::boolean, c.subscribed)
      or c.data <> (c.data || excluded.data) - ${p.unset}::text[]
    returning *
  ),
  contact as (
    select m.*, case when m.id = person.id then 'created' else 'updated' end as outcome,
      m.subscription_event_id is not distinct from person.id as subscription_changed
    from merged m join person using (project_id, email)
    union all
    select c.*, 'unchanged', false
    from person
    cross join lateral (
      select * from contacts c where c.project_id = person.project_id and c.email = person.email limit 1) c
    where not exists (select from merged m where m.email = person.email)
  )`
