import { load } from '../http-load.ts'
import { startServiceProcess } from '../processes.ts'
import type { World } from '../tenants/world.ts'
import { newWorkflow, report, request } from './journeys.ts'

const ROUNDS = 2
const CONNECTIONS = 16

/** The same requests with and without workflows that listen, in turns. */
export async function benchTrack({ database, client }: World, seconds: number): Promise<void> {
  const { public: key, secret } = database.project
  const service = await startServiceProcess(await database.env({ ROLES: 'http' }))
  const setEnabled = async (ids: string[], enabled: boolean) => {
    for (const id of ids) await request(service, secret, 'PATCH', `/workflows/${id}`, { enabled })
  }
  try {
    const { id: other } = await newWorkflow(service, secret, 'another.event')
    const { id: same } = await newWorkflow(service, secret, 'signed_up')
    const cases: [string, string[]][] = [
      ['no workflow listens', []],
      ['one listens to another event', [other]],
      ['one listens to this event', [same]],
    ]
    const rates = new Map<string, number[]>()
    let run = 0
    const tracked = async (lasting: number) => {
      run += 1
      const requestAt = (index: number) => ({
        ...{ path: '/v1/track', key },
        body: { email: `t${run}-${index}@example.org`, event: 'signed_up', data: { plan: 'pro' } },
      })
      const options = { connections: CONNECTIONS, seconds: lasting }
      const { rate, failed } = await load(service.url, requestAt, options)
      if (failed > 0) throw new Error(`${failed} requests were not answered with 200`)
      return rate
    }
    await setEnabled([other, same], false)
    await tracked(2)
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [name, ids] of cases) {
        await setEnabled(ids, true)
        rates.set(name, [...(rates.get(name) ?? []), await tracked(seconds)])
        await setEnabled(ids, false)
        await client.query(`delete from changes where consumer = 'WORKFLOW'`)
      }
    }
    const mean = (name: string) => (rates.get(name) ?? []).reduce((sum, rate) => sum + rate, 0) / ROUNDS
    const bare = mean('no workflow listens')
    for (const [name] of cases) {
      const share = ((100 * mean(name)) / bare).toFixed(0)
      report([`track, ${name}`, `${Math.round(mean(name))}/s, ${share} %`])
    }
  } finally {
    await service.stop()
  }
}
