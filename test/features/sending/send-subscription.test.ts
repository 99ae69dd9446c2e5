import * as assert from 'uvu/assert'
import { assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Body, type Service, startService } from '../../support/service.ts'
import { delivered, eventsOf, send, sendByGraphQL, sent, templateOf, withoutTrace } from './send-support.ts'

const start = sharedStart(() => startService({ ROLES: 'http' }))

const BARE = { from: undefined, subject: undefined, body: undefined }

const subscribedEvent = { name: 'contact.subscribed', data: { source: 'send' } }
const unsubscribedEvent = { name: 'contact.unsubscribed', data: { source: 'send' } }

/** What `subscribed` was before, what the request says, what it is afterwards, and the events of it. */
const CHANGES: [before: boolean, given: boolean | undefined, after: boolean, events: object[]][] = [
  [true, undefined, true, []],
  [false, undefined, false, []],
  [true, true, true, []],
  [false, false, false, []],
  [true, false, false, [unsubscribedEvent]],
  [false, true, true, [subscribedEvent]],
]

scenario('subscribed', start, (test) => {
  for (const given of [undefined, false, true]) {
    test(`of a new contact is ${given ?? false} when the request says ${given ?? 'nothing'}, without an event`, async (service) => {
      const { contact } = await sent(service, { to: `new-${given}@example.org`, subscribed: given })
      assert.is(contact.subscribed, given ?? false)
      assert.equal(await eventsOf(service, contact.id), [])
    })
  }

  for (const [before, given, after, events] of CHANGES) {
    test(`goes from ${before} to ${after} when the request says ${given ?? 'nothing'}`, async (service) => {
      const to = `known-${before}-${given}@example.org`
      await sent(service, { to, subscribed: before })
      const { contact } = await sent(service, { to, subscribed: given, data: { touched: true } })
      assert.is(contact.subscribed, after)
      assert.equal(await eventsOf(service, contact.id), events)
    })
  }

  test('makes one event per change, each at its own time', async (service) => {
    const to = 'flips@example.org'
    await sent(service, { to, subscribed: false })
    for (const subscribed of [true, true, false, false, true]) {
      service.clock.advance(1_000)
      await sent(service, { to, subscribed })
    }
    const { contact } = await sent(service, { to })
    assert.equal(await eventsOf(service, contact.id), [subscribedEvent, unsubscribedEvent, subscribedEvent])
    const [latest] = await service.sql(
      'select id from events where contact_id = $1 order by id desc limit 1',
      [contact.id],
    )
    assert.is(contact.subscription_event_id, latest?.id)
  })

  test('that many requests change at once makes one event', async (service) => {
    const to = 'at-once@example.org'
    const { contact } = await sent(service, { to })
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => send(service, { to, subscribed: true })),
    )
    assert.ok(answers.every(({ status }) => status === 200))
    assert.equal(await eventsOf(service, contact.id), [subscribedEvent])
  })
})

/** Footer and headers of a mail: what it is (a template's type), its body, and whether the footer is added. */
const FOOTERS: [type: string, body: string, footer: boolean][] = [
  ['MARKETING', '<p>News</p>', true],
  ['MARKETING', '<a href="{{unsubscribeUrl}}">Bye</a>', false],
  ['MARKETING', '<a href="{{{ manageUrl }}}">Manage</a>', false],
  ['MARKETING', '{{! unsubscribeUrl }}<p>News</p>', true],
  ['MARKETING', '{{#vip}}<a href="{{unsubscribeUrl}}">Bye</a>{{/vip}}', true],
  ['MARKETING', '{{data.unsubscribeUrl}}', true],
  ['HEADLESS', '<p>News</p>', false],
  ['TRANSACTIONAL', '<p>News</p>', false],
]

const TYPES = ['MARKETING', 'HEADLESS', 'TRANSACTIONAL'] as const

const subscriber = (service: Service, to: string) => sent(service, { to, subscribed: true })

