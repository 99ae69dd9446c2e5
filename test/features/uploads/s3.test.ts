import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import S3rver from '@20minutes/s3rver'
import * as assert from 'uvu/assert'
import type { S3Config } from '../../../src/config.ts'
import { createS3Store } from '../../../src/features/uploads/s3-store.ts'
import { capturedLog } from '../../support/captured-log.ts'
import { IMAGES } from '../../support/images.ts'
import { listen } from '../../support/listen.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { rowsOf, storedFiles, upload, uploadByGraphQL, uploaded } from './upload-support.ts'

const SECRET = 'S3RVER'

const variables = (endpoint: string, more: Record<string, string> = {}) => ({
  ROLES: 'http',
  S3_BUCKET: 'images',
  S3_REGION: 'eu-central-1',
  S3_ENDPOINT: endpoint,
  S3_ACCESS_KEY_ID: 'S3RVER',
  S3_SECRET_ACCESS_KEY: SECRET,
  ...more,
})

/** An S3 server on loopback, with the bucket of the tests. */
async function startS3() {
  const directory = mkdtempSync(path.join(tmpdir(), 'mailwright-s3-'))
  const options = { address: '127.0.0.1', port: 0, directory, silent: true }
  const server = new S3rver({ ...options, configureBuckets: [{ name: 'images' }] })
  const { port } = await server.run()
  const stop = async () => {
    await server.close()
    rmSync(directory, { recursive: true, force: true })
  }
  return { endpoint: `http://127.0.0.1:${port}`, stop }
}

async function startWithS3() {
  const s3 = await startS3()
  const service = await startService(variables(s3.endpoint))
  const stop = async () => {
    await service.stop()
    await s3.stop()
  }
  return { service, s3, stop }
}

scenario('With S3', startWithS3, (test) => {
  test('an image goes to the bucket, as what it is, to be kept by caches', async ({ service, s3 }) => {
    for (const [image, type] of [
      [IMAGES.png, 'image/png'],
      [IMAGES.jpeg, 'image/jpeg'],
      [Buffer.concat([IMAGES.webpLossy, Buffer.alloc(5 * 1024 * 1024)]), 'image/webp'],
    ] as const) {
      const { url, key, contentType, size } = await uploaded(service, image, { name: 'x.html' })
      assert.is(url, `${s3.endpoint}/images/${key}`)
      assert.is(contentType, type)
      assert.is(size, image.length)
      const object = await fetch(url)
      assert.is(object.status, 200)
      assert.ok(Buffer.from(await object.arrayBuffer()).equals(image))
      assert.is(object.headers.get('content-type'), type)
      assert.is(object.headers.get('cache-control'), 'public, max-age=31536000, immutable')
      assert.is(object.headers.get('content-disposition'), 'inline')
      const row = (await rowsOf(service)).at(-1)
      assert.is(row?.key, key)
      assert.is(row?.project_id, service.project.id)
    }
    assert.equal(storedFiles(service), [])
  })

  test('GraphQL stores there too', async ({ service }) => {
    const { body } = await uploadByGraphQL(service, IMAGES.gif.toString('base64'))
    const object = await fetch(body.data.uploadImage.url)
    assert.equal(Buffer.from(await object.arrayBuffer()), IMAGES.gif)
  })

  test('GET /config says so, and nothing more', async ({ service, s3 }) => {
    const { body, text } = await service.call('GET', '/config')
    assert.equal(body.features.storage, { enabled: true, kind: 's3' })
    assert.not.match(text, new RegExp(`${SECRET}|images|${new URL(s3.endpoint).host}`))
  })

  test('the service itself has none of the images', async ({ service }) => {
    const { key } = await uploaded(service, IMAGES.png)
    assertRefused(await service.call('GET', `/uploads/${key}`), 404, 'RESOURCE_NOT_FOUND')
  })

  test('readers can be sent elsewhere', async ({ s3 }) => {
    const env = variables(s3.endpoint, { S3_PUBLIC_URL: 'https://cdn.example/mail/' })
    const service = await startService(env)
    try {
      const { url, key } = await uploaded(service, IMAGES.png)
      assert.is(url, `https://cdn.example/mail/${key}`)
      assert.is((await fetch(`${s3.endpoint}/images/${key}`)).status, 200)
    } finally {
      await service.stop()
    }
  })

  test('an object is removed again when its row cannot be written', async ({ service, s3 }) => {
    const listed = async () => (await (await fetch(`${s3.endpoint}/images`)).text()).match(/<Key>/g)?.length
    const before = await listed()
    await service.sql('alter table uploads rename to uploads_elsewhere')
    try {
      assertRefused(await upload(service, IMAGES.png), 500, 'INTERNAL_SERVER_ERROR')
    } finally {
      await service.sql('alter table uploads_elsewhere rename to uploads')
    }
    assert.ok(before && before > 0)
    assert.is(await listed(), before)
  })

  test('nothing is asked of it for what is no image', async ({ s3 }) => {
    const service = await startService(variables(s3.endpoint, { S3_BUCKET: 'missing' }))
    try {
      assertRefused(await upload(service, Buffer.from('<svg/>')), 415, 'UNSUPPORTED_MEDIA_TYPE')
    } finally {
      await service.stop()
    }
  })
})

