import * as assert from 'uvu/assert'
import { messageDocument } from '../../../src/pages/mailbox-page.ts'
import { IMAGES } from '../../support/images.ts'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService, until } from '../../support/service.ts'
import { send } from '../sending/send-support.ts'

const MESSAGE = {
  id: '1',
  ...{ from: 'a@b.example', to: 'c@d.example', subject: '', text: '', headers: {}, receivedAt: '' },
}

const documentOf = (html: string) =>
  messageDocument({
    ...MESSAGE,
    html,
    attachments: [
      { filename: 'a', contentType: 'text/plain', size: 1 },
      { filename: 'b', contentType: 'image/png', size: 1, contentId: 'sign@x' },
    ],
  })

/** Sends a message and waits until the mailbox lists it; returns its id. */
async function kept(service: Service, fields: Record<string, unknown>): Promise<string> {
  const { body, text } = await send(service, fields)
  assert.ok(body.success, text)
  const id: string = body.data.emails[0].email
  return until(`${id} is listed`, async () => {
    const { body } = await service.call('GET', '/mailbox/messages')
    return body.data.some((message: { id: string }) => message.id === id) && id
  })
}

scenario('The routes of the mailbox', startService, (test) => {
  test('a message is a document whose links open in a new tab, with its own images', () => {
    for (const [html, document] of [
      ['<p>x</p>', '<base target="_blank"><p>x</p>'],
      ['\n<!DOCTYPE html>\n<html>', '\n<!DOCTYPE html><base target="_blank">\n<html>'],
      ['<a target="_top" href="/x">', '<base target="_blank"><a href="/x">'],
      ["<a href='/x' target = _self>", '<base target="_blank"><a href=\'/x\'>'],
      ['<img src="cid:sign@x">', '<base target="_blank"><img src="attachments/1">'],
      [
        '<td style="background: url(cid:sign%40x)">',
        '<base target="_blank"><td style="background: url(attachments/1)">',
      ],
      [
        '<img src="cid:other"><img src="cid:%zz">',
        '<base target="_blank"><img src="cid:other"><img src="cid:%zz">',
      ],
    ] as const) {
      assert.is(documentOf(html), document)
    }
  })

  test('a document of a message has no rights, and loads from elsewhere only when it is told to', async (service) => {
    const email = await kept(service, { body: '<img src="https://elsewhere.example/x.png">' })
    const at = `/mailbox/messages/${email}/html`
    const policyOf = async (path: string) =>
      (await service.call('GET', path)).headers.get('content-security-policy') ?? ''
    for (const path of [at, `${at}?images=remote`]) {
      assert.match(
        await policyOf(path),
        /^sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none';/,
      )
      assert.match(await policyOf(path), "frame-ancestors 'self'")
    }
    assert.not.match(await policyOf(at), 'http')
    assert.match(await policyOf(`${at}?images=remote`), "img-src 'self' data: https: http:;")
    const page = async (query: string) =>
      (await service.call('GET', `/mailbox?message=${email}${query}`)).text
    assert.match(await page(''), 'Load images from elsewhere')
    assert.not.match(await page('&images=remote'), 'Load images from elsewhere')
    assert.match(await page('&images=remote'), `src="mailbox/messages/${email}/html?images=remote"`)
  })

  test('attachments are downloaded, as what they are said to be and never shown', async (service) => {
    const file = { filename: "ä';.png", content: IMAGES.png.toString('base64'), contentType: 'image/png' }
    const odd = { filename: 'x.html', content: 'PGI+', contentType: 'text/html; charset=utf-8' }
    const email = await kept(service, { attachments: [file, odd] })
    const attachment = (index: string) =>
      service.call('GET', `/mailbox/messages/${email}/attachments/${index}`)
    const { status, headers } = await attachment('0')
    assert.is(status, 200)
    assert.is(headers.get('content-type'), 'image/png')
    assert.is(headers.get('content-length'), String(IMAGES.png.length))
    assert.is(headers.get('content-disposition'), "attachment; filename*=UTF-8''%C3%A4%27%3B.png")
    const second = await attachment('1')
    assert.is(second.text, '<b>')
    assert.is(second.headers.get('content-type'), 'application/octet-stream')
    assert.is(second.headers.get('content-security-policy'), "default-src 'none'; sandbox")
    for (const index of ['2', '-1', 'x', '0.5', '1e9', '..%2f1']) {
      assertRefused(await attachment(index), 404, 'RESOURCE_NOT_FOUND')
    }
  })

  test('mail is searched for in subject, addresses and text', async (service) => {
    await kept(service, { to: 'x@search.example', subject: 'Überraschung', body: '<p>Parcel</p>' })
    const found = async (search: string) => {
      const { body } = await service.call('GET', `/mailbox/messages?search=${encodeURIComponent(search)}`)
      return body.data.length
    }
    for (const search of ['ÜBERR', 'X@SEARCH', 'parcel']) assert.is(await found(search), 1, search)
    for (const search of ['<p>', 'nothing']) assert.is(await found(search), 0, search)
    assert.ok((await found(service.project.domain)) > 1)
  })

  test('what is in a message is text on the page, never markup', async (service) => {
    const hostile = `"'><script>alert(1)</script>`
    const email = await kept(service, {
      to: { name: hostile, email: 'hostile@example.org' },
      subject: hostile,
      headers: { 'X-Odd': hostile },
      attachments: [{ filename: '<script>.txt', content: 'PGI+', contentType: 'text/plain' }],
    })
    for (const query of ['', ...['html', 'text', 'headers', 'source'].map((view) => `&view=${view}`)]) {
      const { text } = await service.call(
        'GET',
        `/mailbox?search=${encodeURIComponent(hostile)}&message=${email}${query}`,
      )
      assert.not.match(text, '<script>')
      assert.match(text, '&lt;script&gt;')
    }
  })

  test('all messages are deleted together, by a request that no other site can make', async (service) => {
    assert.is((await service.call('DELETE', '/mailbox/messages')).status, 204)
    assert.equal((await service.call('GET', '/mailbox/messages')).body, { data: [] })
    const preflight = await service.call('OPTIONS', '/mailbox/messages', {
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'DELETE' },
    })
    assert.is(preflight.headers.get('access-control-allow-origin'), null)
    assertRefused(await service.call('GET', '/mailbox?message=gone'), 404, 'RESOURCE_NOT_FOUND')
  })

  test('the page shows the newest hundred, and says of how many', async (service) => {
    const page = async (query = '') => (await service.call('GET', `/mailbox${query}`)).text
    const to = Array.from({ length: 104 }, (_, index) => `many${index}@example.org`)
    assert.is((await send(service, { to, subject: 'Many' })).status, 200)
    await until('all of them', async () => (await page()).includes('100 of 104 messages, newest first'))
    assert.match(await page('?search=many'), 'More than 100 matches, newest first')
    assert.match(await page('?search=many10'), '5 matches, newest first')
  })

  test('a browser gets a page where a program gets the envelope of an error', async ({ call }) => {
    const headers = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }
    for (const path of ['/mailbox?message=gone', '/unsubscribe/x', '/unsubscribe/', '/manage', '/nothing']) {
      const answer = await call('GET', path, { headers })
      assert.is(answer.status, 404, path)
      assert.match(answer.headers.get('content-type') ?? '', 'text/html')
      assert.match(answer.text, answer.headers.get('x-request-id') ?? '')
      assertRefused(await call('GET', path), 404, 'RESOURCE_NOT_FOUND')
    }
    assertRefused(await call('GET', '/contacts', { headers }), 401, 'MISSING_AUTH')
    assertRefused(await call('POST', '/nothing', { headers }), 404, 'RESOURCE_NOT_FOUND')
  })
})
