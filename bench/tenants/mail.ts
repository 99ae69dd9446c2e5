import { setTimeout as pause } from 'node:timers/promises'
import { load, percentileOf } from '../http-load.ts'
import { type ServiceProcess, startServiceProcess } from '../processes.ts'
import { addBacklog, forgetMail, makeTenants, type Tenant, type World, withService } from './world.ts'

const WINDOW_MS = 15_000
const FRESH = 60
const FRESH_EVERY_MS = 150

export type Fresh = { p50: number; p95: number; missing: number }
export type Drained = { rate: number; fresh: Fresh }

/** One message now and then: from the request to its arrival at the SMTP server, in ms. */
export async function freshMail({ sink }: World, { url }: ServiceProcess, tenant: Tenant): Promise<Fresh> {
  const latencies: number[] = []
  let missing = 0
  for (let index = 0; index < FRESH; index += 1) {
    const before = await sink.ask('count')
    const sentAt = Date.now()
    const body = {
      to: `fresh${sentAt}-${index}@example.org`,
      from: `a@${tenant.domain}`,
      subject: 'Now',
      body: 'Now',
    }
    await load(url, () => ({ path: '/v1/send', key: tenant.secret, body }), {
      connections: 1,
      seconds: 5,
      requests: 1,
    })
    let seen = await sink.ask('count')
    while ((seen.fresh ?? 0) === (before.fresh ?? 0) && Date.now() - sentAt < 10_000) {
      await pause(2)
      seen = await sink.ask('count')
    }
    if ((seen.fresh ?? 0) === (before.fresh ?? 0)) missing += 1
    latencies.push(Math.max(0, (seen.freshAt ?? 0) - sentAt))
    await pause(Math.max(0, FRESH_EVERY_MS - (Date.now() - sentAt)))
  }
  const { p50, p95 } = percentileOf(latencies)
  return { p50, p95, missing }
}

/** How much mail leaves a second while `beside` runs, and what came of that. */
async function drain<Result>(
  world: World,
  workers: number,
  beside: (service: ServiceProcess) => Promise<Result>,
): Promise<{ rate: number; repeated: number; result: Result }> {
  const { database, mail, sink } = world
  const service = await startServiceProcess(await database.env({ ...mail, ROLES: 'http,worker' }))
  const more: ServiceProcess[] = []
  for (let index = 1; index < workers; index += 1) {
    more.push(await startServiceProcess(await database.env({ ...mail, ROLES: 'worker' })))
  }
  try {
    const before = await sink.ask('count')
    const startedAt = performance.now()
    const [result] = await Promise.all([beside(service), pause(WINDOW_MS)])
    const after = await sink.ask('count')
    const seconds = (performance.now() - startedAt) / 1000
    const rate = ((after.count ?? 0) - (before.count ?? 0)) / seconds
    return { rate, repeated: after.repeated ?? 0, result }
  } finally {
    for (const one of [service, ...more]) await one.stop()
  }
}

const nothing = async () => undefined

export type ManyTenants = { alone: number; many: Drained; idle: Fresh; sameProject: Drained }

/** 1,000 projects with 20 due messages each beside one with a large backlog, and one that sends now and then. */
export async function benchManyTenants(world: World): Promise<ManyTenants> {
  const [large, small] = await makeTenants(world, 2)
  if (!large || !small) throw new Error('no tenants')
  const idle = await withService(world, (service) => freshMail(world, service, small))
  await forgetMail(world)
  await addBacklog(world, [large], { each: 60_000 })
  const { rate: alone } = await drain(world, 1, nothing)
  await forgetMail(world)
  await addBacklog(world, [large], { each: 60_000 })
  await addBacklog(world, await makeTenants(world, 1_000), { each: 20 })
  const many = await drain(world, 1, (service) => freshMail(world, service, small))
  await forgetMail(world)
  await addBacklog(world, [large], { each: 60_000, priority: 2 })
  const same = await drain(world, 1, (service) => freshMail(world, service, large))
  await forgetMail(world)
  return {
    alone,
    idle,
    many: { rate: many.rate, fresh: many.result },
    sameProject: { rate: same.rate, fresh: same.result },
  }
}

export type Snapshot = { before: number; during: number }

/** A report that holds an old snapshot open: dead rows cannot be removed meanwhile. */
export async function benchOldSnapshot(world: World): Promise<Snapshot> {
  const [tenant] = await makeTenants(world, 1)
  if (!tenant) throw new Error('no tenant')
  await addBacklog(world, [tenant], { each: 150_000 })
  const { rate: before } = await drain(world, 1, nothing)
  await world.client.query('begin isolation level repeatable read')
  await world.client.query('select count(*) from emails')
  try {
    const measured = await drain(world, 1, async () => {
      await pause(60_000 - WINDOW_MS)
      const seen = await world.sink.ask('count')
      const startedAt = performance.now()
      await pause(WINDOW_MS)
      const after = await world.sink.ask('count')
      return (((after.count ?? 0) - (seen.count ?? 0)) / (performance.now() - startedAt)) * 1000
    })
    return { before, during: measured.result }
  } finally {
    await world.client.query('rollback')
    await forgetMail(world)
  }
}

export type Workers = { workers: number; rate: number; repeated: number }

/** The provider takes 100 ms a message, so that workers, not processors, are what there is too little of. */
export async function benchWorkers(world: World): Promise<Workers[]> {
  const results: Workers[] = []
  for (const workers of [1, 2, 4]) {
    const [tenant] = await makeTenants(world, 1)
    if (!tenant) throw new Error('no tenant')
    await addBacklog(world, [tenant], { each: 30_000 })
    await world.sink.ask('hold 100')
    const { rate, repeated } = await drain(world, workers, nothing)
    results.push({ workers, rate, repeated })
    await forgetMail(world)
  }
  return results
}

export type LargeMail = { delivered: number; repeated: number; seconds: number; peakMemory: number }

/** 60 messages of 25 MB for a process with a heap of 1 GB. */
export async function benchLargeMail(world: World): Promise<LargeMail> {
  const [tenant] = await makeTenants(world, 1)
  if (!tenant) throw new Error('no tenant')
  const html = `<p>${'large mail is read in pieces of a line each. '.repeat(20)}</p>\n`.repeat(27_000)
  await addBacklog(world, [tenant], { each: 60, html })
  const heap = { NODE_OPTIONS: '--max-old-space-size=1024', ROLES: 'http,worker' }
  const service = await startServiceProcess(await world.database.env({ ...world.mail, ...heap }))
  try {
    const startedAt = performance.now()
    let seen = await world.sink.ask('count')
    while ((seen.count ?? 0) < 60 && performance.now() - startedAt < 240_000) {
      await pause(500)
      seen = await world.sink.ask('count')
    }
    return {
      delivered: seen.count ?? 0,
      repeated: seen.repeated ?? 0,
      seconds: (performance.now() - startedAt) / 1000,
      peakMemory: service.peakMemory(),
    }
  } finally {
    await service.stop()
    await forgetMail(world)
  }
}