/** Uploads to an object store that fails, and checks what is answered, kept and logged. */
async function assertUnavailable(env: Record<string, string>, logged: RegExp): Promise<void> {
  const captured = capturedLog()
  const service: Service = await startService(env, { log: captured.log })
  try {
    const answer = await upload(service, IMAGES.png)
    const { message } = assertRefused(answer, 502, 'EXTERNAL_SERVICE_ERROR')
    assert.not.match(answer.text, /ECONN|S3RVER|127\.0\.0\.1|NoSuchBucket|Signature|aws/i)
    assert.match(message, /object store/)
    const byGraphQL = await uploadByGraphQL(service, IMAGES.png.toString('base64'))
    assertGraphQLRefused(byGraphQL, 502, 'EXTERNAL_SERVICE_ERROR')
    assert.equal(await rowsOf(service), [])
    assert.equal(storedFiles(service), [])
    const line = captured.lines().find(({ msg }) => msg === 'an image could not be stored')
    assert.is(line?.requestId, answer.headers.get('x-request-id'))
    assert.match(JSON.stringify(line?.err), logged)
    assert.not.match(captured.text(), /not-the-secret/)
  } finally {
    await service.stop()
  }
}

/** A TCP server that takes connections and never says anything. */
async function startSilent() {
  const sockets = new Set<{ destroy: () => void }>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  return { port: await listen(server), sockets, server }
}

const storeAt = (port: number): S3Config => ({
  kind: 's3',
  bucket: 'images',
  region: 'eu-central-1',
  endpoint: `http://127.0.0.1:${port}`,
  accessKeyId: 'S3RVER',
  secretAccessKey: SECRET,
  publicUrl: 'http://127.0.0.1',
})

const LIMITS = { connect: 200, idle: 200, total: 1_000 }

async function assertFailsWithin(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const startedAt = performance.now()
  const failed = await work.then(
    () => false,
    () => true,
  )
  const took = performance.now() - startedAt
  assert.ok(failed, 'it failed')
  assert.ok(took < milliseconds, `it took ${Math.round(took)} ms`)
}

scenario(
  'An object store',
  () => startS3(),
  (test) => {
    test('that is down is 502, and the log says why', async () => {
      // Port 1 is never listened on.
      await assertUnavailable(variables('http://127.0.0.1:1'), /ECONNREFUSED/)
    })

    test('that does not know the key or the bucket is 502', async ({ endpoint }) => {
      const secret = { S3_SECRET_ACCESS_KEY: 'not-the-secret' }
      await assertUnavailable(variables(endpoint, secret), /SignatureDoesNotMatch/)
      await assertUnavailable(variables(endpoint, { S3_BUCKET: 'missing' }), /NoSuchBucket/)
    })

    test('that answers with its own trouble is 502, after a second attempt', async () => {
      let requests = 0
      const server = createServer((request, response) => {
        requests += 1
        request.resume().on('end', () => response.writeHead(503).end('<html>down</html>'))
      })
      const port = await listen(server)
      try {
        await assertUnavailable(variables(`http://127.0.0.1:${port}`), /503/)
        assert.is(requests, 4)
      } finally {
        server.close()
      }
    })

    test('that never answers is given up in time', async () => {
      const { port, sockets, server } = await startSilent()
      try {
        // Each of the two would do.
        for (const limits of [
          { ...LIMITS, idle: 60_000 },
          { ...LIMITS, total: 60_000 },
        ]) {
          const store = createS3Store(storeAt(port), limits)
          await assertFailsWithin(20_000, store.put('a.png', IMAGES.png, 'image/png'))
          await assertFailsWithin(20_000, store.remove('a.png'))
        }
        assert.ok(sockets.size >= 4)
      } finally {
        for (const socket of sockets) socket.destroy()
        server.close()
      }
    })

    test('that answers byte by byte without end is given up in time', async () => {
      const timers = new Set<NodeJS.Timeout>()
      const server = createServer((request, response) => {
        request.resume()
        response.writeHead(200, { 'content-type': 'application/xml' })
        const timer = setInterval(() => response.write(' '), 50)
        timers.add(timer)
        response.on('close', () => clearInterval(timer))
      })
      const port = await listen(server)
      try {
        const store = createS3Store(storeAt(port), LIMITS)
        await assertFailsWithin(20_000, store.put('a.png', IMAGES.png, 'image/png'))
      } finally {
        for (const timer of timers) clearInterval(timer)
        server.closeAllConnections()
        server.close()
      }
    })
  },
)
