import { statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { hasSize, type ImageExtension } from '../../../src/features/uploads/images.rules.ts'
import { capturedLog } from '../../support/captured-log.ts'
import { IMAGES, SIZELESS } from '../../support/images.ts'
import { openRaw } from '../../support/raw-http.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import {
  formWith,
  postForm,
  rowsOf,
  type Sent,
  storedFiles,
  upload,
  uploadByGraphQL,
  uploaded,
} from './upload-support.ts'

const MAX = 10 * 1024 * 1024
const start = () => startService({ ROLES: 'http' }, { alone: true })

const ACCEPTED: [what: string, image: Buffer, extension: string, contentType: string][] = [
  ['a JPEG', IMAGES.jpeg, 'jpg', 'image/jpeg'],
  ['a PNG', IMAGES.png, 'png', 'image/png'],
  ['an animated PNG', IMAGES.animatedPng, 'png', 'image/png'],
  ['a GIF', IMAGES.gif, 'gif', 'image/gif'],
  ['a WebP', IMAGES.webpLossy, 'webp', 'image/webp'],
  ['a lossless WebP', IMAGES.webpLossless, 'webp', 'image/webp'],
]

/** Names and types that say something else than the content, or try to. */
const CLAIMS: Sent[] = [
  { name: 'image.png', type: 'image/png' },
  { name: 'page.html', type: 'text/html' },
  { name: '../../../../etc/cron.d/x', type: 'application/octet-stream' },
  { name: '..\\..\\x.svg', type: 'image/svg+xml' },
  { name: 'a"b;c\u00e9.exe' },
  { name: 'x'.repeat(5_000) },
]

const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
const HTML = '<!doctype html><script>alert(1)</script>'

const REFUSED: [what: string, file: Buffer][] = [
  ['an SVG', Buffer.from(SVG)],
  ['an SVG with an XML declaration', Buffer.from(`<?xml version="1.0"?>${SVG}`)],
  ['a page', Buffer.from(HTML)],
  ['a PDF', Buffer.from('%PDF-1.7\n1 0 obj\n<<>>\nendobj\n')],
  ['a program', Buffer.from('7f454c4602010100', 'hex')],
  ['a script', Buffer.from('#!/bin/sh\nid\n')],
  ['a bitmap', Buffer.concat([Buffer.from('BM'), Buffer.alloc(60)])],
  ['a TIFF', Buffer.from('49492a0008000000000000000000', 'hex')],
  ['an icon', Buffer.from('00000100010001010000010018003000000016000000', 'hex')],
  ['a text that begins like a GIF', Buffer.from('GIFts for everyone')],
  ['a page that begins like a JPEG', Buffer.concat([Buffer.from('ffd8ff', 'hex'), Buffer.from(HTML)])],
  ['a sound in the wrapping of a WebP', Buffer.from('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0', 'latin1')],
  ['zeros', Buffer.alloc(1_000)],
  ['one byte', Buffer.from([0x89])],
  ['a PNG after a space', Buffer.concat([Buffer.from(' '), IMAGES.png])],
  ...Object.entries(SIZELESS).map(([type, image]): [string, Buffer] => [`a ${type} of no size`, image]),
  ['a PNG cut off before its size', IMAGES.png.subarray(0, 20)],
  ['a JPEG cut off before its size', IMAGES.jpeg.subarray(0, 90)],
  ['a GIF cut off before its size', IMAGES.gif.subarray(0, 8)],
  ['a WebP cut off before its size', IMAGES.webpLossy.subarray(0, 28)],
]

