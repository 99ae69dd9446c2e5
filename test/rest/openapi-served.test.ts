import * as assert from 'uvu/assert'
import { docsPage } from '../../src/rest/docs.ts'
import { printedOpenApi } from '../../src/rest/openapi.ts'
import type { OpenApiDocument } from '../../src/rest/openapi-types.ts'
import { schema } from '../../src/schema.ts'
import { scenario } from '../support/scenario.ts'
import { startService } from '../support/service.ts'
import { describedOperations } from './openapi-checker.ts'

const printed = async (): Promise<OpenApiDocument> => JSON.parse(await printedOpenApi(schema))

const asText = (html: string) =>
  html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

/** The names of the elements that are opened and never closed, or closed and never opened. */
function unbalanced(html: string): string[] {
  const open: string[] = []
  const wrong: string[] = []
  for (const [, slash, name = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
    if (['meta', 'br', 'link', 'img'].includes(name)) continue
    if (slash === '') open.push(name)
    else if (open.pop() !== name) wrong.push(name)
  }
  return [...open, ...wrong]
}

scenario(
  'GET /openapi.json and GET /docs',
  () => startService({ TRACK_ACCEPTS_SECRET_KEY: 'true' }),
  (test) => {
    test('the description is the committed one, with this server and its settings', async ({ call, url }) => {
      const { status, body, headers } = await call('GET', '/openapi.json')
      assert.is(status, 200)
      assert.match(headers.get('content-type') ?? '', /^application\/json/)
      const expected = await printed()
      assert.equal(body.servers, [{ url }])
      assert.is(body.info.contact.url, url)
      assert.equal(body.paths['/v1/track'].post.security, [{ publicKey: [] }, { secretKey: [] }])
      body.servers = expected.servers
      body.info.contact = expected.info.contact
      body.paths['/v1/track'].post.security = [{ publicKey: [] }]
      assert.is(JSON.stringify(body), JSON.stringify(expected))
    })

    test('both are the same for everybody until the service changes', async ({ call }) => {
      for (const path of ['/openapi.json', '/docs']) {
        const { headers } = await call('GET', path)
        const etag = headers.get('etag') ?? ''
        for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
          const again = await call('GET', path, { headers: { 'if-none-match': known } })
          assert.is(again.status, 304, known)
          assert.is(again.text, '')
          assert.is(again.headers.get('etag'), etag)
        }
        assert.is((await call('GET', path, { headers: { 'if-none-match': '"other"' } })).status, 200)
      }
    })

    test('the page shows every operation with its path, text, fields, statuses and command', async ({
      call,
      url,
    }) => {
      const { status, text, headers } = await call('GET', '/docs')
      assert.is(status, 200)
      assert.match(headers.get('content-type') ?? '', /^text\/html/)
      const { body: document }: { body: OpenApiDocument } = await call('GET', '/openapi.json')
      for (const { method, path, operation } of describedOperations(document)) {
        const { operationId } = operation
        const article = text.split('<article ').find((part) => part.startsWith(`id="${operationId}"`)) ?? ''
        assert.ok(text.includes(`href="#${operationId}"`), operationId)
        const shown = asText(article)
        for (const part of [path, operation.description, `curl -X ${method} ${url}`]) {
          assert.ok(shown.includes(part), `${operationId}: ${part}`)
        }
        for (const code of Object.keys(operation.responses))
          assert.ok(shown.includes(code), `${operationId}: ${code}`)
        const media = operation.requestBody?.content['application/json']
        const input = document.components.schemas[media?.schema.$ref?.split('/').at(-1) ?? '']
        for (const [name, field] of Object.entries(input?.properties ?? {})) {
          const required = input?.required?.includes(name) ? ' <em>required</em>' : ''
          assert.ok(article.includes(`<code>${name}</code>${required}</td>`), `${operationId}: ${name}`)
          const description = typeof field === 'object' ? (field.description ?? '') : ''
          assert.ok(
            shown.replaceAll(/<\/?code>/g, '`').includes(description),
            `${operationId}: ${description}`,
          )
        }
      }
    })

    test('the commands carry the example of the body, quoted for a shell', async ({ as, call, project }) => {
      const { text } = await call('GET', '/docs')
      const bodies = [...text.matchAll(/ -d &#39;(.*?)&#39;<\/pre>/gs)].map(([, body = '']) =>
        JSON.parse(asText(body)),
      )
      const [domain] = bodies.filter((body) => 'domain' in body)
      const [message] = bodies.filter((body) => 'to' in body)
      assert.is((await as(project).post('/domains', domain)).status, 201)
      assert.is((await as(project).post('/v1/send', message)).status, 200)
    })

    test('the page is sound HTML and loads nothing but its style and its sign', async ({ call }) => {
      const { text, headers } = await call('GET', '/docs')
      assert.equal(unbalanced(text), [])
      assert.not.match(text, /<(script|iframe|object|embed|form)\b|<[^>]*\s(style|on[a-z]+)=/)
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
      const links = [...text.matchAll(/href="([^"]*)"/g)].map(([, href = '']) => href)
      const anchors = new Set([...text.matchAll(/\bid="([^"]*)"/g)].map(([, id]) => `#${id}`))
      assert.equal(
        links.filter((href) => !anchors.has(href)),
        ['favicon.svg', 'assets/house.css', 'assets/docs.css', './', 'openapi.json'],
      )
    })

    test('what the description says is text, never markup', async () => {
      const hostile = `"'><script>alert(1)</script>&amp;\`<i>\``
      const harmless = await printed()
      const strings = new Set([
        'description',
        'summary',
        'title',
        'name',
        'url',
        'operationId',
        'format',
        'pattern',
      ])
      const poisoned: OpenApiDocument = JSON.parse(JSON.stringify(harmless), (key, value) =>
        strings.has(key) && typeof value === 'string' && !['get', 'post'].includes(value)
          ? `${value}${hostile}`
          : value,
      )
      for (const path of Object.keys(poisoned.paths)) {
        const { [path]: methods = {} } = poisoned.paths
        poisoned.paths[`${path}${hostile}`] = methods
      }
      poisoned.tags = harmless.tags
      const page = docsPage(poisoned)
      assert.not.match(page, /<script|<i>/)
      assert.ok(page.includes('&lt;script&gt;alert(1)&lt;/script&gt;'))
      assert.equal(unbalanced(page), [])
    })
  },
)
