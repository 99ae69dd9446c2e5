import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import PostalMime from 'postal-mime'
import * as assert from 'uvu/assert'
import type { DeliveryResult } from '../../src/mail/mailer.ts'
import { createMailgunMailer } from '../../src/mail/mailgun.ts'
import { listen } from '../support/listen.ts'
import { scenario } from '../support/scenario.ts'
import { dkimKey, dkimResults, mailWith } from './support.ts'

type Taken = {
  method: string | undefined
  path: string | undefined
  user: string
  to: unknown
  message: Buffer
}
type Reply = (response: ServerResponse) => void

const accept: Reply = (response) => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ id: '<20260304.1@sender.example>', message: 'Queued. Thank you.' }))
}

/** What stands in for Mailgun: it keeps every request and answers as it is told. */
async function startApi() {
  const taken: Taken[] = []
  const api = { reply: accept }
  const server = createServer((request, response) => {
    void read(request).then((request) => {
      taken.push(request)
      api.reply(response)
    })
  })
  const port = await listen(server)
  return {
    api,
    taken,
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function read(request: IncomingMessage): Promise<Taken> {
  const body = await buffer(request)
  const type = request.headers['content-type'] ?? ''
  const read = new Response(new Uint8Array(body), { headers: { 'content-type': type } })
  const form = type.startsWith('multipart/') ? await read.formData() : new FormData()
  const file = form.get('message')
  return {
    method: request.method,
    path: request.url,
    user: Buffer.from(request.headers.authorization?.replace(/^Basic /, '') ?? '', 'base64').toString(),
    to: form.get('to'),
    message: file instanceof Blob ? Buffer.from(await file.arrayBuffer()) : Buffer.alloc(0),
  }
}

const status =
  (code: number, body = '{"message":"Because"}', phrase?: string): Reply =>
  (response) => {
    const headers = { 'content-type': 'application/json' }
    if (phrase === undefined) response.writeHead(code, headers)
    else response.writeHead(code, phrase, headers)
    response.end(body)
  }

const apiKey = 'key-s3cret'

scenario('Mailgun', startApi, (test) => {
  const sendOnce = async (url: string, timeoutMs = 5000): Promise<DeliveryResult> => {
    const mailer = createMailgunMailer({ apiKey, url, timeoutMs })
    const result = await mailer.send(mailWith())
    await mailer.close()
    return result
  }

  test('takes the finished message over the domain of its sender', async ({ url, taken, api }) => {
    api.reply = accept
    const mailer = createMailgunMailer({ apiKey, url })
    const result = await mailer.send(
      mailWith({
        from: { address: 'a@bücher.example', name: 'Bücher' },
        to: { address: 'ann@münchen.example', name: 'Ann, B.' },
        subject: 'Grüße 👋',
        html: `<p>${'ä'.repeat(5000)}</p>`,
        dkim: dkimKey,
        attachments: [
          {
            filename: 'a.bin',
            content: Buffer.alloc(300_000, 255),
            contentType: 'x/y',
            disposition: 'attachment',
          },
        ],
      }),
    )
    await mailer.close()
    assert.equal(result, { kind: 'sent', providerMessageId: '20260304.1@sender.example' })
    const [request] = taken
    assert.is(request?.method, 'POST')
    assert.is(request?.path, '/v3/xn--bcher-kva.example/messages.mime')
    assert.is(request?.user, 'api:key-s3cret')
    assert.is(request?.to, 'ann@xn--mnchen-3ya.example')
    const email = await PostalMime.parse(request?.message ?? '')
    assert.is(email.subject, 'Grüße 👋')
    assert.is(email.html?.trim(), `<p>${'ä'.repeat(5000)}</p>`)
    assert.equal(email.attachments[0]?.content, new Uint8Array(300_000).fill(255).buffer)
    assert.equal(await dkimResults(request?.message ?? Buffer.alloc(0)), ['pass'])
  })

  for (const code of [408, 429, 500, 502, 503]) {
    test(`an answer ${code} is temporary`, async ({ url, api }) => {
      api.reply = status(code)
      assert.equal(await sendOnce(url), { kind: 'temporary', reason: `Mailgun: Because (${code})` })
    })
  }

  for (const code of [400, 413, 422]) {
    test(`an answer ${code} is permanent`, async ({ url, api }) => {
      api.reply = status(code)
      assert.equal(await sendOnce(url), { kind: 'permanent', reason: `Mailgun: Because (${code})` })
    })
  }

  for (const [code, words, scope, advice] of [
    [401, 'Forbidden', 'account', 'MAILGUN_API_KEY'],
    [403, 'Access denied', 'account', 'MAILGUN_API_KEY'],
    [402, 'Payment required', 'account', 'its payments'],
    [404, 'Domain not found: sender.example', 'domain', 'added to the account'],
    [404, '<html>Not Found</html>', 'account', 'MAILGUN_URL'],
    [405, 'Method not allowed', 'account', 'MAILGUN_URL'],
    [421, 'Domain sender.example is not allowed to send: Please activate your Mailgun account', 'domain', ''],
    [421, 'Busy', 'domain', 'verified and not disabled'],
    [400, 'The domain is unverified and requires DNS configuration', 'domain', 'verified'],
    [400, 'Domain sender.example is not allowed to send: disabled', 'domain', 'verified'],
    [400, 'The domain sender.example is disabled', 'domain', 'not disabled'],
    [400, 'Your account is temporarily disabled', 'account', 'its plan'],
    [403, 'Sandbox subdomains are for test purposes only', 'domain', 'verified'],
    [403, 'Free accounts are for test purposes only', 'account', 'its plan'],
  ] as const) {
    test(`"${words}" (${code}) is trouble of the ${scope}, not of the message`, async ({ url, api }) => {
      api.reply = status(code, words.startsWith('<') ? words : JSON.stringify({ message: words }))
      const result = await sendOnce(url)
      assert.equal(result, { ...result, kind: 'provider', scope, reason: `Mailgun: ${words} (${code})` })
      assert.match(result.kind === 'provider' ? result.advice : '', advice)
    })
  }

  test('what Mailgun says about a recipient is not taken for trouble of the domain', async ({ url, api }) => {
    api.reply = status(400, '{"message":"to parameter is not a valid address. please check documentation"}')
    assert.is((await sendOnce(url)).kind, 'permanent')
  })

  test('a key that has sent is refused for the domain', async ({ url, api }) => {
    const mailer = createMailgunMailer({ apiKey, url })
    api.reply = status(401, 'Forbidden')
    const before = await mailer.send(mailWith())
    api.reply = accept
    assert.is((await mailer.send(mailWith())).kind, 'sent')
    api.reply = status(401, 'Forbidden')
    const after = await mailer.send(mailWith({ from: { address: 'a@other.example' } }))
    assert.equal(
      [before, after].map((result) => (result.kind === 'provider' ? result.scope : result.kind)),
      ['account', 'domain'],
    )
    assert.is(await mailer.check(), null)
    await mailer.close()
  })

  test('a check asks for the domains, and finds a wrong key or address', async ({ url, taken, api }) => {
    const check = async (address = url) => {
      const mailer = createMailgunMailer({ apiKey, url: address, timeoutMs: 1_000 })
      return mailer.check()
    }
    api.reply = status(200, '{"items":[],"total_count":0}')
    const before = taken.length
    assert.is(await check(), null)
    assert.equal(
      taken.slice(before).map(({ method, path, user }) => [method, path, user]),
      [['GET', '/v4/domains?limit=1', `api:${apiKey}`]],
    )
    // What a key gets that may only send.
    api.reply = status(403, '{"message":"Forbidden"}')
    assert.is(await check(), null)
    api.reply = status(401, 'Forbidden')
    const wrong = await check()
    assert.is(wrong?.reason, 'Mailgun: Forbidden (401)')
    assert.match(wrong?.advice ?? '', 'MAILGUN_API_KEY')
    api.reply = () => undefined
    assert.match((await check())?.reason ?? '', 'timeout')
    api.reply = status(503)
    assert.is((await check())?.reason, 'Mailgun: Because (503)')
    assert.match((await check('http://127.0.0.1:1'))?.reason ?? '', 'ECONNREFUSED')
    assert.match((await check('http://mailgun.invalid'))?.advice ?? '', 'MAILGUN_URL')
  })

  test('the phrase of a 400 answer makes no difference', async ({ url, api }) => {
    for (const phrase of ['', 'BAD REQUEST', 'Bad Request']) {
      api.reply = status(400, '{"message":"to parameter is not a valid address"}', phrase)
      assert.equal(await sendOnce(url), {
        kind: 'permanent',
        reason: 'Mailgun: to parameter is not a valid address (400)',
      })
    }
  })

  test('a message that was written and not answered may have been taken', async ({ url, api }) => {
    const broken: Reply[] = [
      (response) => response.destroy(),
      (response) => response.socket?.end('nonsense\r\n\r\n'),
      (response) => {
        response.writeHead(200, { 'content-length': '1000' })
        response.write('{')
        response.destroy()
      },
    ]
    for (const reply of broken) {
      api.reply = reply
      const result = await sendOnce(url)
      assert.equal(result, { ...result, kind: 'temporary', uncertain: true })
    }
  })

  test('an answer that does not come, or not to an end, is doubted, soon', async ({ url, api }) => {
    api.reply = () => undefined
    const silent = await sendOnce(url, 100)
    assert.equal(silent, { ...silent, kind: 'temporary', uncertain: true })
    api.reply = (response) => {
      response.writeHead(200)
      const trickle = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(trickle))
    }
    assert.equal(await sendOnce(url, 100), {
      kind: 'temporary',
      reason: 'Mailgun: no answer within 100 ms',
      uncertain: true,
    })
  })

  test('an address where no API is reached concerns the operator', async ({ url }) => {
    for (const [wrong, reason] of [
      ['http://127.0.0.1:1', /^Mailgun: .*ECONNREFUSED/],
      ['http://mailgun.invalid', /^Mailgun: .*(?:ENOTFOUND|EAI_AGAIN)/],
      [url.replace('http:', 'https:'), /^Mailgun: .*SSL/],
    ] as const) {
      const result = await sendOnce(wrong)
      assert.equal(result, { ...result, kind: 'provider', scope: 'account' })
      assert.match(result.kind === 'provider' ? result.reason : '', reason)
      assert.match(result.kind === 'provider' ? result.advice : '', 'MAILGUN_URL')
    }
  })

  test('an answer from something that is not Mailgun concerns the operator', async ({ url, api }) => {
    for (const body of ['<html>Welcome</html>', '{}', 'Mailgun Magnificent API']) {
      api.reply = status(200, body)
      const result = await sendOnce(url)
      assert.equal(result, { ...result, kind: 'provider', scope: 'account' })
      assert.match(result.kind === 'provider' ? result.advice : '', 'MAILGUN_URL')
    }
  })

  test('a long reason is cut at 500 characters', async ({ url, api }) => {
    api.reply = status(422, JSON.stringify({ message: 'x'.repeat(3000) }))
    const result = await sendOnce(url)
    assert.is(result.kind === 'permanent' ? result.reason.length : 0, 500)
  })

  test('a message that cannot be composed never leaves', async ({ url, taken, api }) => {
    api.reply = accept
    const before = taken.length
    const mailer = createMailgunMailer({ apiKey, url })
    for (const fields of [
      { headers: [{ name: 'Bcc', value: 'x@y.example' }] },
      { from: { address: 'a@sender.example/../other.example' } },
      { from: { address: 'nobody' } },
    ]) {
      assert.is((await mailer.send(mailWith(fields))).kind, 'permanent')
    }
    await mailer.close()
    assert.is(taken.length, before)
  })
})
