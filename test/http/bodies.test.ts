import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { capturedLog } from '../support/captured-log.ts'
import { openRaw, type RawConnection } from '../support/raw-http.ts'
import { assertGraphQLRefused, assertRefused } from '../support/refusals.ts'
import { scenario, sharedStart } from '../support/scenario.ts'
import { runs } from '../support/seeded.ts'
import { type Answer, type Project, type Service, startService, until } from '../support/service.ts'

const started = sharedStart(startService)

const TRACK = { email: 'ada@example.org', event: 'opened_app' }
const MEGABYTE = 1024 * 1024
const TRACK_MUTATION = 'mutation ($input: TrackEventInput!) { trackEvent(input: $input) { event } }'

type Post = (body: unknown, headers?: Record<string, string>) => Promise<Answer>

const trackOf =
  ({ as, project }: Service): Post =>
  (body, headers = {}) =>
    as(project.public).post('/v1/track', body, { headers })

const headOf = (path: string, key: string, ...more: string[]) =>
  [`POST ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`, ...more, '', ''].join('\r\n')

const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

scenario('A JSON body', started, (test) => {
  test('that is not JSON, or no object, is 400 INVALID_REQUEST_BODY', async (service) => {
    const track = trackOf(service)
    for (const body of [
      '{',
      '{"email":"a@b.co",}',
      "{'email':'a@b.co'}",
      '{"email":"a@b.co"} x',
      '{"email":"a\tb@b.co"}',
      '\u0000',
      'undefined',
      'NaN',
      ' ',
      'null',
      '[]',
      `[${JSON.stringify(TRACK)}]`,
      '1',
      '"text"',
      'true',
    ]) {
      const error = assertRefused(await track(body), 400, 'INVALID_REQUEST_BODY')
      assert.not.match(error.message, /at Object|node:|\.ts/)
    }
  })

  test('that is empty, or not there, lacks its fields', async (service) => {
    for (const body of ['', undefined, '{}']) {
      const { errors } = assertRefused(await trackOf(service)(body), 422, 'VALIDATION_ERROR')
      assert.equal(
        errors.map(({ field, code }: { field: string; code: string }) => [field, code]),
        [
          ['email', 'required'],
          ['event', 'required'],
        ],
      )
    }
  })

  test('of another media type is 415', async (service) => {
    const body = JSON.stringify(TRACK)
    for (const type of [
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonx',
      'application/json-seq',
      'application/xml',
      'application',
      ';',
    ]) {
      assertRefused(await trackOf(service)(body, { 'content-type': type }), 415, 'UNSUPPORTED_MEDIA_TYPE')
    }
    for (const type of [
      'application/json',
      'APPLICATION/JSON ; charset=UTF-8',
      'application/json;charset=utf-8',
      'application/vnd.api+json',
    ]) {
      assert.is((await trackOf(service)(body, { 'content-type': type })).status, 200, type)
    }
  })

  test('without a media type is taken for JSON', async ({ url, project }) => {
    const body = JSON.stringify(TRACK)
    const connection = openRaw(url)
    connection.write(`${headOf('/v1/track', project.public, `Content-Length: ${body.length}`)}${body}`)
    assert.is((await connection.answer()).status, 200)
    connection.end()
  })

  test('must be UTF-8, through every door', async (service) => {
    const { as, project } = service
    const latin1 = Buffer.from(JSON.stringify({ ...TRACK, event: 'caf\u00e9' }), 'latin1')
    const overlong = Buffer.concat([Buffer.from('{"event":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')])
    for (const body of [latin1, overlong]) {
      const error = assertRefused(await trackOf(service)(body), 400, 'INVALID_REQUEST_BODY')
      assert.match(error.message, /UTF-8/)
    }
    const query = Buffer.from('{"query":"{ __typename # caf\u00e9\\n }"}', 'latin1')
    const answer = await as(project).post('/graphql', query)
    assert.is(answer.status, 400)
    assertGraphQLRefused(answer, 400, 'INVALID_REQUEST_BODY')
  })

  test('may begin with a byte order mark', async (service) => {
    assert.is((await trackOf(service)(`\ufeff${JSON.stringify(TRACK)}`)).status, 200)
  })

  test('with a key twice: the last one counts', async (service) => {
    const answer = await trackOf(service)('{"email":"ada@example.org","event":"first","event":"second"}')
    const [event] = await service.sql('select name from events where id = $1', [answer.body.data.event])
    assert.is(event?.name, 'second')
  })

  test('with keys that mean something to JavaScript: they are keys', async (service) => {
    const data = '{"__proto__":{"polluted":1},"constructor":2,"toString":3,"hasOwnProperty":null}'
    const body = `{"email":"proto@example.org","event":"e","__proto__":{"email":1},"data":${data}}`
    assert.is((await trackOf(service)(body)).status, 200)
    const [contact] = await service.sql<{ text: string }>(
      `select data::text as text from contacts where email = 'proto@example.org'`,
    )
    const text = contact?.text ?? ''
    assert.match(text, /"__proto__": \{"polluted": 1\}/)
    assert.match(text, /"toString": 3/)
    assert.is(Reflect.get({}, 'polluted'), undefined)
  })
})

