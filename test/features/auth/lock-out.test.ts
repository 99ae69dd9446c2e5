import * as assert from 'uvu/assert'
import { startApp } from '../../../src/app.ts'
import { createLog } from '../../../src/observe/log.ts'
import { browserAt, cookieSetBy, join, member, PASSWORD, signedUp } from '../../support/browser-session.ts'
import { MINUTE } from '../../support/clock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'

/** A second process at the same database. */
async function start() {
  const service = await startService({ ROLES: 'http' })
  const second = await startApp({ ...service.app.config, port: 0 }, createLog('silent'), service.clock)
  const secondUrl = `http://${second.config.host}:${second.config.port}`
  const stop = async () => {
    await second.stop()
    await service.stop()
  }
  return { ...service, secondUrl, stop }
}

const login = (service: Service, email: string, password = PASSWORD) =>
  browserAt(service.url).call('POST', '/auth/login', { email, password })

const CHANGE = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) }'

scenario('Sessions and failures', start, (test) => {
  test('ten failures lock an account out for the address they came from, for a quarter of an hour', async (service) => {
    const ada = await signedUp(service)
    const other = await signedUp(service)
    // At the same time, so that none is counted before another is tried.
    const tries = Array.from({ length: 14 }, () => login(service, ada.email, 'wrong password'))
    const codes = (await Promise.all(tries)).map(({ status }) => status)
    // A slow machine refuses some of the others because they wait too long for their hash.
    assert.is(codes.filter((status) => status === 429).length, 4)
    assert.not.ok(codes.includes(200))
    const refused = await login(service, ada.email)
    assertRefused(refused, 429, 'RATE_LIMIT_EXCEEDED')
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    assert.is((await login(service, other.email)).status, 200)
    assert.is((await ada.call('GET', '/users/@me')).status, 200, 'who is signed in stays so')
    service.clock.advance(16 * MINUTE)
    assert.is((await login(service, ada.email)).status, 200)
    assert.is((await login(service, ada.email, 'wrong password')).status, 401)
  })

  test('an unknown account is locked out like any other, and is answered in the same words', async (service) => {
    const ada = await signedUp(service)
    const [known, unknown] = await Promise.all(
      [ada.email, 'nobody@example.org'].map((email) => login(service, email, 'wrong password')),
    )
    const { requestId: _one, ...ofKnown } = assertRefused(
      known ?? (await login(service, '')),
      401,
      'INVALID_CREDENTIALS',
    )
    const { requestId: _other, ...ofUnknown } = assertRefused(
      unknown ?? (await login(service, '')),
      401,
      'INVALID_CREDENTIALS',
    )
    assert.equal(ofKnown, ofUnknown)
    for (let count = 0; count < 9; count += 1) await login(service, 'nobody@example.org', 'wrong password')
    assertRefused(await login(service, 'nobody@example.org'), 429, 'RATE_LIMIT_EXCEEDED')
  })

  test('both work as long: each password costs one hash', async ({ app: { services } }) => {
    const stored = await services.passwords.hash(PASSWORD, 'test')
    assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    assert.is(await services.passwords.verify(PASSWORD, stored, 'test'), true)
    assert.is(await services.passwords.verify(`${PASSWORD}x`, stored, 'test'), false)
    assert.is(await services.passwords.verify(PASSWORD, null, 'test'), false)
    const cpu = async (of: string | null) => {
      const before = process.cpuUsage()
      for (let count = 0; count < 5; count += 1) await services.passwords.verify('wrong', of, 'test')
      return process.cpuUsage(before).user
    }
    const [known, unknown] = [await cpu(stored), await cpu(null)]
    // Without a hash it would be a thousandth.
    assert.ok(unknown > known / 4, `${unknown} µs against ${known} µs`)
  })

  test('a session ends on every process with the next request', async (service) => {
    const ada = await member(service, 'OWNER')
    const there = browserAt(service.secondUrl, ada.email, ada.cookie)
    const read = () => there.call('GET', '/templates', undefined, service.project.id)
    assert.is((await read()).status, 200)
    await service.sql('delete from members where user_id = (select id from users where email = $1)', [
      ada.email,
    ])
    assertRefused(await read(), 403, 'PROJECT_ACCESS_DENIED')
    await join(service, ada, service.project, 'MEMBER')
    assert.is((await read()).status, 200)
    await ada.call('GET', '/auth/logout')
    assertRefused(await read(), 401, 'MISSING_AUTH')
  })

  test('sessions are listed and ended one by one; those of others are not there', async (service) => {
    const ada = await signedUp(service)
    const other = browserAt(service.url, ada.email)
    await other.call('POST', '/auth/login', { email: ada.email, password: PASSWORD })
    const query = '{ sessions { id current expiresAt } }'
    const { sessions } = (await ada.graphql(query)).body.data
    assert.equal(
      sessions.map(({ current }: { current: boolean }) => current),
      [false, true],
    )
    const revoke = (by: typeof ada, id: string) =>
      by.graphql('mutation ($id: ID!) { revokeSession(id: $id) }', { id })
    assertGraphQLRefused(await revoke(await signedUp(service), sessions[0].id), 404, 'RESOURCE_NOT_FOUND')
    assert.is((await revoke(ada, sessions[0].id)).body.data.revokeSession, true)
    assertRefused(await other.call('GET', '/users/@me'), 401, 'MISSING_AUTH')
    assert.is((await ada.graphql(query)).body.data.sessions.length, 1)
  })

  test('a session is always a new one, and a change of the password ends the others', async (service) => {
    const ada = await signedUp(service)
    const planted = ada.cookie
    await ada.call('POST', '/auth/login', { email: ada.email, password: PASSWORD })
    assert.is.not(ada.cookie, planted)
    const change = (password: string) =>
      ada.graphql(CHANGE, { input: { password, newPassword: 'another password' } })
    assertGraphQLRefused(await change('wrong password'), 401, 'INVALID_CREDENTIALS')
    assert.is((await change(PASSWORD)).body.data.changePassword, true)
    assert.is((await ada.call('GET', '/users/@me')).status, 200)
    const old = browserAt(service.url, ada.email, planted)
    assertRefused(await old.call('GET', '/users/@me'), 401, 'MISSING_AUTH')
    assert.is((await login(service, ada.email, 'another password')).status, 200)
  })

  test('what is no cookie of ours is nobody', async (service) => {
    const ada = await signedUp(service)
    const [head = '', payload = '', signature = ''] = ada.cookie.slice('token='.length).split('.')
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    for (const token of [
      'x',
      `${head}.${payload}.`,
      `${none}.${payload}.`,
      `${head}.${payload}x.${signature}`,
    ]) {
      const browser = browserAt(service.url, '', `token=${token}`)
      assertRefused(await browser.call('GET', '/users/@me'), 401, 'MISSING_AUTH')
    }
    service.clock.advance(8 * 24 * 60 * MINUTE)
    assertRefused(await ada.call('GET', '/users/@me'), 401, 'MISSING_AUTH')
  })

  test('a page of another site can neither change nor end anything', async (service) => {
    const { call, project } = service
    const ada = await member(service, 'OWNER')
    const { cookie } = ada
    const forged: Record<string, string>[] = [
      {},
      { origin: 'https://elsewhere.example' },
      { origin: 'null' },
      { origin: 'https://elsewhere.example', 'sec-fetch-site': 'same-origin' },
    ]
    for (const headers of forged) {
      const all = { headers: { ...headers, cookie, 'x-project-id': project.id }, body: { name: 'a' } }
      assertRefused(await call('POST', '/templates', all), 403, 'FORBIDDEN')
      const query = { ...all, body: { query: '{ me { id } }' } }
      assertGraphQLRefused(await call('POST', '/graphql', query), 403, 'FORBIDDEN')
    }
    const image = { cookie, 'sec-fetch-site': 'cross-site' }
    assertRefused(await call('GET', '/auth/logout', { headers: image }), 403, 'FORBIDDEN')
    assert.is((await ada.call('GET', '/users/@me')).status, 200)
    const key = { cookie, authorization: `Bearer ${project.secret}` }
    const withKey = await call('GET', '/templates', { headers: key })
    assert.is(withKey.status, 200, 'a key goes before a cookie')
  })
})

