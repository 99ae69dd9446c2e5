import { connect } from 'node:net'
import * as assert from 'uvu/assert'
import type { Actor } from '../../src/admission/access.ts'
import { badRequest, tooManyAnswers, tooManyBodies } from '../../src/errors.ts'
import { readBody } from '../../src/http/body.ts'
import { ByteBudget } from '../../src/http/budgets/byte-budget.ts'
import type { Budgets } from '../../src/http/budgets/request-bytes.ts'
import { type Exchange, reply, replyInTurn, replyJson } from '../../src/http/exchange.ts'
import type { Pace } from '../../src/http/pace.ts'
import type { ServerRoute } from '../../src/http/server.ts'
import { startBareServer } from '../support/bare-server.ts'
import { openRaw, type RawAnswer } from '../support/raw-http.ts'
import { scenario } from '../support/scenario.ts'
import { until } from '../support/service.ts'

const MEGABYTE = 1024 * 1024

const budgets = (waitMs = 100): Budgets => {
  const limits = { total: 3 * MEGABYTE, perOwner: 2 * MEGABYTE, waitMs }
  const ofBodies = { ...limits, refusal: tooManyBodies }
  const bodies = new ByteBudget(ofBodies)
  const answers = { ...limits, refusal: tooManyAnswers }
  return {
    ...{ largeBodies: bodies, bodies, publicBodies: bodies },
    anonymousBodies: new ByteBudget({ ...ofBodies, total: MEGABYTE, perOwner: MEGABYTE }),
    answers: new ByteBudget(answers),
    waitingAnswers: new ByteBudget({ ...answers, total: 1.5 * MEGABYTE, perOwner: 1.5 * MEGABYTE }),
    answerParts: new ByteBudget(answers),
    workedOn: new ByteBudget(answers),
  }
}

const PROJECT = {
  name: 'Test',
  disabled: false,
  disabledReason: null,
  tracking: 'ENABLED',
  language: 'en',
  footerText: null,
  rateLimitPerMinute: null,
  sendRatePerSecond: null,
} as const

/** A key as its project and kind say: "secret a". Without one, nobody in particular. */
function actorOf({ request }: Exchange): Actor {
  const [kind, id] = (request.headers.authorization ?? '').split(' ')
  if (!id) return { kind: 'anonymous' }
  const keyKind = kind === 'public' ? 'public' : 'secret'
  return {
    kind: 'key',
    keyKind,
    keyHash: Buffer.alloc(0),
    project: { ...PROJECT, id },
    scope: null,
    isRemembered: false,
  }
}

type Given = { waitMs?: number; pace?: Pace; bodyPace?: Parameters<typeof readBody>[2] }

async function start({ waitMs, pace, bodyPace }: Given = {}) {
  const state = { working: 0, asked: 0, gate: Promise.withResolvers<void>() }
  const routes: ServerRoute[] = [
    {
      method: 'POST',
      path: '/body',
      handle: async (exchange) => {
        exchange.bytes.charge(actorOf(exchange))
        const { length } = await readBody(exchange, 10 * MEGABYTE, bodyPace)
        state.working += 1
        await state.gate.promise
        state.working -= 1
        replyJson(exchange, 200, { length })
      },
    },
    {
      method: 'GET',
      path: '/answer/:size',
      handle: (exchange, { size }) => {
        exchange.bytes.charge(actorOf(exchange))
        reply(exchange, 200, {}, 'x'.repeat(Number(size)))
      },
    },
    {
      method: 'GET',
      path: '/patient/:size',
      handle: async (exchange, { size }) => {
        exchange.bytes.charge(actorOf(exchange))
        state.asked += 1
        await replyInTurn(exchange, 200, {}, 'x'.repeat(Number(size)))
      },
    },
    {
      method: 'GET',
      path: '/refusal/:size',
      handle: (exchange, { size }) => {
        exchange.bytes.charge(actorOf(exchange))
        throw badRequest('x'.repeat(Number(size)))
      },
    },
  ]
  const bare = await startBareServer({ routes, budgets: budgets(waitMs), ...(pace && { pace }) })
  return { ...bare, state }
}

type Started = Awaited<ReturnType<typeof start>>