/** Text that Postgres cannot store, as it is written in JSON. */
const UNSTORABLE = ['\\u0000', 'a\\u0000b', '\\ud800', 'a\\udc00', '\\udc00\\ud800']

scenario('Text that cannot be stored', startService, (test) => {
  const places = (text: string): [string, string][] => [
    ['email', `{"email":"${text}a@example.org","event":"e"}`],
    ['event', `{"email":"a@example.org","event":"${text}"}`],
    ['data.key', `{"email":"a@example.org","event":"e","data":{"key":"${text}"}}`],
    ['data.a.1.b', `{"email":"a@example.org","event":"e","data":{"a":[0,{"b":"${text}"}]}}`],
    ['data', `{"email":"a@example.org","event":"e","data":{"${text}":1}}`],
    ['data.a', `{"email":"a@example.org","event":"e","data":{"a":{"${text}":1}}}`],
    [
      'data.a.value',
      `{"email":"a@example.org","event":"e","data":{"a":{"value":"${text}","persistent":false}}}`,
    ],
  ]

  test('is a field error, wherever it is, through both doors', async (service) => {
    for (const text of UNSTORABLE) {
      for (const [field, body] of places(text)) {
        const { errors } = assertRefused(await trackOf(service)(body), 422, 'VALIDATION_ERROR')
        assert.is(errors[0].field, field, body)
        assert.is(errors[0].code, 'invalid_string')
        const query = `{"query":${JSON.stringify(TRACK_MUTATION)},"variables":{"input":${body}}}`
        const answer = await service.as(service.project.public).post('/graphql', query)
        assertGraphQLRefused(answer, 422, 'VALIDATION_ERROR')
      }
    }
    assert.is((await service.sql('select from contacts')).length, 0)
  })

  test('in a path is a resource that does not exist', async ({ as, project }) => {
    for (const path of ['/templates/%00', '/templates/a%00b', '/domains/project/%00']) {
      assertRefused(await as(project).get(path), 404, 'RESOURCE_NOT_FOUND')
    }
  })

  test('in a query is an error of the caller', async ({ as, project }) => {
    const answer = await as(project).graphql('query ($id: ID!) { template(id: $id) { id } }', {
      id: '\u0000',
    })
    assertGraphQLRefused(answer, 422, 'VALIDATION_ERROR')
  })

  test('in a field that nobody knows does not matter', async (service) => {
    const body = '{"email":"b@example.org","event":"e","unknown":"\\u0000"}'
    assert.is((await trackOf(service)(body)).status, 200)
  })
})

scenario('Deep nesting', started, (test) => {
  const body = (data: string) => `{"email":"deep@example.org","event":"e","data":${data}}`

  test('is stored up to 64 levels', async (service) => {
    assert.is((await trackOf(service)(body(nested(63)))).status, 200)
  })

  test('is a field error beyond, however deep, through both doors', async (service) => {
    for (const depth of [65, 1_000, 100_000]) {
      for (const data of [nested(depth), `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`]) {
        const { errors } = assertRefused(await trackOf(service)(body(data)), 422, 'VALIDATION_ERROR')
        assert.is(errors[0].code, 'too_big')
        assert.match(errors[0].field, /^data\.a/)
        const query = `{"query":${JSON.stringify(TRACK_MUTATION)},"variables":{"input":${body(data)}}}`
        const answer = await service.as(service.project.public).post('/graphql', query)
        assertGraphQLRefused(answer, 422, 'VALIDATION_ERROR')
      }
    }
  })

  test('of what is unknown, or is in no object, is no failure either', async (service) => {
    const unknown = `{"email":"deep@example.org","event":"e","unknown":${nested(100_000)}}`
    assert.is((await trackOf(service)(unknown)).status, 200)
    assertRefused(await trackOf(service)('['.repeat(500_000)), 400, 'INVALID_REQUEST_BODY')
    assertRefused(
      await trackOf(service)(`{"email":${nested(100_000)},"event":[[[[1]]]]}`),
      422,
      'VALIDATION_ERROR',
    )
    const to = `{"to":${'['.repeat(100_000)}${']'.repeat(100_000)},"from":${nested(100_000)}}`
    const sent = await service.as().post('/v1/send', to)
    assertRefused(sent, 422, 'VALIDATION_ERROR')
  })
})

