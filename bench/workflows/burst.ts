import { setTimeout as pause } from 'node:timers/promises'
import { type LoadResult, load, percentileOf } from '../http-load.ts'
import type { ServiceProcess } from '../processes.ts'
import { type Fresh, freshMail } from '../tenants/mail.ts'
import { type Tenant, type World, withService } from '../tenants/world.ts'
import { newContacts, newWorkflow, report, startAll, untilOver } from './journeys.ts'

const TRACK_EVERY_MS = 25

/** Tracks of a project one after the other, while something else goes on. */
async function tracks(
  { url }: ServiceProcess,
  { public: key }: Tenant,
  goesOn: () => boolean,
): Promise<LoadResult> {
  const latencies: number[] = []
  while (goesOn()) {
    const body = { email: `b${latencies.length}@example.org`, event: 'seen' }
    const options = { connections: 1, seconds: 5, requests: 1 }
    const { p50, failed } = await load(url, () => ({ path: '/v1/track', key, body }), options)
    if (failed > 0) throw new Error('A track was not answered with 200')
    latencies.push(p50)
    await pause(TRACK_EVERY_MS)
  }
  return percentileOf(latencies)
}

async function fares(world: World, service: ServiceProcess, tenant: Tenant) {
  let mailing = true
  const [mail, track] = await Promise.all([
    freshMail(world, service, tenant).finally(() => {
      mailing = false
    }),
    tracks(service, tenant, () => mailing),
  ])
  return { mail, track }
}

const told = ({ mail, track }: { mail: Fresh; track: LoadResult }) =>
  `track p95 ${track.p95.toFixed(1)} ms; mail at the SMTP server p95 ${Math.round(mail.p95)} ms${
    mail.missing > 0 ? `, ${mail.missing} late` : ''
  }`

/** How another project fares beside executions that all start at once, in one process that does everything. */
export async function benchBurst(
  world: World,
  [bursting, other]: [Tenant, Tenant],
  executions: number,
): Promise<void> {
  await withService(world, async (service) => {
    const { id } = await newWorkflow(service, bursting.secret, 'nobody.does.this.either')
    const contacts = await newContacts(world, bursting.id, executions)
    await fares(world, service, other)
    report(['another project alone', told(await fares(world, service, other))])
    const [beside] = await Promise.all([
      fares(world, service, other),
      startAll(world, bursting.id, id, contacts),
    ])
    report([`… beside a burst of ${executions} executions`, told(beside)])
    const { steps, seconds } = await untilOver(world, id, executions)
    report(['… which', `made ${steps} steps in ${seconds.toFixed(1)} s`])
  })
}
