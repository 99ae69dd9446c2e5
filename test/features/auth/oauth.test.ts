import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { browserAt, cookieSetBy, PASSWORD, signedUp } from '../../support/browser-session.ts'
import { MINUTE } from '../../support/clock.ts'
import { type Person, startOauthServer } from '../../support/oauth-server.ts'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'

async function start() {
  const provider = await startOauthServer()
  const service = await startService({
    ROLES: 'http',
    GITHUB_CLIENT_ID: 'client-id',
    GITHUB_CLIENT_SECRET: 'client-secret',
    GITHUB_URL: provider.url,
    GOOGLE_CLIENT_ID: 'client-id',
    GOOGLE_CLIENT_SECRET: 'client-secret',
    GOOGLE_URL: provider.url,
  })
  const stop = async () => {
    await service.stop()
    await provider.stop()
  }
  return { ...service, provider, stop }
}

type World = Awaited<ReturnType<typeof start>>

let people = 0
const newPerson = (given: Partial<Person> = {}): Person => {
  people += 1
  return { id: people, email: `${randomUUID()}@example.org`, verified: true, ...given }
}

/** A request that does not follow redirects. */
async function visit(url: string, cookie = '') {
  const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
  const text = await response.text()
  const body = text.startsWith('{') ? JSON.parse(text) : undefined
  return { status: response.status, headers: response.headers, text, body }
}

async function begin({ url }: Service, name: string) {
  const answer = await visit(`${url}/auth/oauth/${name}`)
  assert.is(answer.status, 302, answer.text)
  const [cookie = ''] = answer.headers.getSetCookie()
  assert.match(cookie, /; Path=\/auth\/oauth; Max-Age=600; HttpOnly; SameSite=Lax$/)
  return { location: answer.headers.get('location') ?? '', cookie: cookie.split(';')[0] ?? '' }
}

/** Signs in as the person and returns the answer to the browser that comes back. */
async function signIn(world: World, name: string, person: Person) {
  const { location, cookie } = await begin(world, name)
  return visit(world.provider.agree(location, person).href, cookie)
}

/** The signed-in user of an answer. */
async function userOf(world: World, answer: Awaited<ReturnType<typeof visit>>) {
  assert.is(answer.status, 302, answer.text)
  const browser = browserAt(world.url, '', cookieSetBy(answer))
  return (await browser.call('GET', '/users/@me')).body
}

scenario('Signing in through a provider', start, (test) => {
  for (const name of ['github', 'google']) {
    test(`${name} makes an account with a verified address, once`, async (world) => {
      const person = newPerson()
      const first = await userOf(world, await signIn(world, name, person))
      assert.is(first.email, person.email)
      assert.is(first.emailVerified, true)
      const moved = { ...person, email: 'moved@example.org' }
      const second = await userOf(world, await signIn(world, name, moved))
      assert.is(second.id, first.id, 'the account goes by the id at the provider')
    })

    test(`${name} without a verified address gives nothing`, async (world) => {
      const { email } = await signedUp(world)
      const answer = await signIn(world, name, newPerson({ email, verified: false }))
      assertRefused(answer, 403, 'FORBIDDEN')
      assert.is(cookieSetBy(answer), undefined)
    })
  }

  test('a verified address leads to its account', async (world) => {
    const ada = await signedUp(world)
    const user = await userOf(world, await signIn(world, 'github', newPerson({ email: ada.email })))
    assert.is(user.email, ada.email)
    assert.is((await ada.call('GET', '/users/@me')).status, 200, 'what was there goes on')
  })

  test('whoever signed up with an address that was not theirs is locked out', async (world) => {
    const squatter = await signedUp(world, { verified: false })
    await userOf(world, await signIn(world, 'google', newPerson({ email: squatter.email })))
    assertRefused(await squatter.call('GET', '/users/@me'), 401, 'MISSING_AUTH')
    const login = await squatter.call('POST', '/auth/login', { email: squatter.email, password: PASSWORD })
    assertRefused(login, 401, 'INVALID_CREDENTIALS')
  })

  test('only the browser in which it began comes back, once, and soon', async (world) => {
    const person = newPerson()
    const [one, other] = [await begin(world, 'github'), await begin(world, 'github')]
    const back = world.provider.agree(one.location, person)
    for (const cookie of ['', other.cookie, `${one.cookie}x`]) {
      assertRefused(await visit(back.href, cookie), 400, 'BAD_REQUEST')
    }
    const elsewhere = new URL(back.href.replace('/github/', '/google/'))
    assertRefused(await visit(elsewhere.href, one.cookie), 400, 'BAD_REQUEST')
    assert.is((await visit(back.href, one.cookie)).status, 302)
    assertRefused(await visit(back.href, one.cookie), 502, 'EXTERNAL_SERVICE_ERROR')
    const late = await begin(world, 'github')
    const lateBack = world.provider.agree(late.location, person)
    world.clock.advance(11 * MINUTE)
    assertRefused(await visit(lateBack.href, late.cookie), 400, 'BAD_REQUEST')
  })

  test('a person who refuses is told so; other providers are not there', async (world) => {
    const { location, cookie } = await begin(world, 'github')
    const back = world.provider.agree(location, newPerson())
    back.searchParams.delete('code')
    back.searchParams.set('error', 'access_denied')
    assertRefused(await visit(back.href, cookie), 400, 'BAD_REQUEST')
    assertRefused(await visit(`${world.url}/auth/oauth/other`), 404, 'RESOURCE_NOT_FOUND')
    const { body } = await world.call('GET', '/auth/oauth-config')
    assert.equal(body, { github: true, google: true })
  })
})