/** One chunk of a chunked body. */
const chunk = (size: number) => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`

scenario('A body that is too large', started, (test) => {
  const LARGE = 'x'.repeat(5 * MEGABYTE)

  test('is 413, with a length and in chunks', async (service) => {
    const stream = new ReadableStream({
      start(controller) {
        for (let part = 0; part < 5; part += 1) controller.enqueue(Buffer.alloc(MEGABYTE, 'x'))
        controller.close()
      },
    })
    const error = assertRefused(await trackOf(service)(LARGE), 413, 'PAYLOAD_TOO_LARGE')
    assert.match(error.message, /1024 KB/)
    const init: RequestInit & { duplex: 'half' } = {
      method: 'POST',
      headers: { authorization: `Bearer ${service.project.public}`, 'content-type': 'application/json' },
      body: stream,
      duplex: 'half',
      signal: AbortSignal.timeout(10_000),
    }
    const chunked = await fetch(`${service.url}/v1/track`, init)
    assert.is(chunked.status, 413)
    assert.is(JSON.parse(await chunked.text()).error.code, 'PAYLOAD_TOO_LARGE')
  })

  test('is told before it has come, and the connection goes on after it', async ({ url, project }) => {
    const connection = openRaw(url)
    connection.write(headOf('/v1/track', project.public, `Content-Length: ${LARGE.length}`))
    assert.is((await connection.answer()).status, 413)
    connection.write(LARGE)
    await assertAlive(connection)
    connection.write(headOf('/v1/track', project.public, 'Transfer-Encoding: chunked'))
    connection.write(chunk(MEGABYTE))
    connection.write(chunk(1))
    assert.is((await connection.answer()).status, 413)
    connection.write(`${chunk(MEGABYTE)}0\r\n\r\n`)
    await assertAlive(connection)
    connection.end()
  })

  test('is answered to a client that sends it all first and closes then', async ({ url, project }) => {
    for (const [length, body] of [
      [`Content-Length: ${LARGE.length}`, LARGE],
      ['Transfer-Encoding: chunked', `${chunk(MEGABYTE).repeat(5)}0\r\n\r\n`],
    ]) {
      const connection = openRaw(url)
      connection.write(headOf('/v1/track', project.public, 'Connection: close', length ?? ''))
      await new Promise<void>((resolve) => connection.socket.write(body ?? '', () => resolve()))
      assert.is((await connection.answer()).status, 413)
      await connection.closed
    }
  })

  test('is one byte more than fits', async (service) => {
    const padded = (size: number) => {
      const body = JSON.stringify({ ...TRACK, padding: '' })
      return body.replace('"padding":""', `"padding":"${'x'.repeat(size - body.length)}"`)
    }
    assert.is((await trackOf(service)(padded(MEGABYTE))).status, 200)
    assertRefused(await trackOf(service)(padded(MEGABYTE + 1)), 413, 'PAYLOAD_TOO_LARGE')
  })

  test('may come with a request that needs none', async ({ as, project, url }) => {
    const answer = await as(project).delete(`/domains/${project.id}`, LARGE)
    assertRefused(answer, 404, 'DOMAIN_NOT_FOUND')
    const connection = openRaw(url)
    connection.write(
      `GET /health/live HTTP/1.1\r\nHost: x\r\nContent-Length: ${LARGE.length}\r\n\r\n${LARGE}`,
    )
    assert.is((await connection.answer()).status, 200)
    await assertAlive(connection)
    connection.end()
  })
})

async function assertAlive(connection: RawConnection): Promise<void> {
  connection.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.is((await connection.answer()).status, 200)
}

async function startLogged() {
  const captured = capturedLog()
  const service = await startService({}, { log: captured.log })
  return { ...service, captured }
}

scenario('An upload', startLogged, (test) => {
  const body = JSON.stringify(TRACK)

  test('may be slow', async ({ url, project }) => {
    const connection = openRaw(url)
    connection.socket.setNoDelay(true)
    for (const byte of `${headOf('/v1/track', project.public, `Content-Length: ${body.length}`)}${body}`) {
      connection.write(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.is((await connection.answer()).status, 200)
    connection.end()
  })

  test('may wait to be told to go on', async ({ url, project }) => {
    const connection = openRaw(url)
    const expecting = [`Content-Length: ${body.length}`, 'Expect: 100-continue']
    connection.write(headOf('/v1/track', project.public, ...expecting))
    await new Promise<void>((resolve) => {
      connection.socket.once('data', (data) => {
        assert.match(String(data), /^HTTP\/1\.1 100 Continue\r\n\r\n$/)
        resolve()
      })
    })
    connection.write(body)
    assert.is((await connection.answer()).status, 200)
    connection.write(headOf('/v1/track', `pk_${'0'.repeat(64)}`, ...expecting))
    assert.is((await connection.answer()).status, 401)
    connection.end()
  })

  test('may expect what nobody knows', async ({ url, project }) => {
    const connection = openRaw(url)
    connection.write(
      `${headOf('/v1/track', project.public, `Content-Length: ${body.length}`, 'Expect: something')}${body}`,
    )
    assert.is((await connection.answer()).status, 200)
    connection.end()
  })

  test('that is broken off is nobody’s failure', async ({ url, project, captured, call }) => {
    for (const head of ['Content-Length: 100', 'Transfer-Encoding: chunked']) {
      const connection = openRaw(url)
      const more = [head, 'X-Request-Id: cut', 'Expect: 100-continue']
      connection.write(headOf('/v1/track', project.public, ...more))
      // The server is at it once it says to go on.
      await new Promise((resolve) => connection.socket.once('data', resolve))
      connection.write('5\r\n{"em')
      connection.socket.resetAndDestroy()
    }
    const requests = () =>
      captured.lines().filter(({ requestId, msg }) => requestId === 'cut' && msg === 'request')
    await until('both to be logged', () => requests().length === 2)
    assert.equal(
      requests().map(({ status }) => status),
      [499, 499],
    )
    assert.is((await call('GET', '/health/live')).status, 200)
    assert.not.match(captured.text(), /unexpected error/)
  })
})

scenario('Whatever a body holds', started, (test) => {
  const anything = (project: Project) =>
    fc.oneof(
      fc.json({ maxDepth: 4 }),
      fc.string({ unit: 'binary' }).map((text) => JSON.stringify({ email: text, event: text, to: text })),
      fc
        .record(
          {
            email: fc.oneof(fc.constant('ada@example.org'), fc.jsonValue()),
            event: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
            to: fc.oneof(fc.constant('ada@example.org'), fc.jsonValue()),
            from: fc.oneof(fc.constant(`a@${project.domain}`), fc.jsonValue()),
            subject: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
            body: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
            name: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
            subscribed: fc.oneof(fc.boolean(), fc.jsonValue()),
            data: fc.oneof(
              fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' })),
              fc.jsonValue(),
            ),
            headers: fc.oneof(fc.dictionary(fc.string(), fc.string({ unit: 'binary' })), fc.jsonValue()),
            attachments: fc.jsonValue(),
            template: fc.jsonValue(),
          },
          { requiredKeys: [] },
        )
        .map((value) => JSON.stringify(value)),
    )

  test('nothing of it is a failure of the service', async ({ as, project }) => {
    const doors = [
      ['/v1/track', project.public],
      ['/v1/send', project.secret],
      ['/templates', project.secret],
      ['/domains', project.secret],
    ] as const
    await fc.assert(
      fc.asyncProperty(anything(project), fc.constantFrom(...doors), async (body, [path, key]) => {
        const answer = await as(key).post(path, body)
        assert.ok(answer.status < 500, `${answer.status} ${path} ${body} ${answer.text}`)
        assert.ok(answer.body)
      }),
      { numRuns: runs(400) },
    )
  })
})
