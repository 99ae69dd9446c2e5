/** Outcome for a contact. */
export type UpsertOutcome = 'created' | 'updated' | 'unchanged'

/** What is merged into the contact `c`, as parameters of a statement (":subscribed"), columns, or expressions. */
type Merge = {
  /** boolean; null keeps the state of a known contact. */
  subscribed: string
  /** jsonb object and text array, both from `readData`. */
  set: string
  unset: string
}

/** The values of the columns after the merge. */
const merged = ({ subscribed, set, unset }: Merge) => ({
  subscribed: `coalesce(${subscribed}::boolean, c.subscribed)`,
  data: `(c.data || ${set}::jsonb) - ${unset}::text[]`,
})

/** boolean: whether the merge alters the contact. */
export const mergeAlters = (merge: Merge): string =>
  Object.entries(merged(merge))
    .map(([column, value]) => `c.${column} <> ${value}`)
    .join(' or ')

/** The assignments of the merge. `eventId` is that of the event which records a change of the subscription. */
export const mergeAssignments = (merge: Merge, eventId: string): string => {
  const { subscribed, data } = merged(merge)
  return `subscribed = ${subscribed}, data = ${data},
    subscription_event_id = case when c.subscribed <> ${subscribed} then ${eventId} else c.subscription_event_id end,
    updated_at = :now::timestamptz`
}

/** The same for contacts by their addresses, with columns of `person`. */
export type UpsertParameters = Merge & {
  /** boolean: the state of a new contact when `subscribed` is null. */
  defaultSubscribed: string
}

const newContacts = ({ subscribed, defaultSubscribed, set }: UpsertParameters): string =>
  `(project_id, id, email, subscribed, data, created_at, updated_at)
    select project_id, id, email, coalesce(${subscribed}::boolean, ${defaultSubscribed}::boolean),
      ${set}::jsonb, :now::timestamptz, :now::timestamptz
    from person`

/**
 * The CTE `contact` as below, for addresses that no contact had a moment ago. When a concurrent request has created the
 * same contact, its unique address is violated.
 */
export const insertContactCte = (p: UpsertParameters): string => `
  contact as (
    insert into contacts ${newContacts(p)}
    returning *, 'created' as outcome, false as subscription_changed
  )`

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
    insert into contacts as c ${newContacts(p)}
    where (
      select ${mergeAlters(p)}
      from contacts c where c.project_id = person.project_id and c.email = person.email) is not false
    on conflict (project_id, email) do update set ${mergeAssignments({ ...p, set: 'excluded.data' }, 'excluded.id')}
    where ${mergeAlters({ ...p, set: 'excluded.data' })}
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
