import { createServer, type RequestListener } from 'node:http'
import * as assert from 'uvu/assert'
import { createDnsResolver } from '../../src/lib/net/dns-resolver.ts'
import { askOutside, type OutsideOptions, type OutsideRequest } from '../../src/lib/net/outside-request.ts'
import { isPublicAddress } from '../../src/lib/net/public-address.ts'
import { startDnsServer } from '../support/dns-server.ts'
import { listen } from '../support/listen.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

type Seen = { method: string; url: string; host: string; headers: Record<string, unknown>; body: string }

async function start() {
  const seen: Seen[] = []
  let answer: RequestListener = (_request, response) => response.end('ok')
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method = '', url = '', headers } = request
    seen.push({ method, url, host: headers.host ?? '', headers, body })
    answer(request, response)
  })
  const port = await listen(server)
  const dns = await startDnsServer()
  const options: OutsideOptions = {
    dns: createDnsResolver({ servers: [dns.address], now: () => new Date() }),
    mayReach: (address) => address === '127.0.0.1',
    hopMs: 5_000,
    maxRedirects: 5,
    maxAnswer: 1_000,
  }
  const ask = (url: string, more: Partial<OutsideRequest> = {}, changed: Partial<OutsideOptions> = {}) =>
    askOutside(
      {
        method: 'POST',
        url: new URL(url),
        headers: { 'content-type': 'text/plain' },
        body: 'hello',
        ...more,
      },
      { ...options, ...changed },
    )
  return {
    port,
    dns,
    ask,
    /** What came since the last time. */
    came: () => seen.splice(0),
    answerWith: (next: RequestListener) => {
      answer = next
    },
    redirectTo: (status: number, location: (url: string) => string | null) => {
      answer = (request, response) => {
        const to = location(request.url ?? '')
        if (to === null) response.end('there')
        else response.writeHead(status, { location: to }).end()
      }
    },
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await dns.stop()
    },
  }
}

