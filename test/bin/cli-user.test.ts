import * as assert from 'uvu/assert'
import { browserAt, PASSWORD } from '../support/browser-session.ts'
import { assertRefused } from '../support/refusals.ts'
import { scenario } from '../support/scenario.ts'
import { startService } from '../support/service.ts'
import { commands, withCommands } from './cli-process.ts'

const start = async () => withCommands(await startService({ ROLES: 'http', DISABLE_SIGNUPS: 'true' }))

scenario('cli user', start, (test) => {
  test('create makes a verified account, also where nobody may sign up', async ({
    env,
    url,
    sql,
    project,
  }) => {
    const email = 'ada@example.org'
    await sql(
      `insert into invitations (project_id, email, role, created_at) values ($1, $2, 'MEMBER', now())`,
      [project.id, email],
    )
    const made = await commands(env).json([
      'user',
      'create',
      '--email',
      'Ada@Example.org',
      '--password',
      PASSWORD,
    ])
    assert.is(made.email, email)
    const browser = browserAt(url, email)
    const login = await browser.call('POST', '/auth/login', { email, password: PASSWORD })
    assert.is(login.body.id, made.id)
    assert.is(login.body.emailVerified, true)
    assert.is((await browser.call('GET', '/templates', undefined, project.id)).status, 200)
    const again = await commands(env).run(['user', 'create', '--email', email, '--password', PASSWORD])
    assert.is(again.code, 1)
    assert.match(again.stderr, /There is an account with this address already/)
    const [listed] = await commands(env).json(['user', 'list'])
    assert.equal(Object.keys(listed), ['id', 'email', 'emailVerified', 'createdAt'])
    assert.is(listed.email, email)
    const short = await commands(env).run([
      'user',
      'create',
      '--email',
      'x@example.org',
      '--password',
      'short',
    ])
    assert.match(short.stderr, /--password/)
  })

  test('reset-password ends the sessions', async ({ env, url }) => {
    const email = 'grace@example.org'
    await commands(env).json(['user', 'create', '--email', email, '--password', PASSWORD])
    const browser = browserAt(url, email)
    await browser.call('POST', '/auth/login', { email, password: PASSWORD })
    await commands(env).json(['user', 'reset-password', '--email', email, '--password', 'another password'])
    assertRefused(await browser.call('GET', '/users/@me'), 401, 'MISSING_AUTH')
    const login = await browser.call('POST', '/auth/login', { email, password: 'another password' })
    assert.is(login.status, 200)
    const unknown = await commands(env).run([
      'user',
      'reset-password',
      '--email',
      'x@example.org',
      '--password',
      PASSWORD,
    ])
    assert.match(unknown.stderr, /There is no account with the address x@example.org/)
  })
})
