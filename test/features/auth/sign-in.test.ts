import * as assert from 'uvu/assert'
import { browserAt, member, PASSWORD, signedUp } from '../../support/browser-session.ts'
import { sendBody } from '../../support/mailing.ts'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'

scenario('Signing in', startService, (test) => {
  test('signing up signs in, and the cookie is for this service and its pages alone', async (service) => {
    const browser = browserAt(service.url)
    const answer = await browser.call('POST', '/auth/signup', {
      email: 'Ada@Example.org',
      password: PASSWORD,
    })
    assert.is(answer.status, 201)
    assert.is(answer.body.email, 'ada@example.org')
    assert.is(answer.body.emailVerified, false)
    const [cookie = ''] = answer.headers.getSetCookie()
    assert.match(cookie, /^token=ey[\w.-]+; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/)
    const me = await browser.call('GET', '/users/@me')
    assert.equal(me.body, answer.body)
    const again = await browser.call('POST', '/auth/signup', { email: 'ada@example.org', password: PASSWORD })
    assertRefused(again, 409, 'CONFLICT')
  })

  test('logging in and out, over both doors', async (service) => {
    const { email } = await signedUp(service)
    const browser = browserAt(service.url, email)
    assertRefused(await browser.call('GET', '/users/@me'), 401, 'MISSING_AUTH')
    const login = await browser.call('POST', '/auth/login', { email, password: PASSWORD })
    assert.is(login.status, 200)
    const other = browserAt(service.url, email)
    const mutation = 'mutation ($input: LoginInput!) { login(input: $input) { email } }'
    assert.is(
      (await other.graphql(mutation, { input: { email, password: PASSWORD } })).body.data.login.email,
      email,
    )
    assert.is((await other.graphql('{ me { email } }')).body.data.me.email, email)
    const before = other.cookie
    assert.is((await other.call('GET', '/auth/logout')).status, 200)
    assert.is(other.cookie, 'token=')
    assertRefused(await browserAt(service.url, email, before).call('GET', '/users/@me'), 401, 'MISSING_AUTH')
    assert.is((await browser.call('GET', '/users/@me')).status, 200, 'the other session goes on')
  })

  test('a member works on the project that the header names, in their role', async (service) => {
    const { project } = service
    const browser = await member(service, 'MEMBER')
    const template = { name: 'a', subject: 'a', body: 'a', from: `a@${project.domain}` }
    assert.is((await browser.call('POST', '/templates', template, project.id)).status, 201)
    const sent = await browser.call('POST', '/v1/send', sendBody(project), project.id)
    assert.is(sent.status, 200)
    assert.is((await browser.graphql('{ templates { data { id } } }', {}, project.id)).status, 200)
    assertRefused(
      await browser.call('POST', '/domains', { domain: 'x.example' }, project.id),
      403,
      'FORBIDDEN',
    )
    assertRefused(await browser.call('GET', '/templates'), 400, 'BAD_REQUEST')
    const other = await service.newProject()
    assertRefused(await browser.call('GET', '/templates', undefined, other.id), 403, 'PROJECT_ACCESS_DENIED')
    assertRefused(await browser.call('GET', '/templates', undefined, 'x'), 403, 'PROJECT_ACCESS_DENIED')
    assert.is((await browser.call('GET', `/domains/project/${project.id}`)).status, 200)
    assertRefused(await browser.call('GET', `/domains/project/${other.id}`), 404, 'RESOURCE_NOT_FOUND')
  })
})
