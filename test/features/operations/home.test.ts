import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'

const inProduction = () =>
  startService({
    NODE_ENV: 'production',
    ROLES: 'http',
    HOST: '127.0.0.1',
    JWT_SECRET: '0123456789abcdef0123456789abcdef',
    API_URL: 'https://mail.example',
    MAIL_PROVIDER: 'mailbox',
  })

scenario('The page at the top', inProduction, (test) => {
  test('names what is there in production, and nothing else', async ({ call }) => {
    const { status, text } = await call('GET', '/')
    assert.is(status, 200)
    assert.match(text, 'https://mail.example')
    const places = [...text.matchAll(/<li><a href="([^"]+)"/g)].map(([, href]) => href)
    assert.equal(places, ['docs', 'openapi.json', 'health/ready'])
    for (const path of places) assert.is((await call('GET', `/${path}`)).status, 200)
  })

  test('loads from this service only, and what it loads is asked for once or revalidated', async ({
    call,
  }) => {
    const { headers } = await call('GET', '/')
    assert.match(headers.get('content-security-policy') ?? '', "default-src 'none'; style-src 'self';")
    for (const [path, type, caching] of [
      ['/favicon.svg', 'image/svg+xml; charset=utf-8', 'public, max-age=86400'],
      ['/favicon.ico', 'image/svg+xml; charset=utf-8', 'public, max-age=86400'],
      ['/assets/house.css', 'text/css; charset=utf-8', 'no-cache'],
      ['/assets/mailbox.js', 'text/javascript; charset=utf-8', 'no-cache'],
    ] as const) {
      const { status, headers } = await call('GET', path)
      assert.is(status, 200, path)
      assert.is(headers.get('content-type'), type)
      assert.is(headers.get('cache-control'), caching)
      const known = { 'if-none-match': headers.get('etag') ?? '' }
      assert.is((await call('GET', path, { headers: known })).status, 304)
    }
    assert.is((await call('GET', '/assets/page.ts')).status, 404)
  })
})
