import { Secret, TOTP } from 'otpauth'
import * as assert from 'uvu/assert'
import { type BrowserSession, browserAt, PASSWORD, signedUp } from '../../support/browser-session.ts'
import { MINUTE } from '../../support/clock.ts'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'

const BEGIN = 'mutation ($input: BeginSecondFactorInput!) { beginSecondFactor(input: $input) { secret uri } }'
const CONFIRM = 'mutation ($input: ConfirmSecondFactorInput!) { confirmSecondFactor(input: $input) }'
const REMOVE = 'mutation ($input: RemoveSecondFactorInput!) { removeSecondFactor(input: $input) }'

const codeOf = (secret: string, { clock }: Service) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.now().getTime() })

async function protect(service: Service, browser: BrowserSession) {
  const begun = await browser.graphql(BEGIN, { input: { password: PASSWORD } })
  const { secret, uri } = begun.body.data.beginSecondFactor
  assert.match(uri, new RegExp(`^otpauth://totp/Mailwright:.*secret=${secret}`))
  const confirmed = await browser.graphql(CONFIRM, { input: { code: codeOf(secret, service) } })
  const recoveryCodes: string[] = confirmed.body.data.confirmSecondFactor
  assert.is(new Set(recoveryCodes).size, 10)
  return { secret, recoveryCodes }
}

const login = (service: Service, { email }: BrowserSession, code?: string) =>
  browserAt(service.url).call('POST', '/auth/login', { email, password: PASSWORD, ...(code && { code }) })

scenario(
  'A second factor',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('is asked for once it is confirmed, and each code is good once', async (service) => {
      const ada = await signedUp(service)
      const begun = await ada.graphql(BEGIN, { input: { password: PASSWORD } })
      assert.ok(begun.body.data.beginSecondFactor)
      assert.is((await login(service, ada)).status, 200, 'what is not confirmed does not count')
      const wrong = await ada.graphql(CONFIRM, { input: { code: '000000' } })
      assertGraphQLRefused(wrong, 422, 'VALIDATION_ERROR')
      const { secret } = await protect(service, ada)
      const error = assertRefused(await login(service, ada), 401, 'INVALID_CREDENTIALS')
      assert.equal(error.details, { reason: 'second_factor_needed' })
      service.clock.advance(MINUTE)
      const code = codeOf(secret, service)
      assert.is((await login(service, ada, code)).status, 200)
      assertRefused(await login(service, ada, code), 401, 'INVALID_CREDENTIALS')
      assertRefused(await login(service, ada, '000000'), 401, 'INVALID_CREDENTIALS')
    })

    test('recovery codes are good once, however they are written', async (service) => {
      const ada = await signedUp(service)
      const { recoveryCodes } = await protect(service, ada)
      const [first = '', second = ''] = recoveryCodes
      assert.is((await login(service, ada, first)).status, 200)
      assertRefused(await login(service, ada, first), 401, 'INVALID_CREDENTIALS')
      assert.is((await login(service, ada, second.toUpperCase().replaceAll('-', ' '))).status, 200)
    })

    test('the password alone neither removes it nor makes another one', async (service) => {
      const ada = await signedUp(service)
      const { recoveryCodes } = await protect(service, ada)
      const [first = '', second = ''] = recoveryCodes
      const remove = (code?: string) => ada.graphql(REMOVE, { input: { password: PASSWORD, code } })
      assertGraphQLRefused(await remove(), 401, 'INVALID_CREDENTIALS')
      const again = await ada.graphql(BEGIN, { input: { password: PASSWORD } })
      assertGraphQLRefused(again, 401, 'INVALID_CREDENTIALS')
      assert.is((await remove(first)).body.data.removeSecondFactor, true)
      assert.is((await login(service, ada)).status, 200)
      assert.is((await ada.graphql('{ me { secondFactor } }')).body.data.me.secondFactor, false)
      assertGraphQLRefused(await remove('x'.repeat(51)), 422, 'VALIDATION_ERROR')
      assert.ok(second)
    })

    test('wrong codes lock the account, wherever they come from', async (service) => {
      const ada = await signedUp(service)
      const { recoveryCodes } = await protect(service, ada)
      for (let count = 0; count < 10; count += 1) {
        assertRefused(await login(service, ada, '000000'), 401, 'INVALID_CREDENTIALS')
        await service.sql(`delete from sign_in_failures where address <> '*'`)
      }
      assertRefused(await login(service, ada, recoveryCodes[0]), 429, 'RATE_LIMIT_EXCEEDED')
    })

    test('neither secret nor codes are in the database in the clear', async (service) => {
      const ada = await signedUp(service)
      const { secret, recoveryCodes } = await protect(service, ada)
      for (const text of [secret, ...recoveryCodes]) {
        const found = await service.sql('select from users as u where u::text ilike $1', [`%${text}%`])
        assert.is(found.length, 0)
      }
    })
  },
)