scenario('A call to an address that somebody chose', start, (test) => {
  test('is made, and answered with status and text', async ({ ask, came, port, answerWith }) => {
    answerWith((_request, response) => response.writeHead(201).end('thanks'))
    const url = `http://127.0.0.1:${port}/hook?x=1`
    assert.equal(await ask(url), { status: 201, body: 'thanks', url })
    const [seen] = came()
    assert.equal([seen?.method, seen?.url, seen?.body], ['POST', '/hook?x=1', 'hello'])
    assert.is(seen?.headers['content-length'], '5')
  })

  test('goes to the address that its name has in the DNS', async ({ ask, came, dns, port }) => {
    await dns.serve({ 'hooks.example': { A: ['127.0.0.1'] } })
    const answer = await ask(`http://hooks.example:${port}/`)
    assert.ok('status' in answer, JSON.stringify(answer))
    assert.is(came()[0]?.host, `hooks.example:${port}`)
  })

  test('is not made where a name has an address that is closed, alone or among others', async (parts) => {
    const { ask, came, dns, port } = parts
    await dns.serve({
      'inside.example': { A: ['10.0.0.7'] },
      'both.example': { A: ['127.0.0.1', '192.168.1.1'] },
      'six.example': { AAAA: ['::1'], A: ['127.0.0.1'] },
    })
    for (const name of ['inside', 'both', 'six']) {
      const answer = await ask(`http://${name}.example:${port}/`)
      assert.ok('failure' in answer && answer.isRefused, JSON.stringify(answer))
      assert.match(answer.failure, 'not an address of the public internet')
    }
    for (const host of ['127.0.0.2', '[::1]', '[::ffff:127.0.0.2]', '2130706434', '0x7f.2']) {
      const answer = await ask(`http://${host}:${port}/`)
      assert.ok('failure' in answer && answer.isRefused, `${host}: ${JSON.stringify(answer)}`)
    }
    assert.equal(came(), [])
  })

  test('follows redirects, each hop checked', async ({ ask, came, port, redirectTo }) => {
    redirectTo(307, (url) => (url === '/a' ? '/b' : url === '/b' ? `http://127.0.0.1:${port}/c` : null))
    assert.equal(await ask(`http://127.0.0.1:${port}/a`), {
      ...{ status: 200, body: 'there', url: `http://127.0.0.1:${port}/c` },
    })
    assert.equal(
      came().map(({ method, url, body }) => [method, url, body]),
      ['/a', '/b', '/c'].map((url) => ['POST', url, 'hello']),
    )
    for (const closed of ['http://127.0.0.3/', 'http://[::ffff:10.0.0.1]/', 'file:///etc/passwd']) {
      redirectTo(302, () => closed)
      const answer = await ask(`http://127.0.0.1:${port}/a`)
      assert.ok('failure' in answer && answer.isRefused, `${closed}: ${JSON.stringify(answer)}`)
      assert.is(came().length, 1)
    }
  })

  test('gives up after five redirects', async ({ ask, came, port, redirectTo }) => {
    redirectTo(302, () => '/again')
    const answer = await ask(`http://127.0.0.1:${port}/`)
    assert.ok('failure' in answer && answer.failure === 'It redirects too many times.')
    assert.is(came().length, 6)
  })

  test('becomes a GET without a body where browsers do that', async ({ ask, came, port, redirectTo }) => {
    for (const status of [301, 302, 303]) {
      redirectTo(status, (url) => (url === '/a' ? '/b' : null))
      await ask(`http://127.0.0.1:${port}/a`)
      const [, second] = came()
      assert.equal([second?.method, second?.body, second?.headers['content-type']], ['GET', '', undefined])
    }
  })

  test('keeps credentials from another host', async ({ ask, came, dns, port, redirectTo }) => {
    await dns.serve({ 'other.example': { A: ['127.0.0.1'] } })
    redirectTo(307, (url) => (url === '/a' ? `http://other.example:${port}/b` : null))
    await ask(`http://127.0.0.1:${port}/a`, { headers: { Authorization: 'secret', 'x-own': 'kept' } })
    const [first, second] = came()
    assert.equal([first?.headers.authorization, second?.headers.authorization], ['secret', undefined])
    assert.is(second?.headers['x-own'], 'kept')
  })

  test('reads so much of an answer and no more', async ({ ask, port, answerWith }) => {
    answerWith((_request, response) => {
      const more = () => {
        while (response.write('x'.repeat(10_000)));
        response.once('drain', more)
      }
      more()
    })
    const answer = await ask(`http://127.0.0.1:${port}/`)
    assert.ok('status' in answer && answer.body === 'x'.repeat(1_000))
  })

  test('ends when there is no answer in time, or only a trickle', async ({ ask, port, answerWith }) => {
    const timers: NodeJS.Timeout[] = []
    for (const respond of [
      () => {},
      (response: { write: (text: string) => void }) =>
        void timers.push(setInterval(() => response.write('.'), 20)),
    ]) {
      answerWith((_request, response) => respond(response))
      const answer = await ask(`http://127.0.0.1:${port}/`, {}, { hopMs: 300 })
      assert.ok('failure' in answer && !answer.isRefused, JSON.stringify(answer))
      assert.is(answer.failure, 'There was no answer within 0.3 seconds.')
    }
    for (const timer of timers) clearInterval(timer)
  })

  test('says when nobody answers, or a name does not exist', async ({ ask }) => {
    const closed = await ask('http://127.0.0.1:1/')
    assert.ok('failure' in closed && !closed.isRefused && /ECONNREFUSED/.test(closed.failure))
    const nameless = await ask('http://nowhere.example/')
    assert.ok('failure' in nameless && nameless.failure === 'nowhere.example has no address in the DNS.')
  })
})

scenario('Addresses of the public internet', nothingShared, (test) => {
  test('are none of the special ones, also not within IPv6', async () => {
    for (const address of ['8.8.8.8', '1.1.1.1', '2606:4700::1111', '::ffff:8.8.8.8']) {
      assert.ok(isPublicAddress(address), address)
    }
    const special = [
      ...[
        '0.0.0.0',
        '10.1.2.3',
        '100.64.0.1',
        '127.0.0.1',
        '169.254.169.254',
        '172.16.0.1',
        '172.31.255.255',
      ],
      ...[
        '192.0.0.1',
        '192.0.2.1',
        '192.88.99.1',
        '192.168.0.1',
        '198.18.0.1',
        '198.51.100.1',
        '203.0.113.1',
      ],
      ...['224.0.0.1', '240.0.0.1', '255.255.255.255', '::', '::1', '::7f00:1', '::ffff:10.0.0.1', 'fe80::1'],
      ...[
        'fc00::1',
        'fec0::1',
        'ff02::1',
        '64:ff9b::a00:1',
        '64:ff9b:1::1',
        '100::1',
        '2001::1',
        '2001:db8::1',
      ],
      ...['2002:a00:1::1', '3fff::1', '5f00::1', 'nothing', ''],
    ]
    for (const address of special) assert.not(isPublicAddress(address), address)
  })
})