/** Sends a body of so many bytes, and returns the answer when it comes. */
function post(url: string, owner: string, size: number, { chunked = false } = {}) {
  const connection = openRaw(url)
  const length = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${size}`
  connection.write(`POST /body HTTP/1.1\r\nHost: x\r\nAuthorization: ${owner}\r\n${length}\r\n\r\n`)
  const body = 'x'.repeat(size)
  connection.write(chunked ? `${size.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body)
  return { answer: connection.answer(), end: connection.end }
}

function assertRefused({ status, headers, body }: RawAnswer): void {
  assert.is(status, 503)
  assert.is(JSON.parse(body).error.code, 'SERVICE_UNAVAILABLE')
  assert.ok(Number(headers['retry-after']) > 0)
}

async function holding({ url, state }: Started, owner: string, size: number) {
  const before = state.working
  const held = post(url, owner, size)
  await until('the body to be worked on', () => state.working === before + 1)
  return held
}

scenario(
  'Bodies',
  () => start(),
  (test) => {
    test('of one owner have a share; who is over it waits, then is refused', async (started) => {
      const { url, state } = started
      const held = await holding(started, 'secret a', 1.5 * MEGABYTE)
      assertRefused(await post(url, 'secret a', MEGABYTE).answer)
      assertRefused(await post(url, 'secret a', MEGABYTE, { chunked: true }).answer)
      const small = await holding(started, 'secret a', 60_000)
      const other = await holding(started, 'secret b', MEGABYTE)
      const waiting = post(url, 'secret a', MEGABYTE)
      state.gate.resolve()
      for (const { answer } of [held, small, other, waiting]) assert.is((await answer).status, 200)
      state.gate = Promise.withResolvers()
    })

    test('are counted from the same size on when nobody says how long they are', async (started) => {
      const { url, state } = started
      const held = await holding(started, 'secret a', 2 * MEGABYTE)
      for (const chunked of [false, true]) {
        assertRefused(await post(url, 'secret a', 70_000, { chunked }).answer)
      }
      state.gate.resolve()
      assert.is((await held.answer).status, 200)
      // The last one is larger than a share, and let in because its owner has nothing else.
      for (const size of [60_000, 70_000, MEGABYTE, 2.5 * MEGABYTE]) {
        assert.is((await post(url, 'secret a', size, { chunked: true }).answer).status, 200)
      }
      state.gate = Promise.withResolvers()
    })

    test('of a public key and of nobody take nothing of the secret key’s share', async (started) => {
      const { url, state } = started
      const all = [
        await holding(started, 'public a', MEGABYTE),
        await holding(started, 'anybody', MEGABYTE),
        await holding(started, 'secret a', 2 * MEGABYTE),
      ]
      assertRefused(await post(url, 'anybody', MEGABYTE).answer)
      assertRefused(await post(url, 'secret b', MEGABYTE).answer)
      state.gate.resolve()
      for (const { answer } of all) assert.is((await answer).status, 200)
      state.gate = Promise.withResolvers()
    })

    test('are counted until their work is done, also when the client has gone', async (started) => {
      const { url, state } = started
      const held = await holding(started, 'secret a', 2 * MEGABYTE)
      const closed = held.answer.catch(() => 'gone')
      held.end()
      assert.is(await closed, 'gone')
      assertRefused(await post(url, 'secret a', MEGABYTE).answer)
      state.gate.resolve()
      await until('the work to be done', () => state.working === 0)
      assert.is((await post(url, 'secret a', MEGABYTE).answer).status, 200)
    })

    test('that are larger than the share go when there is nothing else', async ({ url }) => {
      assert.is((await post(url, 'secret a', 5 * MEGABYTE).answer).status, 200)
    })
  },
)

/** Asks for an answer of so many bytes, and does not take it until it is told to. */
function ask(url: string, owner: string, size: number) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).pause()
  socket.write(`GET /answer/${size} HTTP/1.1\r\nHost: x\r\nAuthorization: ${owner}\r\n\r\n`)
  return async () => {
    let received = 0
    for await (const chunk of socket) {
      received += chunk.length
      if (received > size) break
    }
    return received
  }
}

const HASTY = { whole: 100, grace: 100, lookEvery: 20 }

