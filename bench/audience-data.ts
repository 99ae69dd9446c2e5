import type pg from 'pg'

export type Sizes = {
  contacts: number
  events: number
  /** Names that share a fifth of the events; the other events have a few names only. */
  rareNames: number
}

export const FULL_SIZE: Sizes = { contacts: 1_000_000, events: 10_000_000, rareNames: 50_000 }

/** Of all events, in percent. */
const FREQUENT = { page_viewed: 40, app_opened: 25, purchased: 10, signed_up: 5 }

const CONTACT_DAYS = 730
const EVENT_DAYS = 90
/** Rows of one statement. */
const CHUNK = 500_000

/**
 * Functions for ids as the service makes them: they begin with the time and end at random, here always the same
 * ones, so that an event can name a contact without looking for it.
 */
const FUNCTIONS = `
  create or replace function pg_temp.id_at(at timestamptz, seed text) returns uuid immutable language sql as $$
    select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(seed), 1, 3)
      || '8' || substr(md5(seed), 5, 15))::uuid
  $$;
  create or replace function pg_temp.time_at(part float8, until timestamptz, days int) returns timestamptz
  immutable language sql as $$
    select date_trunc('milliseconds', until - make_interval(secs => days * 86400 * (1 - part)))
  $$;
  create or replace function pg_temp.picked(texts text[]) returns text volatile language sql as $$
    select texts[1 + floor(array_length(texts, 1) * random() ^ 2)::int]
  $$`

/** $1 project, $2 first, $3 last, $4 contacts in all, $5 until. */
const CONTACTS = `
  insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
  select $1::uuid, pg_temp.id_at(at, 'contact ' || n), 'person-' || n || '@' || pg_temp.picked(
      '{gmail.com,outlook.com,icloud.com,example.org,example.net,mail.example,work.example}'), random() < 0.8,
    jsonb_build_object(
      'firstName', pg_temp.picked('{Ada,Grace,Alan,Edsger,Barbara,Donald,Margaret,Linus,Radia,Ken}'),
      'plan', case when random() < 0.7 then 'free' when random() < 0.85 then 'pro' else 'enterprise' end,
      'country', pg_temp.picked('{US,DE,GB,FR,IN,BR,CA,NL,ES,IT,PL,SE,JP,AU,MX,CH,AT,DK,PT,IS}'),
      'city', 'City ' || floor(2000 * random() ^ 2),
      'score', floor(100 * random()),
      'seats', 1 + floor(50 * random() ^ 4),
      'trial', random() < 0.2,
      'language', pg_temp.picked('{en,de,fr,es,pt,it,nl,ja}'),
      'renewsAt', to_char(at + make_interval(days => floor(800 * random())::int), 'YYYY-MM-DD'),
      'company', 'Company ' || n % 50000
    ) || case when n % 1000 = 0 then '{"vip": true}'::jsonb else '{}' end, at, at
  from (select n, pg_temp.time_at(n::float8 / $4, $5, ${CONTACT_DAYS}) as at
    from generate_series($2::int, $3::int) n) made`

/** $1 project, $2 first, $3 last, $4 events in all, $5 until, $6 contacts, $7 rare names. */
const EVENTS = `
  insert into events (project_id, id, contact_id, name, data, created_at)
  select $1::uuid, pg_temp.id_at(at, 'event ' || n),
    pg_temp.id_at(pg_temp.time_at(person::float8 / $6, $5, ${CONTACT_DAYS}), 'contact ' || person),
    case ${frequentNames()} else 'rare_' || floor($7::int * random()) end,
    jsonb_build_object('source', 'web', 'amount', floor(1000 * random())), at
  from (select n, pg_temp.time_at(n::float8 / $4, $5, ${EVENT_DAYS}) as at, 100 * random() as percent,
      1 + floor($6::int * random())::int as person
    from generate_series($2::int, $3::int) n) made`

function frequentNames(): string {
  let upTo = 0
  const cases = Object.entries(FREQUENT).map(([name, percent]) => {
    upTo += percent
    return `when percent < ${upTo} then '${name}'`
  })
  return cases.join(' ')
}

/**
 * Fills an empty project with contacts of eleven data fields over two years, and with events over 90 days up to
 * `until`. Foreign keys are not checked, and indexes are made at the end: it takes some minutes all the same.
 */
export async function generate(
  client: pg.Client,
  projectId: string,
  { contacts, events, rareNames }: Sizes,
  until: Date,
): Promise<void> {
  await client.query(FUNCTIONS)
  await client.query('select setseed(0.5)')
  await client.query(`set session_replication_role = replica; set synchronous_commit = off;
    set max_parallel_workers_per_gather = 0; set maintenance_work_mem = '512MB'`)
  await fill(client, 'contacts', contacts, (first, last) =>
    client.query(CONTACTS, [projectId, first, last, contacts, until]),
  )
  await fill(client, 'events', events, (first, last) =>
    client.query(EVENTS, [projectId, first, last, events, until, contacts, rareNames]),
  )
}

async function fill(
  client: pg.Client,
  table: string,
  rows: number,
  insert: (first: number, last: number) => Promise<unknown>,
): Promise<void> {
  const startedAt = performance.now()
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
     where indrelid = $1::regclass
       and not exists (select from pg_constraint where conindid = indexrelid)`,
    [table],
  )
  for (const { name } of indexes) await client.query(`drop index ${name}`)
  for (let first = 1; first <= rows; first += CHUNK) {
    await insert(first, Math.min(rows, first + CHUNK - 1))
  }
  for (const { definition } of indexes) await client.query(definition)
  // As autovacuum leaves a table that has been there for a while.
  await client.query(`vacuum (analyze) ${table}`)
  console.error(`${rows} ${table} in ${Math.round((performance.now() - startedAt) / 1000)} s`)
}

/** Adds so many events of the last minute, one in ten of a rare name: those that are not in the counts yet. */
export async function addRecentEvents(
  client: pg.Client,
  projectId: string,
  { rareNames }: Sizes,
  count: number,
): Promise<void> {
  await client.query(FUNCTIONS)
  await client.query(
    `insert into events (project_id, id, contact_id, name, data, created_at)
     select $1::uuid, pg_temp.id_at(at, 'recent ' || n || at), contact.id,
       case when n % 10 = 0 then 'rare_' || floor($3::int * random()) else 'page_viewed' end, '{}', at
     from (select n, date_trunc('milliseconds', now()) - make_interval(secs => 0.001 * (60000 * n / $2::int)) as at
       from generate_series(1, $2::int) n) made
     join (select id, row_number() over () as n
       from (select id from contacts where project_id = $1::uuid limit $2::int) few) contact using (n)`,
    [projectId, count, rareNames],
  )
}
