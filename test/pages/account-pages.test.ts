import { Secret, TOTP } from 'otpauth'
import * as assert from 'uvu/assert'
import { browserAt, member, PASSWORD, signedUp } from '../support/browser-session.ts'
import { MINUTE } from '../support/clock.ts'
import { assertRefused } from '../support/refusals.ts'
import { scenario } from '../support/scenario.ts'
import { type Service, startService, until } from '../support/service.ts'
import { assertSound, assertTabOrder, startBrowser, type Visit, visit } from './browser.ts'

async function start() {
  const [browser, service] = await Promise.all([startBrowser(), startService()])
  const stop = async () => {
    await Promise.all([browser.close(), service.stop()])
  }
  return { browser, service, stop }
}

/** The link in the mail of this subject to an address, once it is there. */
async function linkIn(service: Service, to: string, subject: string): Promise<string> {
  const { id } = await until(subject, async () => {
    const { body } = await service.call('GET', `/mailbox/messages?to=${encodeURIComponent(to)}`)
    return body.data.find((mail: { subject: string }) => mail.subject === subject)
  })
  const { text } = await service.call('GET', `/mailbox/messages/${id}/html`)
  const link = /href="([^"]+\/auth\/[^"]+)"/.exec(text)?.[1]
  if (!link) throw new Error(`there is no link in ${text}`)
  return link
}

const heading = ({ page }: Visit, name: string) => page.getByRole('heading', { name, exact: true }).waitFor()

const fill = ({ page }: Visit, label: string, text: string) => page.getByLabel(label).fill(text)

/** What the browser reports of a form that was refused, and of nothing else. */
function assertRefusedOnce({ complaints }: Visit, status: number): void {
  assert.is(complaints.length, 1, complaints.join('\n'))
  assert.match(complaints.pop() ?? '', `status of ${status}`)
}

const isVerified = async ({ sql }: Service, email: string) => {
  const [row] = await sql('select from users where email = $1 and email_verified_at is not null', [email])
  return row !== undefined
}