scenario('The type of a template', start, (test) => {
  for (const [type, body, footer] of FOOTERS) {
    test(`${type} with ${body} ${footer ? 'gets' : 'gets no'} footer`, async (service) => {
      const to = 'footer@example.org'
      await subscriber(service, to)
      const { email } = await sent(service, {
        ...BARE,
        to,
        template: await templateOf(service, { type, body }),
      })
      const links = email.html.match(/\/unsubscribe\/[\w-]+/g) ?? []
      assert.is(email.html.includes('You receive this email from'), footer)
      if (footer) {
        assert.is(links.length, 1)
        assert.match(email.html, '/manage/')
      }
    })
  }

  test('puts the footer inside of the document', async (service) => {
    const to = 'inside@example.org'
    await subscriber(service, to)
    const template = await templateOf(service, { type: 'MARKETING', body: '<html><BODY>News</BODY ></html>' })
    const { email } = await sent(service, { ...BARE, to, template })
    assert.match(email.html, /^<html><BODY>News<p.+<\/p>\n<\/BODY ><\/html>$/s)
  })

  for (const comment of ['<!-- no </body> here -->', '<!--[if mso]></body><![endif]-->']) {
    test(`does not put the footer into ${comment}`, async (service) => {
      const to = 'comment@example.org'
      await subscriber(service, to)
      const body = `<body>${comment}News</body>${comment}`
      const template = await templateOf(service, { type: 'MARKETING', body })
      const { email } = await sent(service, { ...BARE, to, template })
      assert.ok(email.html.startsWith(`<body>${comment}News<p`), email.html)
      assert.ok(email.html.endsWith(`</p>\n</body>${comment}`), email.html)
    })
  }

  test('puts the footer at the end of a document whose only end is in a comment', async (service) => {
    const to = 'only-comment@example.org'
    await subscriber(service, to)
    const template = await templateOf(service, { type: 'MARKETING', body: '<p>News</p><!-- </body> -->' })
    const { email } = await sent(service, { ...BARE, to, template })
    assert.match(email.html, /^<p>News<\/p><!-- <\/body> -->\n<p.+<\/p>$/s)
  })

  test('counts also when the request brings its own body', async (service) => {
    const to = 'own-body@example.org'
    await subscriber(service, to)
    const template = await templateOf(service, { type: 'MARKETING' })
    const { email } = await sent(service, { to, template, body: 'Own' })
    assert.is(email.type, 'MARKETING')
    assert.match(email.html, /^Own\n<p/)
  })

  for (const type of TYPES) {
    const marketing = type !== 'TRANSACTIONAL'

    test(`${type} ${marketing ? 'has' : 'has no'} List-Unsubscribe pair`, async (service) => {
      const to = `pair-${type}@example.org`
      await subscriber(service, to)
      const { email } = await sent(service, { ...BARE, to, template: await templateOf(service, { type }) })
      assert.equal(Object.keys(email.headers), marketing ? ['List-Unsubscribe', 'List-Unsubscribe-Post'] : [])
    })

    test(`${type} ${marketing ? 'does not go' : 'goes'} to a contact who has not subscribed`, async (service) => {
      const to = `not-subscribed-${type}@example.org`
      await sent(service, { to })
      const template = await templateOf(service, { type })
      const attempt = () => send(service, { ...BARE, to, template })
      if (marketing) assertRefused(await withoutTrace(service, attempt), 400, 'CONTACT_UNSUBSCRIBED')
      else assert.is((await attempt()).status, 200)
    })

    test(`${type} ${marketing ? 'does not make' : 'makes'} a new contact`, async (service) => {
      const template = await templateOf(service, { type })
      const attempt = () => send(service, { ...BARE, to: `fresh-${type}@example.org`, template })
      if (marketing) assertRefused(await withoutTrace(service, attempt), 400, 'CONTACT_UNSUBSCRIBED')
      else assert.is((await attempt()).status, 200)
    })
  }

  for (const type of ['MARKETING', 'HEADLESS']) {
    test(`${type} goes to whom the request itself subscribes`, async (service) => {
      const template = await templateOf(service, { type })
      const fresh = { ...BARE, to: `opt-in-${type}@example.org`, template, subscribed: true }
      assert.is((await sent(service, fresh)).contact.subscribed, true)
      const known = { ...fresh, to: `back-${type}@example.org` }
      await sent(service, { to: known.to, subscribed: false })
      const { contact } = await sent(service, known)
      assert.equal(await eventsOf(service, contact.id), [subscribedEvent])
    })

    test(`${type} is refused when the request itself unsubscribes, and the state stays`, async (service) => {
      const to = `opt-out-${type}@example.org`
      await subscriber(service, to)
      const template = await templateOf(service, { type })
      const fields = { ...BARE, to, template, subscribed: false }
      assertRefused(await withoutTrace(service, () => send(service, fields)), 400, 'CONTACT_UNSUBSCRIBED')
      assert.is((await sent(service, { to })).contact.subscribed, true)
    })
  }

  test('refuses a request of many for one who has not subscribed, and names that one', async (service) => {
    const to = Array.from({ length: 10 }, (_, index) => `many${index}@example.org`)
    await send(service, { to: to.slice(1), subscribed: true })
    const template = await templateOf(service, { type: 'MARKETING' })
    const fields = { ...BARE, to, template, data: { changed: true } }
    const answer = await withoutTrace(service, () => send(service, fields))
    assertRefused(answer, 400, 'CONTACT_UNSUBSCRIBED')
    assert.equal(answer.body.error.details, { emails: ['many0@example.org'] })
    assert.ok(answer.body.error.suggestion)
    const changed = await service.sql(`select from contacts where data ? 'changed'`)
    assert.is(changed.length, 0)
    const { body } = await sendByGraphQL(service, fields)
    assert.equal(body.errors[0].extensions.details, { emails: ['many0@example.org'] })
  })
})

scenario('A MARKETING mail that was sent', startService, (test) => {
  test('lets its receiver unsubscribe with one click', async (service) => {
    const template = await templateOf(service, { type: 'MARKETING' })
    const answer = await send(service, { ...BARE, template, to: 'click@example.org', subscribed: true })
    const { message } = await delivered(service, answer.body.data.emails[0].email)
    const headers = new Map(message.headers.map(({ key, value }) => [key, value]))
    assert.is(headers.get('list-unsubscribe-post'), 'List-Unsubscribe=One-Click')
    const link = /^<(http:.+)>$/.exec(headers.get('list-unsubscribe') ?? '')?.[1] ?? ''
    const response = await fetch(link, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    })
    assert.is(response.status, 200)
    const [contact] = await service.sql<Body>(`select * from contacts where email = 'click@example.org'`)
    assert.is(contact.subscribed, false)
  })
})
