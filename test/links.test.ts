import * as assert from 'uvu/assert'
import { delivered, send, templateOf } from './features/sending/send-support.ts'
import { ask, setTracking } from './features/tracking/tracking-support.ts'
import { uploaded } from './features/uploads/upload-support.ts'
import { IMAGES } from './support/images.ts'
import { openRaw } from './support/raw-http.ts'
import { scenario } from './support/scenario.ts'
import { type Service, startService } from './support/service.ts'
import { filesOf, textOf } from './support/sources.ts'

const ADDRESS = 'https://mail.example/post/office'
const HOSTILE = {
  'x-forwarded-host': 'evil.example',
  forwarded: 'host=evil.example',
  origin: 'https://evil.example',
}

const start = () => startService({ API_URL: ADDRESS })

/** Every file that knows the public address; the places are tested below. */
const MAKERS = [
  'src/admission/accounts/sessions.ts',
  'src/app.ts',
  'src/bin/banner.ts',
  'src/config.ts',
  'src/features/account-pages/account-pages.http.ts',
  'src/features/auth/oauth.http.ts',
  'src/features/auth/oauth.ts',
  'src/features/auth/session-cookie.ts',
  'src/features/billing/accounts.ts',
  'src/features/compliance/compliance.ts',
  'src/features/configuration/configuration.ts',
  'src/features/operations/home.http.ts',
  'src/features/service-mail/service-mail.ts',
  'src/features/subscriptions/subscription-links.ts',
  'src/features/subscriptions/subscription.http.ts',
  'src/features/tracking/track-message.ts',
  'src/features/tracking/tracked-links.ts',
  'src/features/uploads/local-store.ts',
  'src/lib/net/ehlo-name.ts',
  'src/pages/home-page.ts',
  'src/rest/openapi.http.ts',
]

/** Checks that a link is at the public address and leads to the service, whether a proxy takes the path off or not. */
async function assertLeadsHere({ call }: Service, link: string): Promise<void> {
  assert.ok(link.startsWith(`${ADDRESS}/`), link)
  for (const path of [new URL(link).pathname, link.slice(ADDRESS.length)]) {
    // What a browser asks for: the editor of GraphQL is shown to nobody else.
    assert.is((await call('GET', path, { headers: { accept: 'text/html' } })).status, 200, path)
  }
}