scenario('Pages behind the mails of the service, in a browser', start, (test) => {
  test('lead from an invitation into the project, by keyboard', async ({ browser, service }) => {
    const owner = await member(service, 'OWNER')
    const { body: projects } = await owner.call('GET', '/users/@me/projects')
    const [project] = projects
    const email = 'grace@example.org'
    const invited = await owner.call('POST', `/projects/${project.id}/members`, { email, role: 'MEMBER' })
    assert.is(invited.status, 201, invited.text)
    const visited = await visit(browser, await linkIn(service, email, `You are invited to ${project.name}`))
    const { page } = visited
    await heading(visited, 'Create an account')
    await assertSound(visited, 'signup')
    await assertTabOrder(visited, ['Email', 'Password, at least 8 characters', 'Create the account'])
    await fill(visited, 'Email', email)
    await fill(visited, 'Password', PASSWORD)
    await page.keyboard.press('Enter')
    await heading(visited, 'Confirm your address')
    await assertSound(visited, 'account-unverified')
    await page.getByRole('button', { name: 'Send another mail' }).press('Enter')
    await heading(visited, 'Look into your mail')
    await assertSound(visited, 'verification-sent')
    const link = await linkIn(service, email, 'Confirm your address')
    for (let looks = 0; looks < 2; looks += 1) await page.goto(link)
    assert.not(await isVerified(service, email), 'a look changes nothing')
    await assertSound(visited, 'verify-email')
    await assertTabOrder(visited, ['Confirm the address'])
    await page.keyboard.press('Enter')
    await heading(visited, 'Your address is confirmed')
    await assertSound(visited, 'verified')
    assert.ok(await isVerified(service, email))
    await page.getByRole('link', { name: 'Go on to your account' }).press('Enter')
    await heading(visited, 'You are signed in')
    assert.match(await page.getByRole('listitem').innerText(), `${project.name} MEMBER`)
    await assertSound(visited, 'account')
    await page.goto(link)
    await page.getByRole('button').press('Enter')
    await heading(visited, 'This link does not work')
    assertRefusedOnce(visited, 422)
    await assertSound(visited, 'dead-link')
    await visited.close()
  })

  test('set another password, for who has forgotten it', async ({ browser, service }) => {
    const ada = await signedUp(service)
    const visited = await visit(browser, `${service.url}/auth/login`)
    const { page } = visited
    await assertSound(visited, 'login')
    await assertTabOrder(visited, ['Email', 'Password', 'Sign in', 'I have forgotten the password'])
    await page.keyboard.press('Enter')
    await heading(visited, 'Forgotten the password?')
    await assertSound(visited, 'request-password-reset')
    await fill(visited, 'Email', ada.email)
    await page.keyboard.press('Enter')
    await heading(visited, 'Look into your mail')
    await page.goto(await linkIn(service, ada.email, 'Set a new password'))
    await assertSound(visited, 'reset-password')
    await fill(visited, 'New password', 'another good password')
    await page.keyboard.press('Enter')
    await heading(visited, 'Your new password is set')
    await assertSound(visited, 'password-set')
    assertRefused(await ada.call('GET', '/users/@me'), 401, 'MISSING_AUTH')
    await page.getByRole('link', { name: 'Sign in' }).press('Enter')
    await fill(visited, 'Email', ada.email)
    await fill(visited, 'Password', PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    assertRefusedOnce(visited, 401)
    await assertSound(visited, 'login-refused')
    assert.is(await page.getByLabel('Email').inputValue(), ada.email)
    assert.is(await page.getByLabel('Password').inputValue(), '')
    await fill(visited, 'Password', 'another good password')
    await page.keyboard.press('Enter')
    await heading(visited, 'You are signed in')
    await page.getByRole('button', { name: 'Sign out' }).press('Enter')
    await heading(visited, 'Sign in')
    await page.goto(`${service.url}/auth/account`)
    assert.match(page.url(), /\/auth\/login$/)
    await visited.close()
  })

  test('ask for the code of a second factor', async ({ browser, service }) => {
    const ada = await signedUp(service)
    const begun = await ada.graphql(
      `mutation { beginSecondFactor(input: { password: "${PASSWORD}" }) { secret } }`,
    )
    const totp = new TOTP({ secret: Secret.fromBase32(begun.body.data.beginSecondFactor.secret) })
    const code = () => totp.generate({ timestamp: service.clock.now().getTime() })
    await ada.graphql(`mutation { confirmSecondFactor(input: { code: "${code()}" }) }`)
    service.clock.advance(MINUTE)
    const visited = await visit(browser, `${service.url}/auth/login`)
    const { page } = visited
    await fill(visited, 'Email', ada.email)
    await fill(visited, 'Password', PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    assertRefusedOnce(visited, 401)
    await assertSound(visited, 'login-code')
    await fill(visited, 'Password', PASSWORD)
    await fill(visited, 'Code', code())
    await page.keyboard.press('Enter')
    await heading(visited, 'You are signed in')
    await visited.close()
  })

  test('take forms of their own only, and nothing of what was entered as markup', async ({ service }) => {
    const { url } = service
    const ada = await signedUp(service)
    const post = (form: string, fields: Record<string, string>, headers: Record<string, string>) =>
      fetch(`${url}/auth/forms/${form}`, {
        method: 'POST',
        body: new URLSearchParams(fields),
        headers: { accept: 'text/html', ...headers },
        redirect: 'manual',
      })
    const credentials = { email: ada.email, password: PASSWORD }
    for (const headers of [{}, { origin: 'https://evil.example' }, { origin: 'null' }]) {
      assert.is((await post('login', credentials, headers)).status, 403)
      assert.is((await post('logout', {}, { cookie: ada.cookie, ...headers })).status, 403)
    }
    assert.is((await ada.call('GET', '/users/@me')).status, 200, 'still signed in')
    const signedIn = await post('login', credentials, { origin: url })
    assert.equal([signedIn.status, signedIn.headers.get('location')], [303, '/auth/account'])
    assert.match(signedIn.headers.get('set-cookie') ?? '', /^token=.*HttpOnly; SameSite=Lax$/)
    const json = await post('login', credentials, { origin: url, 'content-type': 'application/json' })
    assert.is(json.status, 415)
    const long = await post('login', { ...credentials, password: 'x'.repeat(20_000) }, { origin: url })
    assert.is(long.status, 413)
    assert.is((await post('constructor', {}, { origin: url })).status, 404)
    assert.is((await post('request-verification', {}, { origin: url })).status, 401)
    const markup = await post('login', { email: '"><b>x</b>', password: 'x' }, { origin: url })
    assert.is(markup.status, 422)
    assert.not.match(await markup.text(), '<b>')
    const token = await service.call('GET', '/auth/verify-email?token=%22%3E%3Cb%3Ex')
    assert.is(token.status, 200)
    assert.not.match(token.text, '<b>')
    const scanner = browserAt(url)
    assert.is((await scanner.call('GET', '/auth/forms/verify-email')).status, 405)
  })
})
