import { MAIL_COUNT_CTES } from './mail-counts.sql.ts'

/*
 * The one place that writes events, and says of contacts what has changed: parts of the statements in which that
 * happens, at the time `:now`. Each part adds CTEs. A change is written to the feed once for each kind of consumer that
 * listens for it; in a project where nobody does that costs one look at an index.
 */

/** The consumers that read the feed: a relation with the column `consumer`. */
const CONSUMERS = `(values ('SEGMENT'::consumer), ('WORKFLOW'), ('WEBHOOK')) as k (consumer)`

/**
 * A listener of the consumer `k` for `h`, each found by the index interests_listening. Subqueries return them as values; an
 * EXISTS the planner may turn into a join with all existing interests.
 */
const listener = (condition: string) => `(select true from interests i
  where i.project_id = h.project_id and i.consumer = k.consumer and i.listens and ${condition} limit 1)`

/**
 * Any listener of the consumer. Only that index has the order that is asked for, as long as the consumer is a range: where few
 * projects have most interests, the planner would else expect one among the first rows of the table, or of the project, and read
 * all of them in vain for every other one.
 */
const ANY_LISTENER = `(select true from interests i
  where i.project_id = h.project_id and i.consumer between k.consumer and k.consumer and i.listens
  order by i.consumer, i.kind, i.name limit 1)`

/**
 * Gives each row an id of the time `:now`, so that changes are followed in the order in which they happened.
 */
export const NEW_ID = `(lpad(to_hex(floor(extract(epoch from :now::timestamptz) * 1000)::bigint), 12, '0') || '7'
  || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid`

/** Puts the rows (project_id, id, contact_id, event_id, name, fields, data_keys) into the feed as the CTE `name`. */
const feedCte = (name: string, rows: string): string => `
  ${name} as (
    insert into changes (project_id, consumer, id, contact_id, event_id, name, keys)
    select h.project_id, k.consumer, h.id, h.contact_id, h.event_id, h.name,
      case when h.fields is not null
        then h.fields || array(select 'data.' || key from unnest(h.data_keys) as key) end
    from (${rows}) h, ${CONSUMERS}
    where case when ${ANY_LISTENER} then
      (h.fields is null and k.consumer = 'SEGMENT') or ${listener(`i.kind = 'EVENT' and i.name = h.name`)}
      or ${listener(`i.kind = 'FIELD' and i.name = any(h.fields)`)}
      or ${listener(`i.kind = 'DATA' and i.name = any(h.data_keys)`)}
      end
    returning project_id, consumer
  )`

/** Says, for a statement with such CTEs, which followers have to be woken (see `wakeFollowers`). */
export const heard = (...ctes: string[]): string =>
  `array(${ctes.map((cte) => `select consumer::text from ${cte}`).join(' union ')}${ctes.length > 1 ? '' : ' group by 1'})`

/** What `eventCtes` does, for events that are not about mail. */
export const plainEventCtes = (rows: string, returning = 'project_id, id, contact_id, name'): string => `
  event as (
    insert into events (project_id, id, contact_id, name, email_id, data, created_at) ${rows}
    returning ${returning}
  ),
  ${feedCte(
    'heard_event',
    `select project_id, id, contact_id, id as event_id, name, '{}'::text[] as fields, '{}'::text[] as data_keys
     from event`,
  )}`

/**
 * The CTEs `event` and `heard_event`, and those that count: record the rows of a select (project_id, id, contact_id, name,
 * email_id, data, created_at) as events, and what they say of mail in its counts.
 */
export const eventCtes = (rows: string): string => `${plainEventCtes(rows, '*')},
  ${MAIL_COUNT_CTES}`

/** A change of contacts by a statement, as parameters or columns of `person`. */
type ContactWrite = {
  /** jsonb object and text array: the keys that are set and taken away. */
  set: string
  unset: string
  /** text: the source of the change of a subscription. */
  source: string
  /** boolean: whether the address may be another one. */
  email?: string
}

