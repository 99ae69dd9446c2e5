import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { readBody } from '../../src/http/body.ts'
import { replyJson } from '../../src/http/exchange.ts'
import type { ServerRoute } from '../../src/http/server.ts'
import { startBareServer } from '../support/bare-server.ts'
import { openRaw, type RawAnswer } from '../support/raw-http.ts'
import { assertRefused } from '../support/refusals.ts'
import { scenario, sharedStart } from '../support/scenario.ts'
import { startService, until } from '../support/service.ts'

const start = sharedStart(startService)

const LIVE = 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Checks the envelope of an answer that was read from a socket. */
function assertRawRefused({ headers, body, status: actual }: RawAnswer, status: number, code: string): void {
  const answer = { status: actual, headers: new Headers(headers), body: JSON.parse(body), text: body }
  assert.match(assertRefused(answer, status, code).requestId, UUID)
}

/** What the server answers to these bytes on a connection of their own. */
async function answerTo(url: string, bytes: string | Buffer): Promise<RawAnswer> {
  const connection = openRaw(url)
  connection.write(bytes)
  try {
    return await connection.answer()
  } finally {
    connection.end()
  }
}

scenario('Routes', start, (test) => {
  test('that are not there are 404 in the envelope', async ({ as, project }) => {
    for (const path of [
      '/v1',
      '/v1/',
      '/v1/track/',
      '/V1/TRACK',
      '/v2/track',
      '/templates//',
      '/templates/',
      '/webhook',
      '/%',
      '/templates/%zz',
      '/templates/%c3%28',
      '/templates/%',
      '/templates/a/b',
      '/..%2f..%2fetc%2fpasswd',
      '/__proto__',
      '/constructor',
    ]) {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const answer = await as(project).call(method, path)
        if (answer.status !== 405) assertRefused(answer, 404, 'RESOURCE_NOT_FOUND')
      }
    }
  })

  test('tell which methods they have', async ({ call }) => {
    for (const [method, path, allow] of [
      ['GET', '/v1/track', 'POST, OPTIONS'],
      ['DELETE', '/v1/send', 'POST, OPTIONS'],
      ['PATCH', '/health/live', 'GET, HEAD, OPTIONS'],
      ['PUT', '/templates/x', 'GET, PATCH, DELETE, HEAD, OPTIONS'],
      ['POST', '/domains/x', 'DELETE, OPTIONS'],
      ['PUT', '/graphql', 'GET, POST, HEAD, OPTIONS'],
    ] as const) {
      const answer = await call(method, path)
      assertRefused(answer, 405, 'METHOD_NOT_ALLOWED')
      assert.is(answer.headers.get('allow'), allow, path)
    }
  })

  test('answer HEAD like GET, without a body', async ({ url, as, project }) => {
    const connection = openRaw(url)
    const authorization = `Authorization: Bearer ${project.secret}`
    for (const [path, status] of [
      ['/health/live', 200],
      [`/domains/project/${project.id}`, 200],
      ['/templates/x', 404],
    ] as const) {
      connection.write(`HEAD ${path} HTTP/1.1\r\nHost: x\r\n${authorization}\r\n\r\n`)
      const head = await connection.answer({ head: true })
      assert.is(head.status, status, path)
      const get = await as(project).get(path)
      assert.is(head.headers['content-length'], get.headers.get('content-length'), path)
    }
    for (const [path, status] of [
      ['/nothing', 404],
      ['/v1/track', 405],
    ] as const) {
      connection.write(`HEAD ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      assert.is((await connection.answer({ head: true })).status, status)
    }
    connection.write(
      'HEAD /graphql?query=%7B__typename%7D HTTP/1.1\r\nHost: x\r\nX-GraphQL-Yoga-CSRF: 1\r\n\r\n',
    )
    assert.is((await connection.answer({ head: true })).status, 200)
    connection.write(LIVE)
    assert.equal(JSON.parse((await connection.answer()).body), { status: 'ok' })
    connection.end()
  })

  test('ignore parameters that they do not have', async ({ call }) => {
    assert.is((await call('GET', '/health/live?a=1&a=2&%=%zz&&=')).status, 200)
  })
})

scenario('X-Request-Id', start, (test) => {
  test('is kept when it is harmless', async ({ call }) => {
    for (const id of ['a', 'abc-123', 'A._:/+=@-z', 'r'.repeat(128)]) {
      const answer = await call('GET', '/nothing', { headers: { 'x-request-id': id } })
      assert.is(answer.headers.get('x-request-id'), id)
      assert.is(answer.body.error.requestId, id)
    }
  })

  test('is replaced when it is not', async ({ call }) => {
    for (const id of ['', 'r'.repeat(129), 'a b', '{"a":1}', 'é', '<script>', 'a,b']) {
      const answer = await call('GET', '/nothing', { headers: { 'x-request-id': id } })
      assert.match(answer.headers.get('x-request-id') ?? '', UUID)
      assert.is(answer.body.error.requestId, answer.headers.get('x-request-id'))
    }
  })

  test('is another one for each request, on every kind of answer', async ({ as, call, graphql, project }) => {
    const answers = [
      await call('GET', '/health/live'),
      await call('OPTIONS', '/v1/track'),
      await call('GET', '/nothing'),
      await call('GET', '/mailbox'),
      await as(project.public).post('/v1/track', { email: 'a@b.co', event: 'e' }),
      await graphql('{ __typename }'),
      await graphql('{ nothing }'),
    ]
    const ids = answers.map(({ headers }) => headers.get('x-request-id') ?? '')
    for (const id of ids) assert.match(id, UUID)
    assert.is(new Set(ids).size, ids.length)
  })
})

scenario('Bytes on the wire', start, (test) => {
  test('that are no HTTP are 400 in the envelope', async ({ url }) => {
    for (const bytes of [
      'garbage\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      Buffer.alloc(100_000, 0xff),
      'GET /health/live HTTP/9.9\r\nHost: x\r\n\r\n',
      'FOO /health/live HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET /health/li ve HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET /health/live HTTP/1.1\r\nHost x\r\n\r\n',
      'GET /health/live HTTP/1.1\r\nHost: x\r\nA: b\x00c\r\n\r\n',
      'GET /health/live HTTP/1.1\r\n: x\r\n\r\n',
      'POST /v1/track HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
      'POST /v1/track HTTP/1.1\r\nHost: x\r\nContent-Length: 1e3\r\n\r\n',
      'POST /v1/track HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      'POST /v1/track HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'POST /v1/track HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n',
    ]) {
      assertRawRefused(await answerTo(url, bytes), 400, 'BAD_REQUEST')
    }
  })

  test('of a broken chunk end the request with 400', async ({ url, project }) => {
    const head = `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${project.public}\r\n`
    const answer = await answerTo(url, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"ema\r\nzz\r\n`)
    assertRawRefused(answer, 400, 'BAD_REQUEST')
  })

  test('with too much before the body are 431', async ({ url }) => {
    for (const bytes of [
      `GET /${'a'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: x\r\n${'X-Many: 123456789\r\n'.repeat(5_000)}\r\n`,
      `GET / HTTP/1.1\r\nHost: x\r\nX-Huge: ${'a'.repeat(5_000_000)}\r\n\r\n`,
    ]) {
      assertRawRefused(await answerTo(url, bytes), 431, 'BAD_REQUEST')
    }
  })

  test('may be long below that', async ({ url }) => {
    const answer = await answerTo(url, `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`)
    assertRawRefused(answer, 404, 'RESOURCE_NOT_FOUND')
    assert.ok(answer.body.length < 1_000, 'the path is not repeated whole')
  })

  test('of HTTP/1.1 need a Host, of HTTP/1.0 do not', async ({ url }) => {
    const without = await answerTo(url, 'GET /health/live HTTP/1.1\r\n\r\n')
    assertRawRefused(without, 400, 'BAD_REQUEST')
    assert.is((await answerTo(url, 'GET /health/live HTTP/1.0\r\n\r\n')).status, 200)
  })

  test('may name the whole address, as a proxy does', async ({ url }) => {
    for (const target of ['http://mail.example/health/live', 'https://mail.example:8443/health/live?a=1']) {
      assert.is((await answerTo(url, `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`)).status, 200)
    }
    for (const target of ['*', 'http://', '//health/live', '?']) {
      const answer = await answerTo(url, `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`)
      assert.ok(answer.status === 404 || answer.status === 400, `${target}: ${answer.status}`)
    }
  })

  test('may have any Host', async ({ url }) => {
    const body = '{"query":"{ __typename }"}'
    for (const host of ['', ' ', '%%%', 'a b', '[', 'x:99999999', '"', '\xff']) {
      const answer = await answerTo(
        url,
        `POST /graphql HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      assert.is(answer.status, 200, host)
      assert.equal(JSON.parse(answer.body), { data: { __typename: 'Query' } })
    }
  })

  test('that ask for a tunnel are refused', async ({ url }) => {
    const answer = await answerTo(url, 'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n')
    assertRawRefused(answer, 405, 'METHOD_NOT_ALLOWED')
  })

  test('that ask for another protocol are answered in this one', async ({ url }) => {
    const upgrade =
      'GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
    assert.is((await answerTo(url, upgrade)).status, 200)
  })

  test('of several requests at once are answered in their order', async ({ url, project }) => {
    const body = JSON.stringify({ email: 'a@example.org', event: 'e' })
    const track = `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${project.public}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const connection = openRaw(url)
    connection.write(`${LIVE}${track}GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(20))
    for (let round = 0; round < 20; round += 1) {
      const statuses = [await connection.answer(), await connection.answer(), await connection.answer()]
      assert.equal(
        statuses.map(({ status }) => status),
        [200, 200, 404],
      )
    }
    connection.end()
  })

  test('that go wrong after good requests do not lose their answers', async ({ url, project }) => {
    const body = JSON.stringify({ email: 'a@example.org', event: 'e' })
    const track = `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${project.public}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const connection = openRaw(url)
    connection.write(`${track}${LIVE}garbage\r\n\r\n${'more '.repeat(50_000)}`)
    assert.is((await connection.answer()).status, 200)
    assert.is((await connection.answer()).status, 200)
    assertRawRefused(await connection.answer(), 400, 'BAD_REQUEST')
    connection.end()
  })

  test('that go on after they were refused do not break the connection', async ({ url }) => {
    const connection = openRaw(url)
    connection.write('garbage\r\n\r\n')
    assert.is((await connection.answer()).status, 400)
    await connection.closed
    for (let round = 0; round < 50; round += 1) {
      await new Promise((resolve) => connection.socket.write('x'.repeat(10_000), resolve))
    }
    const gone = once(connection.socket, 'close')
    connection.socket.end()
    await gone
    assert.is(connection.broken(), null)
  })

  test('leave the service as it was', async ({ call }) => {
    assert.is((await call('GET', '/health/ready')).status, 200)
  })
})

const ROUTES: ServerRoute[] = [
  {
    method: 'POST',
    path: '/echo',
    handle: async (exchange) =>
      replyJson(exchange, 200, { length: (await readBody(exchange, 1_000)).length }),
  },
  {
    method: 'GET',
    path: '/breaks',
    handle: ({ response }) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half')
      throw new Error('in the middle')
    },
  },
  {
    method: 'GET',
    path: '/throws/:what',
    handle: (_exchange, { what }) => Promise.reject(what === 'text' ? 'internal text' : undefined),
  },
]

/** The server alone; a test says when its patience ends. */
async function startImpatient() {
  const gate = Promise.withResolvers<void>()
  const waits: ServerRoute = {
    method: 'GET',
    path: '/waits',
    handle: async ({ response }) => {
      response.writeHead(200, { 'content-length': '8' })
      response.write('half')
      await gate.promise
      response.end('half')
    },
  }
  const bare = await startBareServer({ routes: [...ROUTES, waits] }, { connectionsCheckingInterval: 50 })
  const { headersTimeout, requestTimeout } = bare.server
  const bePatient = () => Object.assign(bare.server, { headersTimeout, requestTimeout })
  const losePatience = () => Object.assign(bare.server, { headersTimeout: 1, requestTimeout: 1 })
  /** A connection that says when the server has read what was written. */
  const open = async () => {
    bePatient()
    const accepted = once(bare.server, 'connection')
    const connection = openRaw(bare.url)
    const [socket] = await accepted
    const writeRead = async (text: string) => {
      const end = socket.bytesRead + Buffer.byteLength(text)
      connection.write(text)
      await until('the server has read it', () => socket.bytesRead === end)
    }
    return { ...connection, writeRead }
  }
  return { ...bare, gate, open, bePatient, losePatience }
}

scenario('The server', startImpatient, (test) => {
  test('does not wait for ever for a request', async ({ open, losePatience }) => {
    for (const bytes of [
      'GET /ec',
      'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Le',
      'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf',
    ]) {
      const connection = await open()
      await connection.writeRead(bytes)
      losePatience()
      assertRawRefused(await connection.answer(), 408, 'BAD_REQUEST')
      connection.end()
    }
  })

  test('ends no answer with a refusal of the request behind it', async (context) => {
    const { open, bePatient, losePatience, gate, captured } = context
    const timeouts = () => captured.text().split('ERR_HTTP_REQUEST_TIMEOUT').length
    const before = timeouts()
    const connection = await open()
    await connection.writeRead('GET /waits HTTP/1.1\r\nHost: x\r\n\r\n')
    await connection.writeRead('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf')
    losePatience()
    await until('the second to take too long', () => timeouts() > before)
    bePatient()
    gate.resolve()
    assert.is((await connection.answer()).body, 'halfhalf')
    connection.write('-whole')
    assert.is((await connection.answer()).body, '{"length":10}')
    connection.end()
  })

  test('does not wait for ever for what is left of a request that it has answered', async (context) => {
    const connection = await context.open()
    connection.write('POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf')
    assert.is((await connection.answer()).status, 404)
    context.losePatience()
    await connection.closed
    const [rest] = await Promise.allSettled([connection.answer()])
    assert.is(rest?.status, 'rejected', 'there is no second answer')
  })

  test('does not let half an answer pass for a whole one', async ({ open, captured }) => {
    const connection = await open()
    connection.write('GET /breaks HTTP/1.1\r\nHost: x\r\n\r\n')
    await connection.closed
    assert.match(captured.text(), /in the middle/)
  })

  test('answers whatever is thrown', async ({ url, bePatient }) => {
    bePatient()
    for (const what of ['text', 'nothing']) {
      const answer = await answerTo(url, `GET /throws/${what} HTTP/1.1\r\nHost: x\r\n\r\n`)
      assertRawRefused(answer, 500, 'INTERNAL_SERVER_ERROR')
      assert.not.match(answer.body, /internal text/)
    }
  })
})
