import * as assert from 'uvu/assert'
import { sendServiceMail } from '../../../src/features/service-mail/service-mail.ts'
import { browserAt, join, PASSWORD, signedUp } from '../../support/browser-session.ts'
import { HOUR, MINUTE } from '../../support/clock.ts'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService, until } from '../../support/service.ts'

type Mail = { id: string; to: string; subject: string }

/** The mails of the service to an address, once there are so many. */
const mailsTo = (service: Service, email: string, count: number): Promise<Mail[]> =>
  until(`${count} mails to ${email}`, async () => {
    const { body } = await service.call('GET', `/mailbox/messages?to=${encodeURIComponent(email)}`)
    return body.data.length >= count && body.data
  })

const VERIFICATION = 'Confirm your address'
const RESET = 'Set a new password'

/** The tokens in the mails of this subject to an address, once there are so many. */
async function tokensIn(service: Service, email: string, subject: string, count: number): Promise<string[]> {
  const mails = await until(subject, async () => {
    const found = (await mailsTo(service, email, 0)).filter((one) => one.subject === subject)
    return found.length >= count && found
  })
  return Promise.all(
    mails.map(async ({ id }) => {
      const { text } = await service.call('GET', `/mailbox/messages/${id}/html`)
      const token = /\?token=([\w-]+)/.exec(text)?.[1]
      if (!token) throw new Error(`there is no token in ${text}`)
      return token
    }),
  )
}

async function tokenIn(service: Service, email: string, subject: string): Promise<string> {
  const [token = ''] = await tokensIn(service, email, subject, 1)
  return token
}

const queueIsEmpty = (service: Service) =>
  until('the queue is empty', async () => {
    const [row] = await service.sql(
      `select count(*)::int as count from pgboss.job where name = 'service-mail.send' and state < 'completed'`,
    )
    return row?.count === 0
  })

const passwordOf = (email: string, password: string) => ({ email, password })

