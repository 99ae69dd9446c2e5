import { setTimeout as pause } from 'node:timers/promises'
import { type LoadResult, percentileOf } from '../http-load.ts'
import type { ServiceProcess } from '../processes.ts'
import { type Fresh, freshMail } from './mail.ts'
import { ask, importCsv, trackFor } from './requests.ts'
import { forgetMail, makeTenants, type Tenant, type World, withService } from './world.ts'

const SEGMENTS = 500
const IMPORTED = 30_000
const CONTACTS = 500_000
const HEAVY_MS = 30_000

async function twoTenants(world: World): Promise<[heavy: Tenant, light: Tenant]> {
  const [heavy, light] = await makeTenants(world, 2)
  if (!heavy || !light) throw new Error('no tenants')
  return [heavy, light]
}

const isOne = (field: string, value: unknown) => ({
  logic: 'AND',
  groups: [{ filters: [{ field, operator: 'equals', value }] }],
})

const tracked = (name: string, condition: object) => ({ name, condition, trackMembership: true })

/** From the answer to a change of a contact to the event of its entry or exit, one at a time, in ms. */
async function followed(
  { client }: World,
  service: ServiceProcess,
  tenant: Tenant,
  isOver: () => boolean,
): Promise<LoadResult> {
  const latencies: number[] = []
  const { body } = await ask(service, tenant, 'POST', '/contacts', { email: 'mover@example.org' })
  const events = async () => {
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from events where project_id = $1 and contact_id = $2 and name like 'segment.%'`,
      [tenant.id, body.id],
    )
    return rows[0]?.count ?? 0
  }
  const plans = await client.query<{ plan: string | null }>(
    `select data ->> 'plan' as plan from contacts where id = $1`,
    [body.id],
  )
  for (let isPro = plans.rows[0]?.plan === 'pro'; !isOver(); isPro = !isPro) {
    const before = await events()
    await ask(service, tenant, 'PATCH', `/contacts/${body.id}`, {
      data: { plan: isPro ? 'free' : 'pro' },
    })
    const startedAt = performance.now()
    while ((await events()) === before && performance.now() - startedAt < 60_000) await pause(10)
    latencies.push(performance.now() - startedAt)
    await pause(100)
  }
  return percentileOf(latencies)
}

export type ManySegments = {
  idle: LoadResult
  beside: LoadResult
  importSeconds: number
  followedRate: number
}

/** 500 tracked segments of one project and an import of 30,000 contacts that all of them have to look at. */
export async function benchManySegments(world: World): Promise<ManySegments> {
  const [heavy, light] = await twoTenants(world)
  try {
    return await withService(world, async (service) => {
      await ask(service, light, 'POST', '/segments', tracked('Pro', isOne('data.plan', 'pro')))
      for (let index = 0; index < SEGMENTS; index += 1) {
        const condition = isOne('data.plan', `plan-${index}`)
        await ask(service, heavy, 'POST', '/segments', tracked(`Plan ${index}`, condition))
      }
      const idleUntil = performance.now() + 10_000
      const idle = await followed(world, service, light, () => performance.now() > idleUntil)
      const rows = Array.from(
        { length: IMPORTED },
        (_, index) => `p${index}@example.org,plan-${index % SEGMENTS}`,
      )
      const startedAt = performance.now()
      let isDrained = false
      const beside = followed(world, service, light, () => isDrained)
      const importMs = await importCsv(service, heavy, `email,plan\n${rows.join('\n')}\n`)
      await drained(world, heavy)
      isDrained = true
      const seconds = (performance.now() - startedAt) / 1000
      return {
        idle,
        beside: await beside,
        importSeconds: importMs / 1000,
        followedRate: IMPORTED / seconds,
      }
    })
  } finally {
    await forgetMail(world)
  }
}

async function drained({ client }: World, tenant: Tenant): Promise<void> {
  const deadline = performance.now() + 180_000
  for (;;) {
    const { rows } = await client.query('select from changes where project_id = $1 limit 1', [tenant.id])
    if (rows.length === 0) return
    if (performance.now() > deadline) throw new Error('the feed of changes does not drain')
    await pause(50)
  }
}

async function addContacts({ client }: World, tenant: Tenant): Promise<void> {
  await client.query(
    `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
     select $1, gen_random_uuid(), 'person-' || n || '@example.org', n % 5 > 0,
       jsonb_build_object('plan', 'plan-' || n % 7, 'score', n % 100, 'city', 'City ' || n % 2000), now(), now()
     from generate_series(1, $2::int) n`,
    [tenant.id, CONTACTS],
  )
  await client.query('vacuum (analyze) contacts')
}

const PREVIEW = `query ($input: PreviewAudienceInput!) { previewAudience(input: $input) { matching } }`

/** A hundred tests that no index answers. */
const heavyCondition = {
  logic: 'OR',
  groups: Array.from({ length: 100 }, (_, index) => ({
    filters: [{ field: 'data.city', operator: 'contains', value: `no such city ${index}` }],
  })),
}

export type HeavyReads = {
  idle: LoadResult
  beside: LoadResult
  idleMail: Fresh
  besideMail: Fresh
  readiness: { green: number; red: number }
  heavy: Record<number, number>
}

/** Six audience previews of 100 filters over 500,000 contacts at once, again and again. */
export async function benchHeavyReads(world: World): Promise<HeavyReads> {
  const [heavy, light] = await twoTenants(world)
  await addContacts(world, heavy)
  try {
    return await withService(world, async (service) => {
      const track = (seconds: number) => trackFor(service, light, seconds)
      await track(2)
      const [idle, idleMail] = await Promise.all([track(10), freshMail(world, service, light)])
      const until = performance.now() + HEAVY_MS
      const statuses: Record<number, number> = {}
      const readiness = { green: 0, red: 0 }
      const previews = Array.from({ length: 6 }, async () => {
        while (performance.now() < until) {
          const input = { condition: heavyCondition }
          const { status } = await ask(service, heavy, 'POST', '/graphql', {
            query: PREVIEW,
            variables: { input },
          })
          statuses[status] = (statuses[status] ?? 0) + 1
        }
      })
      const health = async () => {
        while (performance.now() < until) {
          const { status } = await fetch(`${service.url}/health/ready`, {
            signal: AbortSignal.timeout(10_000),
          })
          readiness[status === 200 ? 'green' : 'red'] += 1
          await pause(500)
        }
      }
      const [beside, besideMail] = await Promise.all([
        track(HEAVY_MS / 1000),
        freshMail(world, service, light),
        health(),
        ...previews,
      ])
      return { idle, beside, idleMail, besideMail, readiness, heavy: statuses }
    })
  } finally {
    await forgetMail(world)
  }
}

export type FilterJobs = { idle: LoadResult; beside: LoadResult }

/** Three bulk changes by a filter that matches hardly anybody, over 500,000 contacts. */
export async function benchFilterJobs(world: World): Promise<FilterJobs> {
  const [heavy, light] = await twoTenants(world)
  await addContacts(world, heavy)
  try {
    return await withService(world, async (service) => {
      const imports = async (count: number) => {
        const latencies: number[] = []
        for (let index = 0; index < count; index += 1) {
          latencies.push(await importCsv(service, light, `email\none-${index}@example.org\n`))
        }
        return percentileOf(latencies)
      }
      const idle = await imports(10)
      for (let index = 0; index < 3; index += 1) {
        await ask(service, heavy, 'POST', '/contacts/bulk-unsubscribe', { filter: heavyCondition })
      }
      const beside = await imports(20)
      return { idle, beside }
    })
  } finally {
    await forgetMail(world)
  }
}
