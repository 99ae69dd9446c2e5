import { randomUUID } from 'node:crypto'
import type { LoadResult } from '../http-load.ts'
import type { ServiceProcess } from '../processes.ts'
import { trackFor } from './requests.ts'
import { forgetMail, makeTenants, type Tenant, type World, withService } from './world.ts'

/** Contacts of the project that is reset. */
const CONTACTS = Number(process.env.RESET_CONTACTS ?? 1_000_000)
/** Rows of one statement. */
const CHUNK = 50_000
const WINDOW_SECONDS = 10

/** Contacts with two events each; every tenth has a message. */
async function fill({ client }: World, { id }: Tenant): Promise<void> {
  for (let from = 1; from <= CONTACTS; from += CHUNK) {
    await client.query(
      `with made as materialized (
         select n, gen_random_uuid() as id from generate_series($2::int, least($2::int + ${CHUNK} - 1, $3::int)) n
       ),
       contact as (
         insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
         select $1, id, 'person-' || n || '@example.org', true, jsonb_build_object('plan', 'plan-' || n % 7), now(), now()
         from made
       ),
       event as (
         insert into events (project_id, id, contact_id, name, created_at)
         select $1, gen_random_uuid(), id, 'event ' || each, now() from made, generate_series(1, 2) each
       ),
       mailed as materialized (select id, gen_random_uuid() as email_id from made where n % 10 = 0),
       email as (
         insert into emails (project_id, id, contact_id, to_email, "from", subject, type, source_type, status, message_id,
           created_at, updated_at)
         select $1, email_id, id, 'x@example.org', 'a@example.org', 'Shipped', 'TRANSACTIONAL', 'TRANSACTIONAL', 'SENT',
           '<' || email_id || '@example.org>', now(), now() from mailed
       )
       insert into email_contents (project_id, email_id, html) select $1, email_id, repeat('<p>Hello</p>', 50) from mailed`,
      [id, from, CONTACTS],
    )
  }
  await client.query('vacuum (analyze) contacts, events, emails, email_contents')
}

/** Somebody signed in, who owns the project. */
async function ownerOf({ client }: World, { url }: ServiceProcess, { id }: Tenant): Promise<HeadersInit> {
  const email = `${randomUUID()}@example.org`
  const answer = await fetch(`${url}/auth/signup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ email, password: randomUUID() }),
  })
  const [cookie = ''] = answer.headers.getSetCookie()
  await client.query(
    `with owner as (update users set email_verified_at = now() where email = $1 returning id)
     insert into members (project_id, user_id, role, created_at) select $2, id, 'OWNER', now() from owner`,
    [email, id],
  )
  return { origin: url, cookie: cookie.split(';')[0] ?? '' }
}

/** `worst` is the window in which the others waited longest. */
export type Reset = { contacts: number; idle: LoadResult; worst: LoadResult; failed: number; seconds: number }

/** A project with many contacts is reset while another one tracks. */
export async function benchReset(world: World): Promise<Reset> {
  const [heavy, light] = await makeTenants(world, 2)
  if (!heavy || !light) throw new Error('no tenants')
  await fill(world, heavy)
  try {
    return await withService(world, async (service) => {
      const track = (seconds: number) => trackFor(service, light, seconds)
      await track(2)
      const idle = await track(WINDOW_SECONDS)
      const headers = await ownerOf(world, service, heavy)
      const startedAt = performance.now()
      const path = `/users/@me/projects/${heavy.id}/reset`
      const asked = fetch(`${service.url}${path}`, { method: 'POST', headers })
      const windows: LoadResult[] = []
      let seconds = 0
      const ended = asked
        .then(() => untilEmptied(world, heavy))
        .then(() => {
          seconds = (performance.now() - startedAt) / 1000
        })
      while (seconds === 0) windows.push(await track(WINDOW_SECONDS))
      await ended
      const [worst = idle] = windows.toSorted((a, b) => b.p95 - a.p95)
      return {
        contacts: CONTACTS,
        idle,
        worst,
        failed: windows.reduce((sum, one) => sum + one.failed, 0),
        seconds,
      }
    })
  } finally {
    await forgetMail(world)
  }
}

async function untilEmptied({ client }: World, { id }: Tenant): Promise<void> {
  for (;;) {
    const { rows } = await client.query('select from project_wipes where project_id = $1', [id])
    if (rows.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
