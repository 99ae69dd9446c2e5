import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { listen } from '../support/listen.ts'
import { query } from '../support/query.ts'
import { scenario } from '../support/scenario.ts'
import { type Random, seeded } from '../support/seeded.ts'
import { callerOf, until } from '../support/service.ts'
import { type KillableService, startKillable } from './killable-service.ts'

const EVENTS = 120
const KILLS = process.env.DEEP ? 6 : 2
const HOLD_MS = 60

async function start() {
  const calls: { id: string; number: number }[] = []
  const receiver = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    calls.push({ id: String(request.headers['webhook-id']), number: JSON.parse(body).data.data.number })
    setTimeout(() => response.writeHead(204).end(), HOLD_MS)
  })
  const port = await listen(receiver)
  const killable = await startKillable({ env: { ALLOW_PRIVATE_WEBHOOKS: 'true' } })
  const stop = async () => {
    await killable.stop()
    receiver.closeAllConnections()
    receiver.close()
  }
  return { ...killable, calls, endpoint: `http://127.0.0.1:${port}/`, stop }
}

/** What the database has as being called at this moment. */
const underWay = ({ databaseUrl }: KillableService) =>
  query<{ id: string }>(databaseUrl, 'select id from webhook_messages where taken_by is not null')

scenario('A worker that is killed while it calls webhooks', start, (test) => {
  test('leaves nothing untold, and tells twice only what was under way', (context) =>
    seeded((random) => killedWhileCalling(context, random)))
})

async function killedWhileCalling(context: Awaited<ReturnType<typeof start>>, random: Random) {
  const { boot, kill, project, calls, endpoint, databaseUrl } = context
  let { url } = await boot()
  const create =
    'mutation ($input: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $input) { secret } }'
  const input = { url: endpoint, eventNames: ['order.paid'] }
  const created = await callerOf(url, project).graphql(create, { input })
  assert.is(created.body.errors, undefined, created.text)
  const numbers = Array.from({ length: EVENTS }, (_, number) => number)
  for (const number of numbers) {
    const body = { email: 'ada@example.org', event: 'order.paid', data: { number } }
    const { status, text } = await callerOf(url, project.public).post('/v1/track', body)
    assert.is(status, 200, text)
  }
  const cutOff = new Set<string>()
  for (let kills = 1; kills <= KILLS; kills += 1) {
    const wanted = Math.floor((EVENTS * kills) / (KILLS + 2))
    await until(`${wanted} calls`, () => calls.length >= wanted)
    await pause(random.between(0, 40))
    await kill()
    for (const { id } of await underWay(context)) cutOff.add(id)
    url = (await boot()).url
  }
  await until('all are told', async () => {
    const left = await query(databaseUrl, `select from webhook_messages where status <> 'SENT'`)
    const unheard = await query(databaseUrl, `select from changes where consumer = 'WEBHOOK'`)
    return left.length + unheard.length === 0
  })
  assert.equal(
    [...new Set(calls.map(({ number }) => number))].toSorted((a, b) => a - b),
    numbers,
  )
  const repeated = [...Map.groupBy(calls, ({ id }) => id)].filter(([, all]) => all.length > 1)
  assert.equal(
    repeated.filter(([id]) => !cutOff.has(id)),
    [],
  )
  assert.is(new Set(calls.map(({ id }) => id)).size, EVENTS)
}
