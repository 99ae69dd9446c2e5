import { randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'
import { hashKey } from '../../src/admission/access.ts'
import { BENCH_DOMAIN, type BenchDatabase } from '../bench-database.ts'
import { type ServiceProcess, startServiceProcess, startTalker, type Talker } from '../processes.ts'

export type Tenant = { id: string; public: string; secret: string; domain: string }

/** What all cases share: the database past the service, and an SMTP server. */
export type World = {
  database: BenchDatabase
  client: pg.Client
  sink: Talker
  mail: Record<string, string>
  stop: () => Promise<void>
}

export const SMTP_CONNECTIONS = 10

export async function startWorld(database: BenchDatabase): Promise<World> {
  const { talker: sink, hello } = await startTalker('bench/smtp-sink.ts')
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const smtpUrl = `smtp://127.0.0.1:${hello.port}`
  return {
    database,
    client,
    sink,
    mail: { MAIL_PROVIDER: 'smtp', SMTP_URL: smtpUrl, SMTP_CONNECTIONS: String(SMTP_CONNECTIONS) },
    stop: async () => {
      await client.end()
      await sink.stop()
    },
  }
}

/** Does something with a service process, and ends that. */
export async function withService<Result>(
  { database, mail }: World,
  work: (service: ServiceProcess) => Promise<Result>,
): Promise<Result> {
  const service = await startServiceProcess(await database.env({ ...mail, ROLES: 'http,worker' }))
  try {
    return await work(service)
  } finally {
    await service.stop()
  }
}

/** Projects with a verified domain each, which signs with the same key as the bench's own project. */
export async function makeTenants({ client }: World, count: number): Promise<Tenant[]> {
  const tenants = Array.from({ length: count }, () => ({
    id: randomUUID(),
    public: `pk_${randomBytes(32).toString('hex')}`,
    secret: `sk_${randomBytes(32).toString('hex')}`,
    domain: `${randomBytes(6).toString('hex')}.example`,
  }))
  await client.query(
    `insert into projects (id, name, public_key, public_key_hash, secret_hash, secret_last_four, created_at, updated_at)
     select id, 'Tenant', public_key, public_hash, secret_hash, 'xxxx', now(), now()
     from unnest($1::uuid[], $2::text[], $3::bytea[], $4::bytea[]) as t (id, public_key, public_hash, secret_hash)`,
    [
      tenants.map(({ id }) => id),
      tenants.map((tenant) => tenant.public),
      tenants.map((tenant) => hashKey(tenant.public)),
      tenants.map((tenant) => hashKey(tenant.secret)),
    ],
  )
  await client.query(
    `insert into domains (project_id, id, domain, status, dkim_selector, dkim_private_key, created_at,
       updated_at)
     select t.id, gen_random_uuid(), t.domain, 'VERIFIED', d.dkim_selector, d.dkim_private_key, now(),
       now()
     from unnest($1::uuid[], $2::text[]) as t (id, domain), domains d where d.domain = $3`,
    [tenants.map(({ id }) => id), tenants.map(({ domain }) => domain), BENCH_DOMAIN],
  )
  return tenants
}

const HTML = `<h1>Hello Ada</h1>${'<p>Your order has been shipped and will be with you soon.</p>'.repeat(10)}`

/** Mail that is due, `each` messages a tenant, past the service; every message has a contact of its own. */
export async function addBacklog(
  { client }: World,
  tenants: Tenant[],
  { each, priority = 0, html = HTML }: { each: number; priority?: number; html?: string },
): Promise<void> {
  await client.query(
    `with made as materialized (
       select t.id as project_id, t.domain, gen_random_uuid() as contact_id, gen_random_uuid() as email_id
       from unnest($1::uuid[], $2::text[]) as t (id, domain), generate_series(1, $3::int)
     ),
     contact as (
       insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
       select project_id, contact_id, 'due-' || contact_id || '@example.org', true, '{}', now(), now() from made
     ),
     email as (
       insert into emails (project_id, id, contact_id, to_email, "from", subject, type, source_type, status, message_id,
         created_at, updated_at)
       select project_id, email_id, contact_id, 'due-' || contact_id || '@example.org', 'a@' || domain, 'Shipped',
         'TRANSACTIONAL', 'TRANSACTIONAL', 'PENDING', '<' || email_id || '@' || domain || '>', now(), now() from made
     ),
     content as (
       insert into email_contents (project_id, email_id, html) select project_id, email_id, $5 from made
     )
     insert into deliveries (project_id, email_id, priority, size, due_at)
     select project_id, email_id, $4::int, octet_length($5), now() from made`,
    [tenants.map(({ id }) => id), tenants.map(({ domain }) => domain), each, priority, html],
  )
  await client.query('analyze contacts, emails, email_contents, deliveries')
}

/** Forgets all mail and jobs of the case before. */
export async function forgetMail({ client, sink }: World): Promise<void> {
  await client.query(
    'truncate emails, email_contents, email_attachments, deliveries, events, changes cascade',
  )
  await client.query('truncate pgboss.job')
  await client.query('delete from contacts')
  await client.query('vacuum (analyze) contacts, emails, deliveries')
  await sink.ask('hold 0')
  await sink.ask('reset')
}