/** A page at its public address, asked for with another Host. */
async function pageAt({ url }: Service, path: string, host = 'evil.example'): Promise<string> {
  const connection = openRaw(url)
  connection.write(`GET /post/office${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  const { status, body } = await connection.answer()
  connection.end()
  assert.is(status, 200, path)
  assert.not.match(body, 'evil.example')
  return body
}

/** Where the links and forms of a page at the public address lead, and where it loads from. */
function targetsOf(html: string, path: string): string[] {
  const targets = [...html.matchAll(/(?:href|action|src)="([^"#]+)"/g)].map(([, target = '']) => target)
  return targets.map((target) => new URL(target, `${ADDRESS}${path}`).href)
}

/** What every page loads. */
const LOADED = [`${ADDRESS}/favicon.svg`, `${ADDRESS}/assets/house.css`]

const LINKS = '{{unsubscribeUrl}} {{subscribeUrl}} {{manageUrl}}'

scenario('Links', start, (test) => {
  test('are made in these places', () => {
    const makers = filesOf('src/**/*.ts').filter((file) => /\bapiUrl\b|\{ basePath\b/.test(textOf(file)))
    assert.equal(
      makers.filter((file) => !file.startsWith('src/http/')),
      MAKERS,
    )
  })

  test('never come from what a request says about its address', () => {
    const readers = filesOf('src/**/*.ts').filter((file) =>
      /\bheaders(?:Distinct)?\.host\b|['"](?:host|x-forwarded-host|:authority)['"]/.test(textOf(file)),
    )
    assert.equal(readers, ['src/http/local-request.ts', 'src/http/server.ts'])
  })

  test('in a message are those of its variables, its footer and its headers', async (service) => {
    const template = await templateOf(service, { type: 'MARKETING', body: `<p>${LINKS}</p>` })
    const plain = await templateOf(service, { type: 'MARKETING', body: '<p>Hello</p>' })
    for (const [id, count] of [
      [template, 3],
      [plain, 2],
    ] as const) {
      const fields = { template: id, subscribed: true }
      const { key, body } = { key: service.project.secret, body: { to: 'ada@example.org', ...fields } }
      const answer = await service.as(key).post('/post/office/v1/send', body, { headers: HOSTILE })
      assert.is(answer.status, 200, answer.text)
      const { message, raw } = await delivered(service, answer.body.data.emails[0].email)
      assert.not.match(raw, 'evil.example')
      const links = message.html?.match(/https?:\/\/[^\s"<]+/g) ?? []
      assert.is(links.length, count)
      const header = message.headers.find((one) => one.key === 'list-unsubscribe')?.value ?? ''
      for (const link of [...links, header.slice(1, -1)]) await assertLeadsHere(service, link)
    }
  })

  test('in a preview are those of the message', async (service) => {
    const contact = await service.as().post('/contacts', { email: 'preview@example.org' })
    const query = 'query ($input: PreviewTemplateInput!) { previewTemplate(input: $input) { html } }'
    const input = { subject: 'x', body: LINKS, contactId: contact.body.id }
    const { body } = await service.as().graphql(query, { input }, { headers: HOSTILE })
    const links = body.data.previewTemplate.html.split(/\s+/).slice(0, 3)
    for (const link of links) await assertLeadsHere(service, link)
  })

  test('that are tracked, and the pixel, are at the public address', async (service) => {
    const project = await service.newProject()
    await setTracking(service, project, 'ENABLED')
    const body = `<a href="https://shop.example/">x</a><a href="${ADDRESS}/unsubscribe/x">y</a>`
    const answer = await send(service, { to: 'tracked@example.org', body }, project)
    const { message } = await delivered(service, answer.body.data.emails[0].email)
    assert.is(message.text?.trim(), `x [https://shop.example/]y [${ADDRESS}/unsubscribe/x]`)
    const [click = '', own, pixel = ''] = message.html?.match(/https?:\/\/[^\s"<]+/g) ?? []
    assert.is(own, `${ADDRESS}/unsubscribe/x`)
    await assertLeadsHere(service, pixel)
    assert.ok(click.startsWith(`${ADDRESS}/t/c/`), click)
    for (const prefix of ['', '/post/office']) {
      const { status, headers } = await ask(service, prefix + click.slice(ADDRESS.length), HOSTILE)
      assert.equal([status, headers.get('location')], [302, 'https://shop.example/'])
    }
  })

  test('to an image are the one of the answer', async (service) => {
    await assertLeadsHere(service, (await uploaded(service, IMAGES.png)).url)
  })

  test('in the description of the API and in the configuration are the public address', async (service) => {
    assert.equal(JSON.parse(await pageAt(service, '/openapi.json')).servers, [{ url: ADDRESS }])
    assert.is(JSON.parse(await pageAt(service, '/config')).urls.api, ADDRESS)
    const page = await pageAt(service, '/docs')
    assert.match(page, `curl -X POST ${ADDRESS}/v1/send `)
    for (const link of targetsOf(page, '/docs')) await assertLeadsHere(service, link)
  })

  test('and forms of the subscription pages stay at the public address', async (service) => {
    const { body } = await send(service, { to: 'form@example.org', subscribed: true, body: LINKS })
    const { message } = await delivered(service, body.data.emails[0].email)
    const [unsubscribe = '', subscribe = '', manage = ''] = message.html?.trim().split(/\s+/) ?? []
    for (const link of [unsubscribe, subscribe, manage]) {
      const path = link.slice(ADDRESS.length)
      assert.equal(targetsOf(await pageAt(service, path), path), [...LOADED, unsubscribe])
    }
    assert.is((await service.call('POST', new URL(unsubscribe).pathname)).status, 200)
    const path = manage.slice(ADDRESS.length)
    assert.equal(targetsOf(await pageAt(service, path), path), [...LOADED, subscribe])
    for (const link of LOADED) await assertLeadsHere(service, link)
  })

  test('of a page at the top, and of a page for what is not there, stay at the public address', async (service) => {
    const home = targetsOf(await pageAt(service, '/'), '/')
    assert.ok(home.length > 5)
    for (const link of home) await assertLeadsHere(service, link)
    const headers = { accept: 'text/html' }
    const { status, text } = await service.call('GET', '/unsubscribe/x/y', { headers })
    assert.is(status, 404)
    assert.equal(targetsOf(text, '/unsubscribe/x/y'), LOADED)
  })

  test('on the page of the mailbox stay below it', async (service) => {
    await send(service, { to: 'mailbox@example.org' })
    const links = targetsOf(await pageAt(service, '/mailbox', 'localhost'), '/mailbox')
    assert.ok(links.length > 1)
    for (const link of links) await assertLeadsHere(service, link)
  })
})

const likeOurs = () => startService({ API_URL: 'https://mail.example/v1', ROLES: 'http' })

scenario('A public address whose path is like one of ours', likeOurs, (test) => {
  test('may be left in front of a path by a proxy, or not', async ({
    as,
    call,
    project: { public: key },
  }) => {
    const body = { email: 'ada@example.org', event: 'e' }
    for (const path of ['/v1/track', '/v1/v1/track']) {
      assert.is((await as(key).post(path, body)).status, 200, path)
    }
    for (const [path, status] of [
      ['/config', 200],
      ['/v1/config', 200],
      ['/v1/v1/config', 404],
      ['/v1/nothing', 404],
      ['/v1', 404],
    ] as const) {
      assert.is((await call('GET', path)).status, status, path)
    }
  })
})
