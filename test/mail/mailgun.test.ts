import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import PostalMime from 'postal-mime'
import * as assert from 'uvu/assert'
import type { DeliveryResult } from '../../src/mail/mailer.ts'
import { createMailgunMailer } from '../../src/mail/mailgun.ts'
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port')
  return {
    api,
    taken,
    url: `http://127.0.0.1:${address.port}`,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function read(request: IncomingMessage): Promise<Taken> {
  const body = await buffer(request)
  const type = request.headers['content-type'] ?? ''
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
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

  for (const code of [401, 403, 408, 429, 500, 502, 503]) {
    test(`an answer ${code} is temporary`, async ({ url, api }) => {
      api.reply = status(code)
      assert.equal(await sendOnce(url), { kind: 'temporary', reason: `Mailgun: Because (${code})` })
    })
  }

  for (const code of [400, 402, 404, 413, 422]) {
    test(`an answer ${code} is permanent`, async ({ url, api }) => {
      api.reply = status(code)
      assert.equal(await sendOnce(url), { kind: 'permanent', reason: `Mailgun: Because (${code})` })
    })
  }

  test('the phrase of a 400 answer makes no difference', async ({ url, api }) => {
    for (const phrase of ['', 'BAD REQUEST', 'Bad Request']) {
      api.reply = status(400, '{"message":"to parameter is not a valid address"}', phrase)
      assert.equal(await sendOnce(url), {
        kind: 'permanent',
        reason: 'Mailgun: to parameter is not a valid address (400)',
      })
    }
  })

  test('trouble on the way is temporary', async ({ url, api }) => {
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
      assert.is((await sendOnce(url)).kind, 'temporary')
    }
    const refused = await sendOnce('http://127.0.0.1:1')
    assert.is(refused.kind, 'temporary')
    assert.match(refused.kind === 'temporary' ? refused.reason : '', /^Mailgun: .*ECONNREFUSED/)
    assert.is((await sendOnce('http://mailgun.invalid')).kind, 'temporary')
  })

  test('an answer that does not come, or not to an end, is temporary, soon', async ({ url, api }) => {
    api.reply = () => undefined
    assert.is((await sendOnce(url, 100)).kind, 'temporary')
    api.reply = (response) => {
      response.writeHead(200)
      const trickle = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(trickle))
    }
    assert.equal(await sendOnce(url, 100), {
      kind: 'temporary',
      reason: 'Mailgun: no answer within 100 ms',
    })
  })

  test('an answer from something that is not Mailgun is temporary', async ({ url, api }) => {
    for (const body of ['<html>Welcome</html>', '{}']) {
      api.reply = status(200, body)
      assert.equal(await sendOnce(url), {
        kind: 'temporary',
        reason: 'Mailgun: the answer names no message, check MAILGUN_URL',
      })
    }
    api.reply = status(200, 'Mailgun Magnificent API')
    assert.is((await sendOnce(url)).kind, 'temporary')
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
