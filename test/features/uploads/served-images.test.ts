import { once } from 'node:events'
import { existsSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import path from 'node:path'
import * as assert from 'uvu/assert'
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts'
import { IMAGES } from '../../support/images.ts'
import { openRaw } from '../../support/raw-http.ts'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Service, startService, until } from '../../support/service.ts'
import { uploaded } from './upload-support.ts'

type Images = { service: Service; image: Body; captured: CapturedLog; stop: () => Promise<void> }

async function start(): Promise<Images> {
  const captured = capturedLog()
  const service = await startService({ ROLES: 'http' }, { log: captured.log })
  return { service, image: await uploaded(service, IMAGES.png), captured, stop: service.stop }
}

const HEADERS = {
  'content-type': 'image/png',
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
}

/** How often this process has a file open; only Linux can tell. */
function openFilesNamed(name: string): number {
  if (!existsSync('/proc/self/fd')) return 0
  return readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).endsWith(name)
    } catch {
      return false
    }
  }).length
}

scenario('GET /uploads/:key', start, (test) => {
  test('gives the image to anyone, as what it is and nothing else', async ({ image }) => {
    const response = await fetch(image.url, { headers: { origin: 'https://mail.example' } })
    assert.is(response.status, 200)
    assert.equal(Buffer.from(await response.arrayBuffer()), IMAGES.png)
    for (const [name, value] of Object.entries(HEADERS)) assert.is(response.headers.get(name), value, name)
    assert.is(response.headers.get('content-length'), String(IMAGES.png.length))
    assert.is(response.headers.get('content-disposition'), `inline; filename="${image.key}"`)
    assert.match(response.headers.get('etag') ?? '', /^"[^"]+"$/)
    assert.ok(response.headers.get('x-request-id'))
  })

  test('gives images of every type with the type of their content', async ({ service }) => {
    for (const [bytes, type] of [
      [IMAGES.jpeg, 'image/jpeg'],
      [IMAGES.gif, 'image/gif'],
      [IMAGES.webpLossy, 'image/webp'],
    ] as const) {
      const { url } = await uploaded(service, bytes, { name: 'x.html', type: 'text/html' })
      const response = await fetch(url)
      assert.is(response.headers.get('content-type'), type)
      assert.equal(Buffer.from(await response.arrayBuffer()), bytes)
    }
  })

  test('gives a GIF that is a page at the same time as a GIF only', async ({ service }) => {
    const polyglot = Buffer.concat([IMAGES.gif, Buffer.from('<script>alert(1)</script>')])
    const { url } = await uploaded(service, polyglot, { name: 'x.html', type: 'text/html' })
    const response = await fetch(url)
    assert.equal(Buffer.from(await response.arrayBuffer()), polyglot)
    for (const [name, value] of Object.entries({ ...HEADERS, 'content-type': 'image/gif' })) {
      assert.is(response.headers.get(name), value, name)
    }
  })

  test('answers HEAD with the same headers and no body', async ({ image }) => {
    const [get, head] = await Promise.all([fetch(image.url), fetch(image.url, { method: 'HEAD' })])
    await get.arrayBuffer()
    assert.is(head.status, 200)
    assert.is(await head.text(), '')
    const ofRequest = ['x-request-id', 'date', 'connection', 'keep-alive']
    const own = (headers: Headers) => [...headers].filter(([name]) => !ofRequest.includes(name)).toSorted()
    assert.equal(own(head.headers), own(get.headers))
  })

  test('answers 304 to who has the image', async ({ image }) => {
    const first = await fetch(image.url)
    await first.arrayBuffer()
    const etag = first.headers.get('etag') ?? ''
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const response = await fetch(image.url, { method, headers: { 'if-none-match': known } })
        assert.is(response.status, 304, known)
        assert.is(await response.text(), '')
        assert.is(response.headers.get('etag'), etag)
        assert.is(response.headers.get('cache-control'), HEADERS['cache-control'])
      }
    }
    for (const unknown of ['"other"', etag.slice(1, -1), '', 'W/']) {
      const response = await fetch(image.url, { headers: { 'if-none-match': unknown } })
      assert.is(response.status, 200, unknown)
      await response.arrayBuffer()
    }
    await until('the files are closed', () => openFilesNamed(image.key) === 0)
  })

  test('is 404 in the envelope for keys that no image has', async ({ service, image }) => {
    const unknown = `${'0'.repeat(32)}.png`
    for (const key of [
      unknown,
      image.key.replace('.png', '.gif'),
      image.key.replace('.png', ''),
      'x',
      '%zz',
    ]) {
      assertRefused(await service.call('GET', `/uploads/${key}`), 404, 'RESOURCE_NOT_FOUND')
    }
    const head = await fetch(`${service.url}/uploads/${unknown}`, { method: 'HEAD' })
    assert.is(head.status, 404)
  })

  test('leads nowhere else', async ({ service, image }) => {
    const connection = openRaw(service.url)
    for (const target of [
      '..%2fsecret',
      '..%2Fsecret',
      '%2e%2e%2fsecret',
      '..%5csecret',
      '../secret',
      './../secret',
      '/secret',
      '%2f..%2fsecret',
      `..%2fuploads%2f${image.key}`,
      `.%2f${image.key}`,
      `${image.key}%00`,
      `${image.key}%00.png`,
      `%00${image.key}`,
      `${image.key}%0a`,
      `${image.key}/`,
      `${image.key}%2f`,
      image.key.toUpperCase(),
      '%252e%252e%252fsecret',
      '%c0%ae%c0%ae%c0%afsecret',
      '.',
      '..',
      '%2e',
      '',
    ]) {
      connection.write(`GET /uploads/${target} HTTP/1.1\r\nhost: x\r\n\r\n`)
      const { status, body } = await connection.answer()
      assert.is(status, 404, target)
      assert.is(JSON.parse(body).error.code, 'RESOURCE_NOT_FOUND')
    }
    connection.end()
  })

  test('reads and nothing else', async ({ service, image }) => {
    for (const method of ['PUT', 'POST', 'DELETE', 'PATCH']) {
      const answer = await service.as().call(method, `/uploads/${image.key}`)
      assertRefused(answer, 405, 'METHOD_NOT_ALLOWED')
      assert.is(answer.headers.get('allow'), 'GET, HEAD, OPTIONS')
    }
    assertRefused(await service.call('GET', '/uploads/image'), 401, 'MISSING_AUTH')
  })

  test('is not for one project alone: the address is all that it takes', async ({ service, image }) => {
    const other = await service.newProject()
    const answer = await service.as(other).get(`/uploads/${image.key}`)
    assert.is(answer.status, 200)
  })

  test('is 404 once the image is gone', async ({ service }) => {
    const { key } = await uploaded(service, IMAGES.gif)
    rmSync(path.join(service.app.config.dataDir, 'uploads', key))
    assertRefused(await service.call('GET', `/uploads/${key}`), 404, 'RESOURCE_NOT_FOUND')
  })

  test('survives clients that leave in the middle, and answers the next one', async ({
    service,
    captured,
  }) => {
    const large = Buffer.concat([IMAGES.png, Buffer.alloc(9 * 1024 * 1024)])
    const { key, url } = await uploaded(service, large)
    for (let client = 0; client < 3; client += 1) {
      const { socket, write } = openRaw(service.url)
      write(`GET /uploads/${key} HTTP/1.1\r\nhost: x\r\n\r\n`)
      await once(socket, 'data')
      socket.resetAndDestroy()
    }
    const response = await fetch(url)
    assert.is((await response.arrayBuffer()).byteLength, large.length)
    await until('the files are closed', () => openFilesNamed(key) === 0)
    // Leaving is nothing that an operator would have to look at.
    assert.equal(
      captured.lines().filter(({ level }) => Number(level) >= 40),
      [],
    )
  })

  test('goes on without the database', async () => {
    const service = await startService({ ROLES: 'http' }, { alone: true })
    try {
      const { url } = await uploaded(service, IMAGES.png)
      await service.app.services.database.close()
      const response = await fetch(url)
      assert.is(response.status, 200)
      assert.equal(Buffer.from(await response.arrayBuffer()), IMAGES.png)
    } finally {
      await service.stop()
    }
  })
})
