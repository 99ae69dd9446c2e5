import PostalMime from 'postal-mime'
import * as assert from 'uvu/assert'
import type { DeliveryResult } from '../../src/mail/mailer.ts'
import { createSesMailer, type SesOptions } from '../../src/mail/ses/ses.ts'
import { scenario } from '../support/scenario.ts'
import { type SesAnswer, startSesApi } from '../support/ses-api.ts'
import { dkimKey, dkimResults, mailWith } from './support.ts'

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret-of-the-key' }

/** What Amazon documents that SendEmail answers, or is known to: status, error, words, and what it comes to. */
const ANSWERS: [number, string, string, DeliveryResult['kind'], string?][] = [
  [400, 'MessageRejected', 'Address blacklisted.', 'permanent'],
  [400, 'BadRequestException', 'Local address contains control or whitespace', 'permanent'],
  [
    400,
    'MessageRejected',
    'Email address is not verified. The following identities failed',
    'provider',
    'domain',
  ],
  [400, 'MailFromDomainNotVerifiedException', 'MAIL FROM domain', 'provider', 'domain'],
  [400, 'SendingPausedException', 'Email sending is disabled for your account.', 'provider', 'account'],
  [400, 'AccountSuspendedException', 'Your account is suspended', 'provider', 'account'],
  [429, 'TooManyRequestsException', 'Maximum sending rate exceeded.', 'provider', 'account'],
  [400, 'LimitExceededException', 'Daily message quota exceeded.', 'provider', 'account'],
  [400, 'ThrottlingException', 'Rate exceeded', 'provider', 'account'],
  [404, 'NotFoundException', 'Configuration set <news> does not exist.', 'provider', 'account'],
  [403, 'UnrecognizedClientException', 'The security token is invalid.', 'provider', 'account'],
  [403, 'SignatureDoesNotMatch', 'The request signature does not match', 'provider', 'account'],
  [403, 'AccessDeniedException', 'User is not authorized to perform ses:SendEmail', 'provider', 'account'],
  [500, 'InternalServerErrorException', 'Internal failure', 'temporary'],
  [503, 'ServiceUnavailable', 'Slow down', 'temporary'],
]

scenario('Amazon SES', startSesApi, (test) => {
  const optionsOf = (url: string): SesOptions => ({
    ...{ region: 'eu-west-1', endpoint: url, credentials, configurationSet: null, timeoutMs: 5_000 },
  })

  async function sendOnce(options: SesOptions): Promise<DeliveryResult> {
    const mailer = createSesMailer(options)
    const result = await mailer.send(mailWith())
    await mailer.close()
    return result
  }

  test('takes the finished message, with a tag and the configuration set', async ({ url, emails }) => {
    const mailer = createSesMailer({ ...optionsOf(url), configurationSet: 'news' })
    const result = await mailer.send(
      mailWith({
        from: { address: 'a@bücher.example', name: 'Bücher' },
        to: { address: 'ann@münchen.example', name: 'Ann, B.' },
        subject: 'Grüße 👋',
        dkim: dkimKey,
        attachments: [
          {
            filename: 'a.bin',
            content: Buffer.alloc(300_000, 255),
            contentType: 'x/y',
            disposition: 'attachment',
          },
        ],
      }),
    )
    await mailer.close()
    assert.equal(result, { kind: 'sent', providerMessageId: '0100-1-000000' })
    const [email] = emails
    assert.is(email?.FromEmailAddress, 'a@xn--bcher-kva.example')
    assert.equal(email?.Destination.ToAddresses, ['ann@xn--mnchen-3ya.example'])
    assert.is(email?.ConfigurationSetName, 'news')
    assert.equal(email?.EmailTags, [{ Name: 'email_id', Value: mailWith().emailId }])
    const raw = Buffer.from(email?.Content.Raw.Data ?? '', 'base64')
    const read = await PostalMime.parse(raw)
    assert.is(read.subject, 'Grüße 👋')
    assert.equal(read.attachments[0]?.content, new Uint8Array(300_000).fill(255).buffer)
    assert.equal(await dkimResults(raw), ['pass'])
  })

  for (const [status, error, message, kind, scope] of ANSWERS) {
    test(`"${message}" (${error}, ${status}) is ${scope ?? kind}`, async ({ url, state }) => {
      state.answer = () => ({ status, error, message })
      const result = await sendOnce(optionsOf(url))
      assert.is(result.kind, kind)
      if (result.kind === 'sent') return
      assert.is(result.reason, `Amazon SES: ${message} (${status})`)
      assert.is(result.kind === 'provider' ? result.scope : undefined, scope)
    })
  }

  test('a message is handed over once: what is tried again is decided elsewhere', async ({
    url,
    state,
    calls,
  }) => {
    state.answer = () => ({ status: 500, error: 'InternalServerErrorException', message: 'x' })
    const before = calls.length
    await sendOnce(optionsOf(url))
    assert.is(calls.length, before + 1)
  })

  test('an answer that does not come is doubted', async ({ url, state }) => {
    state.answer = () => null
    const result = await sendOnce({ ...optionsOf(url), timeoutMs: 300 })
    assert.equal(result, { ...result, kind: 'temporary', uncertain: true })
  })

  test('a place where nothing answers concerns the operator', async () => {
    const result = await sendOnce(optionsOf('http://127.0.0.1:1'))
    assert.equal(result, { ...result, kind: 'provider', scope: 'account' })
    assert.match(result.kind === 'provider' ? result.advice : '', 'SES_ENDPOINT')
  })

  test('a key that is not right concerns the operator, and a check finds it', async ({ url, state }) => {
    state.answer = () => undefined
    const options = { ...optionsOf(url), credentials: { ...credentials, accessKeyId: 'AKIDOTHER' } }
    const result = await sendOnce(options)
    assert.match(result.kind === 'provider' ? result.advice : '', 'AWS_ACCESS_KEY_ID')
    const mailer = createSesMailer(options)
    assert.match((await mailer.check())?.advice ?? '', 'AWS_ACCESS_KEY_ID')
    await mailer.close()
  })

  test('a check asks for the account', async ({ url, state, calls }) => {
    const mailer = createSesMailer(optionsOf(url))
    state.answer = () => undefined
    assert.is(await mailer.check(), null)
    assert.is(calls.at(-1), 'GET /v2/email/account')
    state.sendingEnabled = false
    assert.match((await mailer.check())?.reason ?? '', 'paused')
    state.sendingEnabled = true
    // What a key gets that may only send.
    const mayOnlySend: SesAnswer = { status: 403, error: 'AccessDeniedException', message: 'not authorized' }
    state.answer = () => mayOnlySend
    assert.is(await mailer.check(), null)
    await mailer.close()
  })

  test('a message that cannot be composed never leaves', async ({ url, state, calls }) => {
    state.answer = () => undefined
    const before = calls.length
    const mailer = createSesMailer(optionsOf(url))
    assert.is((await mailer.send(mailWith({ from: { address: 'nobody' } }))).kind, 'permanent')
    await mailer.close()
    assert.is(calls.length, before)
  })
})
