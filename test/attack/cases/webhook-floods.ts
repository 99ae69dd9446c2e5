import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { listen } from '../../support/listen.ts'
import { query } from '../../support/query.ts'
import { type Caller, callerOf } from '../../support/service.ts'
import type { Attack, Target } from '../define-attack.ts'

const LASTING_MS = 15_000
const EVERY_MS = 500
/** What an honest call may take to arrive, on a slow machine. */
const GRACE_MS = 10_000
const ENDPOINTS_EACH = 4
const CONTACTS = 100
const CHUNK = Buffer.alloc(65_536, 'x')

const ADD_ENDPOINT =
  'mutation ($input: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $input) { endpoint { id } } }'

/** What hostile receivers do with a call. */
const WAYS: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
  silent: () => {},
  drip: (_request, response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('x'), 100)
    response.once('close', () => clearInterval(timer))
  },
  huge: (_request, response) => {
    response.writeHead(200)
    const fill = () => {
      while (!response.destroyed && response.write(CHUNK));
    }
    response.on('drain', fill)
    fill()
  },
  // Each hop takes nearly all the time that it has.
  hops: (request, response) => {
    const timer = setTimeout(() => response.writeHead(307, { location: request.url }).end(), 9_000)
    response.once('close', () => clearTimeout(timer))
  },
  circle: (request, response) => response.writeHead(307, { location: request.url }).end(),
  headers: (_request, response) => response.socket?.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(1_000_000)}`),
}

async function startHostile() {
  const seen = { calls: 0 }
  const server = createServer((request, response) => {
    seen.calls += 1
    request.resume()
    WAYS[request.url?.slice(1) ?? '']?.(request, response)
  })
  server.on('connection', (socket) => socket.on('error', () => {}))
  const port = await listen(server)
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return { seen, url: `http://127.0.0.1:${port}`, stop }
}

/** A workflow that an event starts and that calls an address. */
async function callingWorkflow(caller: Caller, eventName: string, url: string): Promise<void> {
  const created = { name: 'Calls', eventName, allowReentry: true }
  const { body: workflow } = await caller.post('/workflows', created)
  const step = { type: 'WEBHOOK', config: { url, method: 'POST', body: { who: '{{email}}' } } }
  const { body } = await caller.post(`/workflows/${workflow.id}/steps`, step)
  await caller.post(`/workflows/${workflow.id}/transitions`, {
    fromStepId: workflow.steps[0].id,
    toStepId: body.id,
  })
  await caller.patch(`/workflows/${workflow.id}`, { enabled: true })
}

/** Endpoints and workflows that call all kinds of bad receivers. */
async function prepare({ url, unlimited }: Target, receiver: string): Promise<void> {
  const caller = callerOf(url, unlimited)
  for (const way of Object.keys(WAYS)) {
    for (let index = 0; index < ENDPOINTS_EACH; index += 1) {
      const input = { url: `${receiver}/${way}`, eventNames: ['flood'] }
      await caller.graphql(ADD_ENDPOINT, { input })
    }
    await callingWorkflow(caller, 'flood', `${receiver}/${way}`)
  }
}

/** As many calls as the project may ask for, until the end. */
async function flood({ url, unlimited }: Target, until: number): Promise<void> {
  const caller = callerOf(url, unlimited.public)
  for (let number = 0; performance.now() < until; number += 1) {
    const email = `flood${number % CONTACTS}@example.org`
    await caller.post('/v1/track', { email, event: 'flood' })
  }
}

/** How long calls of the step of an honest project take from the event on, one after the other. */
async function callHonestly({ url, bystander }: Target, until: number): Promise<number[]> {
  const waiting = new Map<string, (value: null) => void>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    response.writeHead(204).end()
    waiting.get(JSON.parse(body).who)?.(null)
  })
  const port = await listen(server)
  try {
    await callingWorkflow(callerOf(url, bystander), 'honest', `http://127.0.0.1:${port}/`)
    const times: number[] = []
    for (let number = 0; performance.now() < until; number += 1) {
      const email = `honest${number}@example.org`
      const { promise, resolve } = Promise.withResolvers<null>()
      waiting.set(email, resolve)
      const began = performance.now()
      await callerOf(url, bystander.public).post('/v1/track', { email, event: 'honest' })
      const missed = await Promise.race([promise, pause(GRACE_MS, 'missed')])
      if (missed) throw new Error(`An honest call has not come within ${GRACE_MS} ms`)
      times.push(performance.now() - began)
      await pause(EVERY_MS)
    }
    return times.toSorted((a, b) => a - b)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

export const badReceivers: Attack = {
  name: 'webhooks of one project to receivers that are silent, endless or lead in circles',
  before: 'calls of others would wait for theirs',
  env: { ALLOW_PRIVATE_WEBHOOKS: 'true' },
  run: async (target) => {
    const hostile = await startHostile()
    try {
      await prepare(target, hostile.url)
      const until = performance.now() + LASTING_MS
      const [times] = await Promise.all([callHonestly(target, until), flood(target, until)])
      if (hostile.seen.calls === 0) throw new Error('No hostile call was made')
      const at = (part: number) => Math.round(times[Math.floor((times.length - 1) * part)] ?? 0)
      return `${hostile.seen.calls} hostile calls; ${times.length} honest ones p50 ${at(0.5)}, p95 ${at(0.95)} ms`
    } finally {
      hostile.stop()
    }
  },
}

/** Ways to write addresses that lead to this machine or into its network. */
const insideAddresses = (port: number): string[] => [
  ...[
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '0.0.0.0',
    'localhost',
    'localhost.',
  ].map((host) => `http://${host}:${port}/`),
  ...['::1', '::', '::ffff:127.0.0.1', '::127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::', 'fe80::1'].map(
    (host) => `http://[${host}]:${port}/`,
  ),
  ...['169.254.169.254', '10.0.0.1', '192.168.0.1', '100.64.0.1'].map((host) => `http://${host}/`),
]

export const insideCalls: Attack = {
  name: 'webhooks to this machine and into its network, however that is written',
  before: 'each would be called with what it asks for',
  run: async (target) => {
    const seen = { connections: 0 }
    const server = createTcpServer((socket) => {
      seen.connections += 1
      socket.destroy()
    })
    const port = await listen(server)
    try {
      const caller = callerOf(target.url, target.tenant)
      const addresses = insideAddresses(port)
      let refusedAtOnce = 0
      for (const url of addresses) {
        const { body } = await caller.graphql(ADD_ENDPOINT, { input: { url, eventNames: ['inside'] } })
        if (body.errors) refusedAtOnce += 1
        await callingWorkflow(caller, 'inside', url)
      }
      await callerOf(target.url, target.tenant.public).post('/v1/track', {
        email: 'inside@example.org',
        event: 'inside',
      })
      const wanted = 2 * addresses.length - refusedAtOnce
      const tried = async () => {
        const [row] = await query<{ count: number; sent: number }>(
          target.databaseUrl,
          `select (count(*) filter (where attempts > 0))::int as count, (count(*) filter (where status = 'SENT'))::int as sent
           from webhook_messages where project_id = $1`,
          [target.tenant.id],
        )
        return row ?? { count: 0, sent: 0 }
      }
      let { count, sent } = await tried()
      const until = performance.now() + LASTING_MS
      while (count < wanted && performance.now() < until) {
        await pause(EVERY_MS)
        ;({ count, sent } = await tried())
      }
      if (seen.connections + sent > 0) throw new Error(`${seen.connections} calls have come in`)
      if (count === 0) throw new Error('Nothing was tried')
      return `0 of ${count} calls came in`
    } finally {
      server.close()
    }
  },
}
