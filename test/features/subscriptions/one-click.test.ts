import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { isSubscribed, newsletter, ONE_CLICK, oneClick } from './subscription-support.ts'

const start = () => startService({ ROLES: 'http' })

const BOUNDARY = 'AAAAA'
const PART = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--${BOUNDARY}--\r\n`

/** Both encodings that RFC 8058, 3.2 allows. */
const ENCODINGS = [
  ['application/x-www-form-urlencoded', ONE_CLICK],
  [`multipart/form-data; boundary=${BOUNDARY}`, PART],
]

scenario('Unsubscribing with one click', start, (test) => {
  test('is announced by the pair of headers, at a link of the recipient', async (service) => {
    const { email, token } = await newsletter(service, 'pair@example.org')
    assert.equal(email.headers, {
      'List-Unsubscribe': `<${service.url}/unsubscribe/${token}>`,
      'List-Unsubscribe-Post': ONE_CLICK,
    })
  })

  for (const [contentType = '', body] of ENCODINGS) {
    test(`takes ${contentType} and answers in few words`, async (service) => {
      const { contact, token } = await newsletter(service, 'click@example.org')
      const headers = { 'content-type': contentType, accept: '*/*' }
      const answer = await service.call('POST', `/unsubscribe/${token}`, { headers, body })
      assert.is(answer.status, 200)
      assert.is(answer.text, 'You are unsubscribed.\n')
      assert.is(answer.headers.get('content-type'), 'text/plain; charset=utf-8')
      assert.is(answer.headers.get('cache-control'), 'no-store')
      for (const name of ['set-cookie', 'location']) assert.is(answer.headers.get(name), null)
      assert.is(await isSubscribed(service, contact.id), false)
    })
  }

  test('answers a browser with a page', async (service) => {
    const { token } = await newsletter(service, 'browser@example.org')
    const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
    const answer = await service.call('POST', `/unsubscribe/${token}`, { headers })
    assert.is(answer.status, 200)
    assert.match(answer.headers.get('content-type') ?? '', 'text/html')
    assert.match(answer.text, '<h1>You are unsubscribed</h1>')
  })

  test('speaks the language of the contact', async (service) => {
    const { token } = await newsletter(service, 'sprache@example.org', { data: { locale: 'de' } })
    assert.is((await oneClick(service, token)).text, 'Sie sind abgemeldet.\n')
  })

  test('tells programs in the usual envelope that a link does not work', async (service) => {
    const { token } = await newsletter(service, 'dead@example.org')
    const answer = await oneClick(service, `${token.slice(0, -4)}AAAA`)
    assert.is(answer.status, 404)
    assert.is(answer.body.error.code, 'RESOURCE_NOT_FOUND')
    assert.match(answer.body.error.suggestion, 'Open the link from the email again')
  })
})