scenario('An uploaded image', start, (test) => {
  test('is known by its content, whatever its name and its type say', async (service) => {
    for (const [what, image, extension, contentType] of ACCEPTED) {
      for (const claim of CLAIMS) {
        const { status, body, text } = await upload(service, image, claim)
        assert.is(status, 201, `${what} as ${JSON.stringify(claim).slice(0, 80)}: ${text}`)
        assert.equal(Object.keys(body).toSorted(), ['contentType', 'key', 'size', 'url'])
        assert.match(body.key, new RegExp(`^[0-9a-f]{32}\\.${extension}$`))
        assert.is(body.url, `${service.url}/uploads/${body.key}`)
        assert.is(body.contentType, contentType)
        assert.is(body.size, image.length)
      }
    }
  })

  test('comes in base64 through GraphQL', async (service) => {
    for (const [what, image, extension, contentType] of ACCEPTED) {
      const { body, text } = await uploadByGraphQL(service, image.toString('base64'))
      assert.ok(body.data, `${what}: ${text}`)
      const { url, key, ...rest } = body.data.uploadImage
      assert.equal(rest, { contentType, size: image.length })
      assert.ok(key.endsWith(`.${extension}`))
      const served = await fetch(url)
      assert.equal(Buffer.from(await served.arrayBuffer()), image)
    }
  })

  test('has a row with its project, and a file that others of the machine cannot read', async (service) => {
    const other = await service.newProject()
    const { key } = await uploaded(service, IMAGES.gif)
    const answer = await postForm(service, formWith(IMAGES.png), { key: other.secret })
    const [first, second] = (await rowsOf(service)).slice(-2)
    assert.is(first.project_id, service.project.id)
    assert.is(first.key, key)
    assert.is(first.content_type, 'image/gif')
    assert.is(first.size, IMAGES.gif.length)
    assert.ok(Math.abs(first.created_at.getTime() - service.clock.now().getTime()) < 60_000)
    assert.is(second.project_id, other.id)
    assert.is(second.key, answer.body.key)
    const { mode } = statSync(path.join(service.app.config.dataDir, 'uploads', key))
    assert.is(mode & 0o137, 0, mode.toString(8))
  })

  test('gets another key every time', async (service) => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => uploaded(service, IMAGES.png)))
    assert.is(new Set(keys.map(({ key }) => key)).size, 8)
  })

  test('may be as large as the limit', async (service) => {
    const largest = Buffer.concat([IMAGES.png, Buffer.alloc(MAX - IMAGES.png.length)])
    assert.is((await uploaded(service, largest)).size, MAX)
    const { body } = await uploadByGraphQL(service, largest.toString('base64'))
    assert.is(body.data.uploadImage.size, MAX)
  })

  test('leaves nothing but itself', async (service) => {
    assert.equal(storedFiles(service), (await rowsOf(service)).map(({ key }) => key).toSorted())
  })
})

