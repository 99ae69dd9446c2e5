import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import * as assert from 'uvu/assert'
import { openRaw } from '../support/raw-http.ts'
import { assertGraphQLRefused, assertRefused } from '../support/refusals.ts'
import { scenario } from '../support/scenario.ts'
import { type Answer, type Service, startService } from '../support/service.ts'

const MEGABYTE = 1024 * 1024
const FAST = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
const TRACK = { email: 'ada@example.org', event: 'opened_app' }

const track = ({ as, project }: Service, encoding: string, body: Buffer): Promise<Answer> =>
  as(project.public).post('/v1/track', body, { headers: { 'content-encoding': encoding } })

const CODINGS: [string, (text: string) => Buffer][] = [
  ['gzip', (text) => gzipSync(text)],
  ['x-gzip', (text) => gzipSync(text)],
  ['GZIP', (text) => gzipSync(text)],
  ['deflate', (text) => deflateSync(text)],
  ['br', (text) => brotliCompressSync(text)],
  ['identity', (text) => Buffer.from(text)],
]

scenario('A compressed body', startService, (test) => {
  for (const [name, compress] of CODINGS) {
    test(`of ${name} is read as what it was`, async (service) => {
      const text = JSON.stringify({ ...TRACK, data: { note: 'x'.repeat(50_000) } })
      const { status, body } = await track(service, name, compress(text))
      assert.is(status, 200, JSON.stringify(body))
      const [event] = await service.sql<{ length: number }>(
        `select length(data ->> 'note') as length from events where id = $1`,
        [body.data.event],
      )
      assert.is(event?.length, 50_000)
    })
  }

  test('is refused when something follows that is no part of it', async (service) => {
    for (const [name, compress] of CODINGS.filter(([coding]) => coding !== 'identity')) {
      const { status, body } = await track(
        service,
        name,
        Buffer.concat([compress(JSON.stringify(TRACK)), Buffer.from('more')]),
      )
      assert.is(status, 400, name)
      assert.match(body.error.message, `not valid ${name.toLowerCase()}`)
    }
  })

  test('goes to GraphQL, and holds files', async ({ as, project }) => {
    const headers = { 'content-encoding': 'gzip' }
    const query = gzipSync(JSON.stringify({ query: '{ __typename }' }))
    assert.equal((await as(project).post('/graphql', query, { headers })).body, {
      data: { __typename: 'Query' },
    })
    const form =
      '--b\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nemail\nada@example.org\n\r\n--b--\r\n'
    const answer = await as(project).post('/contacts/import', gzipSync(form), {
      headers: { ...headers, 'content-type': 'multipart/form-data; boundary=b' },
    })
    assert.is(answer.status, 202, answer.text)
  })

  test('that comes in chunks, or byte by byte, is whole at its end', async ({ url, project }) => {
    const body = gzipSync(JSON.stringify(TRACK))
    const connection = openRaw(url)
    const head = [
      'POST /v1/track HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${project.public}`,
      'Content-Encoding: gzip',
    ]
    connection.write([...head, 'Transfer-Encoding: chunked', '', ''].join('\r\n'))
    for (const byte of body)
      connection.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]))
    connection.write('0\r\n\r\n')
    assert.is((await connection.answer()).status, 200)
    connection.write([...head, `Content-Length: ${body.length}`, '', ''].join('\r\n'))
    connection.write(body)
    assert.is((await connection.answer()).status, 200)
    connection.end()
  })

  test('may be as large as any when it is decompressed, and not larger', async (service) => {
    const padded = (size: number) => {
      const body = JSON.stringify({ ...TRACK, padding: '' })
      return body.replace('"padding":""', `"padding":"${'x'.repeat(size - body.length)}"`)
    }
    for (const [name, compress] of CODINGS) {
      assert.is((await track(service, name, compress(padded(MEGABYTE)))).status, 200, name)
      const error = assertRefused(
        await track(service, name, compress(padded(MEGABYTE + 1))),
        413,
        'PAYLOAD_TOO_LARGE',
      )
      assert.match(error.message, /1024 KB/)
    }
  })

  test('that would become very large is refused on the way, and the connection goes on', async ({
    url,
    project,
  }) => {
    const connection = openRaw(url)
    for (const bomb of [
      gzipSync(Buffer.alloc(64 * MEGABYTE)),
      brotliCompressSync(Buffer.alloc(64 * MEGABYTE), FAST),
    ]) {
      const encoding = bomb[0] === 0x1f ? 'gzip' : 'br'
      const head = [
        'POST /v1/track HTTP/1.1',
        'Host: x',
        `Authorization: Bearer ${project.public}`,
        `Content-Encoding: ${encoding}`,
        `Content-Length: ${bomb.length}`,
      ]
      connection.write([...head, '', ''].join('\r\n'))
      connection.write(bomb)
      assert.is((await connection.answer()).status, 413)
    }
    connection.end()
  })

  test('without a key has the room of a short document', async ({ call }) => {
    const body = gzipSync(JSON.stringify({ query: '{ __typename }', padding: ' '.repeat(MEGABYTE) }))
    const answer = await call('POST', '/graphql', { headers: { 'content-encoding': 'gzip' }, body })
    assertGraphQLRefused(answer, 413, 'PAYLOAD_TOO_LARGE')
  })

  test('that is broken, or no such thing, is 400', async (service) => {
    const whole = gzipSync(JSON.stringify(TRACK))
    for (const [encoding, body] of [
      ['gzip', Buffer.from(JSON.stringify(TRACK))],
      ['gzip', whole.subarray(0, whole.length - 10)],
      ['deflate', whole],
      ['br', Buffer.from('{"email"')],
    ] as const) {
      const error = assertRefused(await track(service, encoding, body), 400, 'INVALID_REQUEST_BODY')
      assert.match(error.message, new RegExp(`not valid ${encoding}`))
    }
  })

  test('that is empty lacks its fields', async (service) => {
    assertRefused(await track(service, 'gzip', Buffer.alloc(0)), 422, 'VALIDATION_ERROR')
  })

  test('of another coding, or of several, is 415 with those that there are', async (service) => {
    for (const encoding of ['zstd', 'compress', 'gzip, gzip', 'constructor']) {
      const answer = await track(service, encoding, Buffer.from(JSON.stringify(TRACK)))
      const { suggestion } = assertRefused(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
      assert.match(suggestion, /gzip, deflate and br/)
      assert.is(answer.headers.get('accept-encoding'), 'gzip, deflate, br')
    }
  })

  test('that is broken off is nobody’s failure', async ({ url, project, call }) => {
    const connection = openRaw(url)
    const head = [`Authorization: Bearer ${project.public}`, 'Content-Encoding: gzip', 'Content-Length: 100']
    connection.write(
      ['POST /v1/track HTTP/1.1', 'Host: x', ...head, 'Expect: 100-continue', '', ''].join('\r\n'),
    )
    await new Promise((resolve) => connection.socket.once('data', resolve))
    connection.write(gzipSync(JSON.stringify(TRACK)).subarray(0, 15))
    connection.socket.resetAndDestroy()
    assert.is((await call('GET', '/health/live')).status, 200)
  })
})
