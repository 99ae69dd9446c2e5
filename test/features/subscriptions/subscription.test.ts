import * as assert from 'uvu/assert'
import { deriveKey, sign } from '../../../src/lib/secrets.ts'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import { eventsOf, sent, withoutTrace } from '../sending/send-support.ts'
import { click, isSubscribed, tokenOf } from './subscription-support.ts'

const start = () => startService({ ROLES: 'http' })

type Page = 'unsubscribe' | 'subscribe' | 'manage'
const PAGES: Page[] = ['unsubscribe', 'subscribe', 'manage']

/** A contact, and the token of a link in a mail to it. */
async function linked(service: Service, to: string, subscribed = true) {
  const { contact, email } = await sent(service, { to, subscribed, body: '{{unsubscribeUrl}}' })
  return { contact, token: tokenOf(email.html) }
}

const open = ({ call }: Service, page: Page, token: string) => call('GET', `/${page}/${token}`)

/** As a browser does it. */
const press = ({ call }: Service, path = '') => call('POST', path, { headers: { accept: 'text/html' } })

/** The token with one character replaced. */
const changedAt = (token: string, index: number) =>
  `${token.slice(0, index)}${token[index] === 'A' ? 'B' : 'A'}${token.slice(index + 1)}`

scenario('The subscription pages', start, (test) => {
  for (const page of PAGES) {
    test(`GET /${page} shows the state and changes nothing`, async (service) => {
      const { contact, token } = await linked(service, `get-${page}@example.org`)
      const answer = await withoutTrace(service, () => open(service, page, token))
      assert.is(answer.status, 200)
      assert.match(answer.text, 'You are subscribed')
      assert.match(answer.headers.get('content-type') ?? '', 'text/html')
      assert.is(answer.headers.get('cache-control'), 'no-store')
      assert.is(await isSubscribed(service, contact.id), true)
    })
  }

  test('POST /unsubscribe unsubscribes, once, with an event', async (service) => {
    const { contact, token } = await linked(service, 'bye@example.org')
    for (let repeat = 0; repeat < 3; repeat += 1) {
      const answer = await click(service, 'unsubscribe', token)
      assert.is(answer.status, 200)
      assert.match(answer.text, 'You are unsubscribed')
    }
    assert.is(await isSubscribed(service, contact.id), false)
    assert.equal(await eventsOf(service, contact.id), [
      { name: 'contact.unsubscribed', data: { source: 'link' } },
    ])
  })

  test('POST /unsubscribe needs no body', async (service) => {
    const { contact, token } = await linked(service, 'no-body@example.org')
    assert.is((await service.call('POST', `/unsubscribe/${token}`)).status, 200)
    assert.is(await isSubscribed(service, contact.id), false)
  })

  test('POST /subscribe subscribes, once, with an event', async (service) => {
    const { contact, token } = await linked(service, 'back@example.org', false)
    await click(service, 'subscribe', token)
    assert.match((await click(service, 'subscribe', token)).text, 'You are subscribed')
    assert.is(await isSubscribed(service, contact.id), true)
    assert.equal(await eventsOf(service, contact.id), [
      { name: 'contact.subscribed', data: { source: 'link' } },
    ])
  })

  test('POST /manage is not possible, because it says nothing', async (service) => {
    const { contact, token } = await linked(service, 'manage@example.org', false)
    assert.is((await click(service, 'manage', token)).status, 405)
    assert.is(await isSubscribed(service, contact.id), false)
  })

  test('the buttons lead back and forth', async (service) => {
    const { token } = await linked(service, 'buttons@example.org')
    const action = (html: string) => /<form method="post" action="([^"]+)"/.exec(html)?.[1]
    const shown = await open(service, 'manage', token)
    assert.is(action(shown.text), `/unsubscribe/${token}`)
    const gone = await press(service, action(shown.text))
    assert.is(action(gone.text), `/subscribe/${token}`)
    const back = await press(service, action(gone.text))
    assert.is(action(back.text), `/unsubscribe/${token}`)
  })

  test('a link speaks for its own contact only', async (service) => {
    const { token } = await linked(service, 'one@example.org')
    const { contact } = await linked(service, 'other@example.org')
    await click(service, 'unsubscribe', token)
    assert.is(await isSubscribed(service, contact.id), true)
  })

  test('a link of a project that is disabled still unsubscribes', async (service) => {
    const { contact, token } = await linked(service, 'disabled@example.org')
    await service.sql('update projects set disabled = true where id = $1', [service.project.id])
    try {
      assert.is((await click(service, 'unsubscribe', token)).status, 200)
      assert.is(await isSubscribed(service, contact.id), false)
    } finally {
      await service.sql('update projects set disabled = false where id = $1', [service.project.id])
    }
  })

  for (const page of PAGES) {
    test(`a link to /${page} that was forged or cut is 404`, async (service) => {
      const { contact, token } = await linked(service, `forged-${page}@example.org`)
      const positions = [0, 21, 22, 43, 64, 70, token.length - 1]
      const forged = [
        ...positions.map((index) => changedAt(token, index)),
        token.slice(0, -1),
        token.slice(1),
        `${token}A`,
        `${token}=`,
        `${token}%00`,
        `${token}.`,
        token.toUpperCase(),
        'x',
        '%ff',
        'A'.repeat(token.length),
        'A'.repeat(5_000),
      ]
      for (const wrong of forged) {
        assert.is((await open(service, page, wrong)).status, 404, wrong)
        if (page !== 'manage') assert.is((await click(service, page, wrong)).status, 404, wrong)
      }
      assert.is(await isSubscribed(service, contact.id), true)
      assert.equal(await eventsOf(service, contact.id), [])
    })
  }

  test('a link to a contact that was deleted is 404', async (service) => {
    const { contact, token } = await linked(service, 'deleted@example.org')
    await service.sql('delete from contacts where id = $1', [contact.id])
    for (const page of PAGES) assert.is((await open(service, page, token)).status, 404)
    const clicks = () =>
      Promise.all([click(service, 'unsubscribe', token), click(service, 'subscribe', token)])
    for (const { status } of await withoutTrace(service, clicks)) assert.is(status, 404)
  })

  test('a link does not follow a contact to another address', async (service) => {
    const { contact, token } = await linked(service, 'before@example.org')
    const key = service.project.secret
    const change = (email: string) => service.as(key).patch(`/contacts/${contact.id}`, { email })
    assert.is((await change('after@example.org')).status, 200)
    const { token: own } = await linked(service, 'after@example.org')
    for (const page of PAGES) {
      assert.is((await open(service, page, token)).status, 404)
      assert.is((await open(service, page, own)).status, 200)
    }
    assert.is((await click(service, 'unsubscribe', token)).status, 404)
    assert.is(await isSubscribed(service, contact.id), true)
    assert.is((await click(service, 'unsubscribe', own)).status, 200)
    assert.is((await click(service, 'subscribe', token)).status, 404)
    assert.is(await isSubscribed(service, contact.id), false)
    await change('before@example.org')
    assert.is((await click(service, 'subscribe', token)).status, 200)
    assert.is(await isSubscribed(service, contact.id), true)
  })

  test('a link that is signed without an address is one of the address of its mail', async (service) => {
    const { contact, token } = await linked(service, 'unsigned@example.org')
    const ids = Buffer.from(token, 'base64url').subarray(0, 48)
    const { encryptionSecret } = service.app.config
    const signature = sign(deriveKey(encryptionSecret, 'mailwright subscription links'), ids, 16)
    const old = Buffer.concat([ids, signature]).toString('base64url')
    assert.is.not(old, token)
    assert.is((await click(service, 'unsubscribe', old)).status, 200)
    assert.is(await isSubscribed(service, contact.id), false)
    await service.sql("update contacts set email = 'elsewhere@example.org' where id = $1", [contact.id])
    assert.is((await click(service, 'subscribe', old)).status, 404)
    assert.is(await isSubscribed(service, contact.id), false)
  })

  test('many clicks at once make one event', async (service) => {
    const { contact, token } = await linked(service, 'clicks@example.org')
    await Promise.all(Array.from({ length: 20 }, () => click(service, 'unsubscribe', token)))
    assert.is((await eventsOf(service, contact.id)).length, 1)
  })
})