scenario(
  'A body that does not come',
  () => start({ bodyPace: HASTY }),
  (test) => {
    test('is not waited for, and leaves its room to others', async ({ url, state }) => {
      state.gate.resolve()
      const connection = openRaw(url)
      const head = `POST /body HTTP/1.1\r\nHost: x\r\nAuthorization: secret a\r\nContent-Length: ${2 * MEGABYTE}`
      connection.write(`${head}\r\n\r\nx`)
      await until('it to be ended', () => connection.broken() ?? connection.socket.readableEnded)
      assert.is((await post(url, 'secret a', 2 * MEGABYTE).answer).status, 200)
    })
  },
)

scenario(
  'Answers',
  () => start(),
  (test) => {
    test('that nobody takes are limited for each owner, and counted until they are sent', async ({ url }) => {
      const size = 20 * MEGABYTE
      const takeIt = ask(url, 'secret a', size)
      await until('there to be no room', async () => {
        const probe = await fetch(`${url}/answer/${MEGABYTE}`, { headers: { authorization: 'secret a' } })
        await probe.arrayBuffer()
        return probe.status === 503 && Number(probe.headers.get('retry-after')) > 0
      })
      for (const [owner, bytes, status] of [
        ['secret a', 60_000, 200],
        ['public a', 60_000, 200],
      ] as const) {
        const probe = await fetch(`${url}/answer/${bytes}`, { headers: { authorization: owner } })
        assert.is((await probe.arrayBuffer()).byteLength, bytes)
        assert.is(probe.status, status)
      }
      const refusal = await fetch(`${url}/refusal/${MEGABYTE}`, { headers: { authorization: 'secret a' } })
      assert.is(refusal.status, 400)
      assert.ok((await refusal.text()).length > MEGABYTE)
      assert.ok((await takeIt()) > size)
      const probe = await fetch(`${url}/answer/${MEGABYTE}`, { headers: { authorization: 'secret a' } })
      assert.is(probe.status, 200)
      await probe.arrayBuffer()
    })
  },
)

/** Takes so little at a time that a large answer would take hours, until the server ends the connection. */
async function trickle(url: string, size: number): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(`GET /answer/${size} HTTP/1.1\r\nHost: x\r\nAuthorization: secret a\r\n\r\n`)
  socket.on('data', () => {
    socket.pause()
    setTimeout(() => socket.resume(), 20)
  })
  await until('it to be ended', () => socket.closed)
}

const BRISK: Pace = { bytesPerSecond: 50 * MEGABYTE, windowMs: 200, lookEveryMs: 50 }

scenario(
  'A client that takes its answer too slowly',
  () => start({ pace: BRISK }),
  (test) => {
    test('is left, though it takes something now and then', async ({ url }) => {
      await trickle(url, 40 * MEGABYTE)
      await until('its room to be there for others', async () => {
        const probe = await fetch(`${url}/answer/${2 * MEGABYTE}`, { headers: { authorization: 'secret a' } })
        return probe.status === 200 && (await probe.arrayBuffer()).byteLength === 2 * MEGABYTE
      })
    })
  },
)

scenario(
  'Answers that can wait',
  () => start({ waitMs: 30_000 }),
  (test) => {
    test('wait for room, as many as may, and the others are refused at once', async ({ url, state }) => {
      const size = 20 * MEGABYTE
      const takeIt = ask(url, 'secret a', size)
      const get = (path: string) => fetch(`${url}${path}`, { headers: { authorization: 'secret a' } })
      await until('there to be no room', async () => {
        const probe = await get(`/answer/${MEGABYTE}`)
        await probe.arrayBuffer()
        return probe.status === 503
      })
      const waiting = get(`/patient/${MEGABYTE}`)
      await until('it to wait', () => state.asked === 1)
      const refused = await get(`/patient/${MEGABYTE}`)
      assert.is(refused.status, 503)
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
      await refused.arrayBuffer()
      assert.is((await (await get('/patient/60000')).arrayBuffer()).byteLength, 60_000)
      assert.ok((await takeIt()) > size)
      const answer = await waiting
      assert.is(answer.status, 200)
      assert.is((await answer.arrayBuffer()).byteLength, MEGABYTE)
    })
  },
)
