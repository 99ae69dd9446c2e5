import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { readBody } from '../../src/http/body.ts'
import { limitConnections } from '../../src/http/budgets/connections.ts'
import { fixedAnswer, replyFixed, replyJson } from '../../src/http/exchange.ts'
import type { ServerRoute } from '../../src/http/server.ts'
import { type BareServer, startBareServer } from '../support/bare-server.ts'
import { openRaw } from '../support/raw-http.ts'
import { scenario } from '../support/scenario.ts'
import { until } from '../support/service.ts'

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

const LARGE = fixedAnswer({}, 'x'.repeat(16 * 1024 * 1024))
const STALLED_MS = 1_000

async function startCounting() {
  const seen = { served: 0, atOnce: 0, most: 0, gate: Promise.withResolvers<void>() }
  const routes: ServerRoute[] = [
    {
      method: 'GET',
      path: '/waits',
      handle: async (exchange) => {
        seen.served += 1
        seen.atOnce += 1
        seen.most = Math.max(seen.most, seen.atOnce)
        await seen.gate.promise
        seen.atOnce -= 1
        replyJson(exchange, 200, {})
      },
    },
    {
      method: 'POST',
      path: '/waits',
      handle: async (exchange) => {
        seen.served += 1
        await seen.gate.promise
        replyJson(exchange, 200, { length: (await readBody(exchange, 1024 * 1024)).length })
      },
    },
    { method: 'GET', path: '/large', handle: (exchange) => replyFixed(exchange, LARGE) },
    {
      method: 'GET',
      path: '/takes-long',
      handle: async (exchange) => {
        await pause(3 * STALLED_MS)
        replyJson(exchange, 200, {})
      },
    },
  ]
  const bare = await startBareServer({ routes }, { stalledMs: STALLED_MS, keepAliveTimeout: 60_000 })
  return { ...bare, seen }
}

/** How many connections the server has. */
const openAt = ({ server }: BareServer) =>
  new Promise<number>((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )

function open(url: string): Socket {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  return socket
}

scenario('Requests on one connection', startCounting, (test) => {
  test('are served one after the other', async (started) => {
    const { url, seen } = started
    const connection = openRaw(url)
    connection.write(get('/waits').repeat(60))
    await until('the first to be served', () => seen.served === 1)
    seen.gate.resolve()
    for (let index = 0; index < 60; index += 1) assert.is((await connection.answer()).status, 200)
    assert.is(seen.most, 1)
    connection.end()
  })

  test('of which too many wait end it', async ({ url, seen }) => {
    seen.gate = Promise.withResolvers()
    const connection = openRaw(url)
    connection.write(get('/waits').repeat(66))
    await connection.closed
    seen.gate.resolve()
  })

  test('are left on the wire while those before them have much to say', async ({ url, seen, server }) => {
    const long = 'a'.repeat(40_000)
    for (const request of [
      `POST /waits HTTP/1.1\r\nHost: x\r\nContent-Length: ${long.length}\r\n\r\n${long}`,
      `GET /waits HTTP/1.1\r\nHost: x\r\nX-Long: ${long.slice(0, 30_000)}\r\n\r\n`,
    ]) {
      seen.gate = Promise.withResolvers()
      const before = seen.served
      let parsed = 0
      let most = 0
      const count = () => {
        parsed += 1
        most = Math.max(most, parsed - (seen.served - before))
      }
      server.on('request', count)
      const connection = openRaw(url)
      connection.write(request.repeat(40))
      await until('the first to be served', () => seen.served === before + 1)
      seen.gate.resolve()
      for (let index = 0; index < 40; index += 1) assert.is((await connection.answer()).status, 200)
      // Some 100 KB are read ahead.
      assert.ok(most >= 2 && most <= 6, `${most} waited`)
      server.off('request', count)
      connection.end()
    }
  })

  test('that wait when it ends are forgotten, and hold up nobody', async () => {
    const { url, seen, close } = await startCounting()
    const connection = openRaw(url)
    connection.write(get('/waits').repeat(20))
    await until('the first to be served', () => seen.served === 1)
    connection.end()
    seen.gate.resolve()
    const began = performance.now()
    await close()
    assert.ok(performance.now() - began < 5_000)
    assert.is(seen.served, 1)
  })
})

scenario('A client', startCounting, (test) => {
  test('that takes nothing of its answer is ended', async (started) => {
    const socket = open(started.url)
    await once(socket, 'connect')
    socket.pause()
    socket.write(get('/large'))
    await until('it to be connected', async () => (await openAt(started)) === 1)
    await until('it to be ended', async () => (await openAt(started)) === 0)
    socket.destroy()
  })

  test('that takes it slowly gets all of it', async ({ url }) => {
    const socket = open(url)
    socket.write(get('/large'))
    let received = 0
    while (received < LARGE.body.length) {
      const chunk: Buffer | null = socket.read(1024 * 1024) ?? socket.read()
      received += chunk?.length ?? 0
      if (chunk) await pause(50)
      else await Promise.race([once(socket, 'readable'), once(socket, 'close')])
      assert.not(socket.destroyed)
    }
    socket.destroy()
  })

  test('whose request takes long is not ended', async ({ url }) => {
    const answer = await fetch(`${url}/takes-long`, { signal: AbortSignal.timeout(10_000) })
    assert.is(answer.status, 200)
  })
})

async function startLimited(limits: { total: number; perAddress: number; trustedProxies: string[] }) {
  const bare = await startBareServer({ routes: [] })
  limitConnections(bare.server, limits)
  return bare
}

/** How many of so many connections from an address are still open when the server has looked at all of them. */
async function staying(bare: BareServer, count: number, localAddress: string): Promise<Socket[]> {
  const { port, hostname } = new URL(bare.url)
  const sockets = Array.from({ length: count }, () =>
    connect({ port: Number(port), host: hostname, localAddress }),
  )
  const state = await Promise.all(
    sockets.map(async (socket) => {
      socket.on('error', () => {})
      socket.write(get('/nothing'))
      return new Promise<Socket | null>((resolve) => {
        socket.once('close', () => resolve(null))
        socket.once('data', () => resolve(socket))
      })
    }),
  )
  return state.filter((socket) => socket !== null)
}

scenario(
  'Connections',
  () => ({}),
  (test) => {
    test('of one address are limited, those of others are not in their way', async () => {
      const bare = await startLimited({ total: 100, perAddress: 5, trustedProxies: ['127.0.0.9'] })
      const first = await staying(bare, 8, '127.0.0.7')
      assert.is(first.length, 5)
      assert.is((await staying(bare, 8, '127.0.0.8')).length, 5)
      for (const socket of first.slice(2)) socket.destroy()
      await until('the server to see that', async () => (await openAt(bare)) === 7)
      assert.is((await staying(bare, 8, '127.0.0.7')).length, 3)
      await bare.stop()
    })

    test('of a trusted proxy, and of all addresses without a limit, are only limited together', async () => {
      for (const [perAddress, trustedProxies] of [
        [5, ['127.0.0.0/24', '::1']],
        [0, []],
      ] as const) {
        const bare = await startLimited({ total: 20, perAddress, trustedProxies: [...trustedProxies] })
        assert.is((await staying(bare, 30, '127.0.0.7')).length, 20)
        await bare.stop()
      }
    })
  },
)