scenario("The service's own mails", startService, (test) => {
  test('an address is verified once, by the mail that signing up sends', async (service) => {
    const ada = await signedUp(service, { verified: false })
    await join(service, ada, service.project, 'OWNER')
    const template = { name: 'a', subject: 'a', body: 'a', from: `a@${service.project.domain}` }
    const create = () => ada.call('POST', '/templates', template, service.project.id)
    assertRefused(await create(), 403, 'EMAIL_VERIFICATION_REQUIRED')
    assert.is((await ada.call('GET', '/templates', undefined, service.project.id)).status, 200)
    const token = await tokenIn(service, ada.email, VERIFICATION)
    const verified = await browserAt(service.url).call('POST', '/auth/verify-email', { token })
    assert.is(verified.body.emailVerified, true)
    assert.is((await create()).status, 201)
    assertRefused(await ada.call('POST', '/auth/verify-email', { token }), 422, 'VALIDATION_ERROR')
  })

  test('an invitation is accepted by who has shown that the address is theirs', async (service) => {
    const { project, sql } = service
    const email = 'invited@example.org'
    await sql(
      `insert into invitations (project_id, email, role, created_at) values ($1, $2, 'ADMIN', now())`,
      [project.id, email],
    )
    const stranger = browserAt(service.url, email)
    assert.is((await stranger.call('POST', '/auth/signup', passwordOf(email, PASSWORD))).status, 201)
    const read = () => stranger.call('GET', '/templates', undefined, project.id)
    assertRefused(await read(), 403, 'PROJECT_ACCESS_DENIED')
    const token = await tokenIn(service, email, VERIFICATION)
    assert.is((await stranger.call('POST', '/auth/verify-email', { token })).status, 200)
    assert.is((await read()).status, 200)
    const [left] = await sql('select from invitations where email = $1', [email])
    assert.is(left, undefined)
  })

  test('a reset sets the password once, and ends every session', async (service) => {
    const ada = await signedUp(service)
    const stranger = browserAt(service.url)
    assert.is((await stranger.call('POST', '/auth/request-password-reset', { email: ada.email })).status, 200)
    const token = await tokenIn(service, ada.email, RESET)
    const body = { token, password: 'another password' }
    assert.is((await stranger.call('POST', '/auth/reset-password', body)).status, 200)
    assertRefused(await ada.call('GET', '/users/@me'), 401, 'MISSING_AUTH')
    assertRefused(await stranger.call('POST', '/auth/reset-password', body), 422, 'VALIDATION_ERROR')
    const before = await stranger.call('POST', '/auth/login', passwordOf(ada.email, PASSWORD))
    assertRefused(before, 401, 'INVALID_CREDENTIALS')
    const after = await stranger.call('POST', '/auth/login', passwordOf(ada.email, body.password))
    assert.is(after.status, 200)
  })

  test('a reset lets in who was locked out by wrong passwords', async (service) => {
    const ada = await signedUp(service)
    const stranger = browserAt(service.url)
    const signIn = (password: string) => stranger.call('POST', '/auth/login', passwordOf(ada.email, password))
    for (let count = 0; count < 10; count += 1) await signIn('a wrong password')
    assertRefused(await signIn(PASSWORD), 429, 'RATE_LIMIT_EXCEEDED')
    await stranger.call('POST', '/auth/request-password-reset', { email: ada.email })
    const token = await tokenIn(service, ada.email, RESET)
    const password = 'another password'
    assert.is((await stranger.call('POST', '/auth/reset-password', { token, password })).status, 200)
    assert.is((await signIn(password)).status, 200)
  })

  test('a password that was set ends the links of all mails that would set another one', async (service) => {
    const ada = await signedUp(service)
    const stranger = browserAt(service.url)
    const reset = (token: string, password: string) =>
      stranger.call('POST', '/auth/reset-password', { token, password })
    const asked = async (count: number) => {
      await stranger.call('POST', '/auth/request-password-reset', { email: ada.email })
      return tokensIn(service, ada.email, RESET, count)
    }
    await asked(1)
    const [first = '', second = ''] = await asked(2)
    assert.is((await reset(first, 'another password')).status, 200)
    assertRefused(await reset(second, 'a third password'), 422, 'VALIDATION_ERROR')
    // An account gets three mails an hour.
    service.clock.advance(HOUR + MINUTE)
    await ada.call('POST', '/auth/login', passwordOf(ada.email, 'another password'))
    const [third = ''] = (await asked(3)).filter((token) => ![first, second].includes(token))
    const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) }'
    const input = { password: 'another password', newPassword: 'a fourth password' }
    assert.equal((await ada.graphql(change, { input })).body.data, { changePassword: true })
    assertRefused(await reset(third, 'a fifth password'), 422, 'VALIDATION_ERROR')
  })

  test('a token of one purpose is none for another, and ends after an hour', async (service) => {
    const ada = await signedUp(service, { verified: false })
    const token = await tokenIn(service, ada.email, VERIFICATION)
    const reset = { token, password: 'another password' }
    assertRefused(await ada.call('POST', '/auth/reset-password', reset), 422, 'VALIDATION_ERROR')
    service.clock.advance(HOUR + MINUTE)
    assertRefused(await ada.call('POST', '/auth/verify-email', { token }), 422, 'VALIDATION_ERROR')
  })

  test('an account gets three mails an hour, whoever asks', async (service) => {
    const ada = await signedUp(service, { verified: false })
    const ask = () => ada.call('POST', '/auth/request-verification')
    const reset = { email: ada.email }
    for (let count = 0; count < 4; count += 1) {
      assert.is((await ask()).status, 200)
      assert.is((await ada.call('POST', '/auth/request-password-reset', reset)).status, 200)
    }
    await mailsTo(service, ada.email, 3)
    await queueIsEmpty(service)
    assert.is((await mailsTo(service, ada.email, 3)).length, 3)
    service.clock.advance(HOUR + MINUTE)
    await ask()
    await mailsTo(service, ada.email, 4)
  })

  test('mails that are asked for together follow each other at once', async (service) => {
    await service.ctx().atomically(async (tx) => {
      for (let index = 0; index < 100; index += 1) {
        await sendServiceMail(tx, { to: `crowd${index}@example.org`, subject: 'News', paragraphs: ['Hello'] })
      }
    })
    await queueIsEmpty(service)
    await mailsTo(service, 'crowd99@example.org', 1)
  })

  test('no answer and no mail tells whether an address has an account', async (service) => {
    const ada = await signedUp(service)
    const { call } = service
    const [asked, unknown] = await Promise.all(
      [ada.email, 'nobody@example.org'].map((email) =>
        call('POST', '/auth/request-password-reset', { body: { email } }),
      ),
    )
    assert.is(asked?.text, unknown?.text)
    assert.is(asked?.status, unknown?.status)
    await tokenIn(service, ada.email, RESET)
    await queueIsEmpty(service)
    const { body } = await call('GET', '/mailbox/messages?to=nobody@example.org')
    assert.equal(body.data, [])
  })

  test('tokens are in the database as hashes only', async (service) => {
    const ada = await signedUp(service, { verified: false })
    const token = await tokenIn(service, ada.email, VERIFICATION)
    const tables = await service.sql<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')`,
    )
    for (const { name } of tables) {
      const found = await service.sql(`select from ${name} as t where t::text like $1`, [`%${token}%`])
      assert.is(found.length, 0, name)
    }
  })
})