const closed = () => startService({ ROLES: 'http', DISABLE_SIGNUPS: 'true' })

scenario('DISABLE_SIGNUPS', closed, (test) => {
  test('lets the first user in, and only one of many at the same time', async (service) => {
    const body = (count: number) => ({ email: `u${count}@example.org`, password: PASSWORD })
    const all = [1, 2, 3, 4].map((count) => service.call('POST', '/auth/signup', { body: body(count) }))
    const answers = await Promise.all(all)
    assert.equal(answers.map(({ status }) => status).toSorted(), [201, 403, 403, 403])
    assert.is(answers.filter((answer) => cookieSetBy(answer)).length, 1)
    assert.is((await service.call('GET', '/config')).body.features.signup.disabled, true)
  })
})

const elsewhere = () =>
  startService({
    ROLES: 'http',
    API_URL: 'https://api.mail.example/mail',
    DASHBOARD_URL: 'https://dashboard.example',
    NODE_ENV: 'test',
  })

scenario('A dashboard on another site', elsewhere, (test) => {
  test('gets a cookie that its requests carry, and may change things with it', async (service) => {
    const email = 'ada@example.org'
    const origin = 'https://dashboard.example'
    const made = await service.call('POST', '/auth/signup', { body: { email, password: PASSWORD } })
    const [cookie = ''] = made.headers.getSetCookie()
    assert.match(cookie, /; Path=\/mail; Max-Age=604800; HttpOnly; SameSite=None; Secure$/)
    // Links of mails lead to the dashboard, which has such pages.
    assert.is((await service.call('GET', '/auth/signup')).status, 405)
    const headers = { cookie: cookieSetBy(made) ?? '', origin }
    assert.is((await service.call('GET', '/users/@me', { headers })).status, 200)
    const preflight = await service.call('OPTIONS', '/templates', { headers: { origin } })
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /x-project-id/)
  })
})