scenario('An upload that is refused', start, (test) => {
  test('is 415 when the content is no such image, whatever its name and its type say', async (service) => {
    for (const [what, file] of REFUSED) {
      const answer = await upload(service, file, { name: 'image.png', type: 'image/png' })
      assert.is(answer.status, 415, `${what}: ${answer.text}`)
      const { message } = assertRefused(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
      assert.match(message, /JPEG, PNG, GIF or WebP/)
      const byGraphQL = await uploadByGraphQL(service, file.toString('base64'))
      assertGraphQLRefused(byGraphQL, 415, 'UNSUPPORTED_MEDIA_TYPE')
    }
  })

  test('is 422 when there is no file, or an empty one', async (service) => {
    const text = new FormData()
    text.append('image', 'data:image/png;base64,AAAA')
    for (const [form, code] of [
      [new FormData(), 'required'],
      [formWith(IMAGES.png, { field: 'file' }), 'required'],
      [formWith(IMAGES.png, { field: 'Image' }), 'required'],
      [formWith(IMAGES.png, { field: '__proto__' }), 'required'],
      [text, 'required'],
      [formWith(Buffer.alloc(0)), 'too_small'],
    ] as const) {
      const { errors } = assertRefused(await postForm(service, form), 422, 'VALIDATION_ERROR')
      assert.is(errors.length, 1)
      assert.is(errors[0].field, 'image')
      assert.is(errors[0].code, code)
    }
    assertGraphQLRefused(await uploadByGraphQL(service, ''), 422, 'VALIDATION_ERROR')
  })

  test('is refused by GraphQL when it is not base64', async (service) => {
    const base64 = IMAGES.png.toString('base64')
    const withGaps = [
      `data:image/png;base64,${base64}`,
      `${base64}\n`,
      `!${base64}`,
      base64.replace('A', '!'),
    ]
    for (const image of [null, 1, true, {}, [], [base64], 'not base64!', ...withGaps]) {
      const { body, text } = await uploadByGraphQL(service, image)
      assert.is(body.errors?.length, 1, `${JSON.stringify(image)}: ${text}`)
      assert.match(body.errors[0].message, /image/)
      assert.not.match(body.errors[0].message, /is not a JPEG/)
    }
  })

  test('is 400 when there are two files', async (service) => {
    const form = formWith(IMAGES.png)
    form.append('image', new Blob([new Uint8Array(IMAGES.gif)]), 'b.gif')
    assertRefused(await postForm(service, form), 400, 'INVALID_REQUEST_BODY')
  })

  test('is 415 when the body is no form', async (service) => {
    for (const type of ['application/json', 'image/png', 'application/x-www-form-urlencoded', 'text/plain']) {
      const answer = await postForm(service, IMAGES.png, { headers: { 'content-type': type } })
      assertRefused(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
    }
  })

  test('is 400 when the form is broken', async (service) => {
    const head = 'content-disposition: form-data; name="image"; filename="a.gif"\r\n\r\n'
    const gif = IMAGES.gif.toString('latin1')
    for (const [boundary, body] of [
      ['x', ''],
      ['x', '--x'],
      ['x', '--x\r\n'],
      ['x', `--x\r\n${head}`],
      ['x', `--x\r\n${head}${gif}`],
      ['x', `--x\r\n${head}${gif}\r\n--x`],
      ['x', `--y\r\n${head}${gif}\r\n--y--\r\n`],
      ['', `--x\r\n${head}${gif}\r\n--x--\r\n`],
    ]) {
      const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
      const answer = await postForm(service, Buffer.from(body ?? '', 'latin1'), { headers })
      const { message } = assertRefused(answer, 400, 'INVALID_REQUEST_BODY')
      assert.not.match(message, /node:|\.ts|\.js/)
    }
    const headers = { 'content-type': 'multipart/form-data' }
    const answer = await postForm(service, 'x', { headers })
    assert.ok([400, 415].includes(answer.status), answer.text)
  })

  test('is 413 over the limit, and the connection goes on', async (service) => {
    const tooLarge = Buffer.concat([IMAGES.png, Buffer.alloc(MAX + 1 - IMAGES.png.length)])
    assertRefused(await upload(service, tooLarge), 413, 'PAYLOAD_TOO_LARGE')
    assertRefused(await upload(service, Buffer.alloc(3 * MAX)), 413, 'PAYLOAD_TOO_LARGE')
    const byGraphQL = await uploadByGraphQL(service, tooLarge.toString('base64'))
    assertGraphQLRefused(byGraphQL, 413, 'PAYLOAD_TOO_LARGE')
    const connection = openRaw(service.url)
    const length = 2 * MAX
    connection.write(
      `POST /uploads/image HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.project.secret}\r\n` +
        `content-type: multipart/form-data; boundary=x\r\ncontent-length: ${length}\r\n\r\n`,
    )
    assert.is((await connection.answer()).status, 413)
    connection.write(Buffer.alloc(length))
    connection.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n')
    assert.is((await connection.answer()).status, 200)
    connection.end()
  })

  test('is 413 when it comes in chunks and never says how long it is', async (service) => {
    const connection = openRaw(service.url)
    connection.write(
      `POST /uploads/image HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.project.secret}\r\n` +
        'content-type: multipart/form-data; boundary=x\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(0x100000), Buffer.from('\r\n')])
    for (let sent = 0; sent < 12; sent += 1) connection.write(chunk)
    const { status, body } = await connection.answer()
    assert.is(status, 413)
    assert.is(JSON.parse(body).error.code, 'PAYLOAD_TOO_LARGE')
    connection.end()
  })

  test('is refused before its body is read when the key may not upload', async (service) => {
    const image = formWith(IMAGES.png)
    assertRefused(await postForm(service, image, { key: '' }), 401, 'MISSING_AUTH')
    assertRefused(await postForm(service, image, { key: service.project.public }), 401, 'INVALID_API_KEY')
    assertRefused(await postForm(service, image, { key: `sk_${'0'.repeat(64)}` }), 401, 'INVALID_API_KEY')
    assertRefused(await postForm(service, Buffer.alloc(2 * MAX), { key: '' }), 401, 'MISSING_AUTH')
    const disabled = await service.newProject()
    await service.sql('update projects set disabled = true where id = $1', [disabled.id])
    assertRefused(await postForm(service, image, { key: disabled.secret }), 403, 'PROJECT_DISABLED')
  })

  test('leaves no row and no file', async (service) => {
    assert.equal(await rowsOf(service), [])
    assert.equal(storedFiles(service), [])
  })
})

async function startWithLog() {
  const captured = capturedLog()
  const service = await startService({ ROLES: 'http' }, { log: captured.log })
  return { service, captured, stop: service.stop }
}

const errorsIn = ({ lines }: ReturnType<typeof capturedLog>) =>
  lines().filter(({ level }) => typeof level === 'number' && level >= 50)

scenario('An image that cannot be stored', startWithLog, (test) => {
  test('is removed again when its row cannot be written', async ({ service, captured }) => {
    const { key } = await uploaded(service, IMAGES.png)
    await service.sql('alter table uploads rename to uploads_elsewhere')
    try {
      const answer = await upload(service, IMAGES.png)
      const { message } = assertRefused(answer, 500, 'INTERNAL_SERVER_ERROR')
      assert.not.match(message, /uploads|relation|table/)
    } finally {
      await service.sql('alter table uploads_elsewhere rename to uploads')
    }
    assert.equal(storedFiles(service), [key])
    assert.is(errorsIn(captured).length, 1)
  })

  test('is 503 when the folder cannot be written, and the log says why', async () => {
    const { service, captured, stop } = await startWithLog()
    try {
      // As root even a folder without any rights could be written.
      writeFileSync(path.join(service.app.config.dataDir, 'uploads'), '')
      const answer = await upload(service, IMAGES.png)
      const { message } = assertRefused(answer, 503, 'SERVICE_UNAVAILABLE')
      assert.not.match(answer.text, /EEXIST|ENOTDIR|mkdir|mailwright-service/)
      assert.match(message, /store/)
      assert.ok(answer.headers.get('retry-after'))
      const byGraphQL = await uploadByGraphQL(service, IMAGES.png.toString('base64'))
      assertGraphQLRefused(byGraphQL, 503, 'SERVICE_UNAVAILABLE')
      assert.equal(await rowsOf(service), [])
      const [line] = errorsIn(captured)
      assert.is(line?.msg, 'an image could not be stored')
      assert.is(line?.requestId, answer.headers.get('x-request-id'))
      assert.match(JSON.stringify(line?.err), /EEXIST|ENOTDIR/)
    } finally {
      await stop()
    }
  })
})

scenario('The size in the header of an image', nothingShared, (test) => {
  const extensions: ImageExtension[] = ['jpg', 'png', 'gif', 'webp']

  test('is looked for in any bytes without failing', () => {
    const bytes = fc.uint8Array({ maxLength: 200 })
    fc.assert(
      fc.property(fc.constantFrom(...extensions), bytes, (extension, image) => {
        assert.type(hasSize(extension, image), 'boolean')
      }),
      { numRuns: 500 },
    )
  })

  test('is found behind other segments of a JPEG, and not behind its end', () => {
    const [start, rest] = [IMAGES.jpeg.subarray(0, 2), IMAGES.jpeg.subarray(2)]
    const comment = Buffer.from('fffe0004c0c0', 'hex')
    const filled = Buffer.from('ffffffff', 'hex')
    assert.is(hasSize('jpg', Buffer.concat([start, comment, filled, rest])), true)
    assert.is(hasSize('jpg', Buffer.concat([start, Buffer.from('ffd9', 'hex'), rest])), false)
    assert.is(hasSize('jpg', Buffer.concat([start, Buffer.from('fffe0000', 'hex'), rest])), false)
  })

  test('is not found in the bytes around the image', () => {
    const padded = Buffer.concat([IMAGES.png.subarray(0, 10), IMAGES.png.subarray(10)])
    assert.is(hasSize('png', padded.subarray(0, 23)), false)
    assert.is(hasSize('png', padded.subarray(0, 24)), true)
  })
})