const SUBSCRIPTION_EVENT = `case when subscribed then 'contact.subscribed' else 'contact.unsubscribed' end`

/**
 * The CTEs `subscription_event` and `heard_contact`, after `upsertContactCtes`: they record which contacts
 * were created or changed, and which subscriptions changed.
 */
export const contactCtes = ({ set, unset, source, email = 'false' }: ContactWrite): string => `
  subscription_event as (
    insert into events (project_id, id, contact_id, name, data, created_at)
    select contact.project_id, person.id, contact.id, ${SUBSCRIPTION_EVENT},
      jsonb_build_object('source', ${source}::text), :now::timestamptz
    from contact join person using (project_id, email)
    where contact.subscription_changed
  ),
  ${feedCte(
    'heard_contact',
    `select contact.project_id, person.id, contact.id as contact_id,
       case when contact.subscription_changed then person.id end as event_id,
       case when contact.subscription_changed then ${SUBSCRIPTION_EVENT} end as name,
       case when contact.outcome <> 'created' then array['updatedAt']
         || case when contact.subscription_changed then array['subscribed'] end
         || case when ${email} then array['email'] end
       end as fields,
       array(select jsonb_object_keys(${set}::jsonb)) || ${unset}::text[] as data_keys
     from contact join person using (project_id, email)
     where contact.outcome <> 'unchanged'`,
  )}`

/**
 * The CTEs `event` and `heard_event`: record that the contacts of `changed` (project_id, id, event_id, subscribed) were
 * subscribed or unsubscribed, and by what: `source`, a text expression, the message with the id `emailId`, and more in
 * `data`, a jsonb expression.
 */
export const subscriptionCtes = (source: string, { emailId = 'null', data = `'{}'` } = {}): string => `
  event as (
    insert into events (project_id, id, contact_id, name, email_id, data, created_at)
    select project_id, event_id, id, ${SUBSCRIPTION_EVENT}, ${emailId}::uuid,
      jsonb_build_object('source', ${source}::text) || ${data}::jsonb, :now::timestamptz
    from changed
    returning project_id, id, contact_id, name
  ),
  ${feedCte(
    'heard_event',
    `select project_id, id, contact_id, id as event_id, name, array['subscribed', 'updatedAt'] as fields,
       '{}'::text[] as data_keys
     from event`,
  )}`

/** The CTE `heard_contact`: says that the key `key` was taken from the data of `changed` (project_id, id). */
export const dataChangeCte = (key: string): string =>
  feedCte(
    'heard_contact',
    `select project_id, ${NEW_ID} as id, id as contact_id, null::uuid as event_id, null::text as name,
       array['updatedAt'] as fields, array[${key}::text] as data_keys
     from changed`,
  )

/**
 * A statement that has segments look again at contacts for which time may decide otherwise by now; `rows` is a select
 * (contact_id, name, keys). It returns how many.
 */
export const timeChanges = (rows: string): string => `
  with noted as (
    insert into changes (project_id, consumer, id, contact_id, name, keys)
    select :projectId::uuid, 'SEGMENT', ${NEW_ID}, h.contact_id, h.name, h.keys
    from (${rows}) h returning id
  )
  select count(*)::int as count from noted`

/**
 * The CTE `heard_member`: it records that contacts were added to or removed from a list that is kept by hand;
 * `rows` is a select (project_id, contact_id, segment_id).
 */
export const membershipCte = (rows: string): string => `
  heard_member as (
    insert into changes (project_id, consumer, id, contact_id, keys)
    select h.project_id, k.consumer, ${NEW_ID}, h.contact_id, array['segment.' || h.segment_id::text]
    from (${rows}) h, ${CONSUMERS}
    where ${listener(`i.kind = 'SEGMENT' and i.name = h.segment_id::text`)}
    returning project_id, consumer
  )`
