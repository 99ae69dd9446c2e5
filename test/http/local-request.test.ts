import { networkInterfaces } from 'node:os'
import * as assert from 'uvu/assert'
import { openRaw, type RawAnswer } from '../support/raw-http.ts'
import { nothingShared, scenario } from '../support/scenario.ts'
import { type Service, startService } from '../support/service.ts'

const PATHS = [
  '/mailbox',
  '/mailbox/messages',
  '/mailbox/messages/01890000-0000-7000-8000-000000000001/raw',
  '/mailbox/messages/01890000-0000-7000-8000-000000000001/html',
  '/mailbox/messages/01890000-0000-7000-8000-000000000001/attachments/0',
  '/metrics',
]

const MINE = [
  '127.0.0.1',
  '127.0.0.1:4000',
  'localhost',
  'LOCALHOST:4000',
  'localhost.:4000',
  'mail.localhost',
  '[::1]:4000',
]

/** Names that lead to 127.0.0.1 when their owner wants, and what is not this machine by any name. */
const FOREIGN = [
  'evil.example',
  'evil.example:4000',
  '127.0.0.1.evil.example',
  'localhost.evil.example',
  'localhost@evil.example',
  'evil.example:80:127.0.0.1',
  '0.0.0.0',
  '192.168.1.5:4000',
  '[::2]',
  '',
]

const PROXIED = [
  'Forwarded: for=203.0.113.7',
  'Via: 1.1 proxy',
  'X-Forwarded-For: 203.0.113.7',
  'X-Forwarded-Host: evil.example',
  'X-Forwarded-Proto: https',
  'X-Real-IP: 203.0.113.7',
  'X-Client-IP: 203.0.113.7',
  'True-Client-IP: 203.0.113.7',
  'CF-Connecting-IP: 203.0.113.7',
  'X-Envoy-External-Address: 203.0.113.7',
]

/** What a request on a connection of its own to this address of the service is answered. */
async function get(
  { app }: Service,
  path: string,
  head: string[],
  address = '127.0.0.1',
): Promise<RawAnswer> {
  const connection = openRaw(`http://${address}:${app.config.port}`)
  const [line = `GET ${path} HTTP/1.1`, ...rest] = head[0]?.startsWith('GET ') ? head : [undefined, ...head]
  connection.write(`${[line, ...rest].join('\r\n')}\r\n\r\n`)
  try {
    return await connection.answer()
  } finally {
    connection.end()
  }
}

function assertKept(answer: RawAnswer, what: string): void {
  assert.is(answer.status, 403, what)
  assert.is(JSON.parse(answer.body).error.code, 'FORBIDDEN')
}

/** The addresses by which other machines reach this one. */
const ownAddresses = () =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address)

const onAllAddresses = () => startService({ ROLES: 'http', HOST: '0.0.0.0' })

scenario('What is for this machine only', onAllAddresses, (test) => {
  for (const path of PATHS) {
    test(`${path} answers who asks for this machine by name`, async (service) => {
      for (const host of MINE) {
        const { status } = await get(service, path, [`Host: ${host}`])
        assert.is(status, path.includes('/0189') ? 404 : 200, host)
      }
    })

    test(`${path} does not answer a page from elsewhere whose name leads here`, async (service) => {
      for (const host of FOREIGN) assertKept(await get(service, path, [`Host: ${host}`]), host)
      assertKept(await get(service, path, ['Host: localhost', 'Host: evil.example']), 'two hosts')
    })

    test(`${path} does not answer through a proxy`, async (service) => {
      for (const header of PROXIED) assertKept(await get(service, path, ['Host: localhost', header]), header)
      const old = [`GET ${path} HTTP/1.0`, 'Host: localhost']
      assertKept(await get(service, path, old), 'HTTP/1.0')
    })

    test(`${path} does not answer another machine, whatever it says in Host`, async (service) => {
      for (const address of ownAddresses()) {
        assertKept(await get(service, path, ['Host: localhost'], address), address)
      }
    })
  }

  test('says where the mailbox is shown', async (service) => {
    const { body } = await get(service, '/mailbox', ['Host: evil.example'])
    assert.match(JSON.parse(body).error.suggestion, `http://127.0.0.1:${service.app.config.port}/mailbox`)
  })
})

scenario('A service that is not at 127.0.0.1', nothingShared, (test) => {
  test('says with which HOST its mailbox opens', async () => {
    const [address] = ownAddresses()
    if (address === undefined) return
    const service = await startService({ ROLES: 'http', HOST: address })
    try {
      const { status, body } = await service.call('GET', '/mailbox')
      assert.is(status, 403)
      assert.match(
        body.error.suggestion,
        'Start the service with HOST=127.0.0.1, or 0.0.0.0 for all addresses',
      )
    } finally {
      await service.stop()
    }
  })
})

const TOKEN = '8c1f6a0b3d5e7f92'

const inProduction = () =>
  startService({
    NODE_ENV: 'production',
    ROLES: 'http',
    HOST: '127.0.0.1',
    JWT_SECRET: '0123456789abcdef0123456789abcdef',
    API_URL: 'https://mail.example',
    MAIL_PROVIDER: 'mailbox',
    METRICS_TOKEN: TOKEN,
  })

scenario('In production', inProduction, (test) => {
  test('metrics are for who has the token, also on this machine and through a proxy', async (service) => {
    const bearer = `Authorization: Bearer ${TOKEN}`
    for (const head of [[], ['X-Forwarded-For: 203.0.113.7']]) {
      assertKept(await get(service, '/metrics', ['Host: localhost', ...head]), head.join())
      const { status } = await get(service, '/metrics', ['Host: mail.example', bearer, ...head])
      assert.is(status, 200)
    }
  })

  test('the mailbox is shown to nobody, with or without the token', async (service) => {
    for (const path of PATHS.filter((one) => one.startsWith('/mailbox'))) {
      const { status } = await get(service, path, ['Host: localhost', `Authorization: Bearer ${TOKEN}`])
      assert.is(status, 404, path)
    }
  })
})
