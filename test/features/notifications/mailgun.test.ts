import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { type Service, startService } from '../../support/service.ts'
import {
  applied,
  asCampaign,
  eventsWithData,
  fateOf,
  left,
  MAILGUN,
  MAILGUN_KEY,
  mailgunBody,
  postMailgun,
  talliesOf,
  tellByMailgun,
} from './notification-support.ts'

const start = () => startService({ ROLES: 'http', MAILGUN_WEBHOOK_KEY: MAILGUN_KEY })

/** What nothing may change. */
const traces = async ({ sql }: Service) =>
  sql(
    'select (select count(*)::int from mail_reports) as reports, (select count(*)::int from notification_receipts) as receipts',
  )

scenario('Webhooks of Mailgun', start, (test) => {
  test('tell of a bounce, after which nobody writes to the address', async (service) => {
    const mail = await left(service, 'gone@example.org')
    const campaignId = await asCampaign(service, [mail], service.project)
    const body = mailgunBody(service, mail, MAILGUN.bounced)
    for (const _repeat of [1, 2]) assert.is((await postMailgun(service, body)).status, 200)
    await applied(service)
    assert.equal(await fateOf(service, mail), {
      ...{ status: 'BOUNCED', delivered: false, bounced: true, softly: false, complained: false },
      ...{ error: '550 5.1.1 No such user', subscribed: false, suppressed: 'BOUNCE' },
      events: ['email.bounce', 'contact.unsubscribed'],
    })
    assert.equal(await talliesOf(service, campaignId), { delivered: 0, bounced: 1, complained: 0 })
    const events = await eventsWithData(service, mail)
    const bounce = events.find(({ name }) => name === 'email.bounce')
    assert.equal(bounce?.data, {
      ...{
        emailId: mail.id,
        messageId: mail.messageId,
        campaignId,
        templateId: null,
        sourceType: 'CAMPAIGN',
      },
      ...{ from: bounce?.data.from, subject: bounce?.data.subject },
      ...{ bounceType: 'Permanent', reason: '550 5.1.1 No such user' },
    })
    assert.is(events.find(({ name }) => name === 'contact.unsubscribed')?.data.source, 'bounce')
  })

  test('tell of each kind of event', async (service) => {
    const fate = async (...events: object[]) => {
      const mail = await left(service, `kind${Math.random()}@example.org`)
      await tellByMailgun(service, mail, ...events)
      const { error: _, ...rest } = await fateOf(service, mail)
      return rest
    }
    const nothing = {
      ...{ status: 'SENT', delivered: false, bounced: false, softly: false, complained: false },
      ...{ subscribed: true, suppressed: null, events: [] },
    }
    assert.equal(await fate(MAILGUN.accepted, MAILGUN.stored), nothing)
    assert.equal(await fate({ event: 'of tomorrow' }, { event: null }), nothing)
    assert.equal(await fate(MAILGUN.delivered, MAILGUN.delivered), {
      ...nothing,
      ...{ status: 'DELIVERED', delivered: true, events: ['email.delivery'] },
    })
    assert.equal(await fate(MAILGUN.softly, MAILGUN.softly), {
      ...nothing,
      softly: true,
      events: ['email.bounce'],
    })
    assert.equal(await fate(MAILGUN.complained), {
      ...{ ...nothing, status: 'COMPLAINED', complained: true, subscribed: false, suppressed: 'COMPLAINT' },
      events: ['email.complaint', 'contact.unsubscribed'],
    })
    assert.equal(await fate(MAILGUN.unsubscribed), {
      ...{ ...nothing, subscribed: false, events: ['contact.unsubscribed'] },
    })
    const suppressed = (reason: string) => ({
      ...{ event: 'failed', severity: 'permanent', reason },
      'delivery-status': { code: 605, message: '', description: 'Not delivering to a suppressed address' },
    })
    for (const reason of ['suppress-bounce', 'suppress-complaint']) {
      assert.equal(await fate(suppressed(reason)), { ...nothing, status: 'FAILED', events: ['email.failed'] })
    }
    assert.equal(await fate(suppressed('suppress-unsubscribe')), {
      ...{ ...nothing, subscribed: false, events: ['contact.unsubscribed'] },
    })
    assert.equal(await fate(MAILGUN.rejected), { ...nothing, status: 'FAILED', events: ['email.failed'] })
  })

  test('that are not signed as they have to be change nothing', async (service) => {
    const mail = await left(service, 'forged@example.org')
    const before = await traces(service)
    const genuine = mailgunBody(service, mail, MAILGUN.bounced)
    const refused = [
      mailgunBody(service, mail, MAILGUN.bounced, { key: 'another' }),
      mailgunBody(service, mail, MAILGUN.bounced, { ageMs: 301_000 }),
      mailgunBody(service, mail, MAILGUN.bounced, { ageMs: -310_000 }),
      { ...genuine, signature: { ...genuine.signature, token: 'x' } },
      { ...genuine, signature: { ...genuine.signature, signature: '' } },
      { 'event-data': genuine['event-data'] },
      [genuine],
      {},
    ]
    for (const body of refused) {
      const answer = await postMailgun(service, body)
      assert.is(answer.status, 403, answer.text)
    }
    const malformed = await postMailgun(service, '{"signature":')
    assert.is(malformed.status, 400)
    const large = await postMailgun(service, { ...genuine, more: 'x'.repeat(310 * 1024) })
    assert.is(large.status, 413)
    assert.equal(await traces(service), before)
    assert.is((await fateOf(service, mail)).status, 'SENT')
  })

  test('use up their token: another body with it has no effect', async (service) => {
    const [first, second] = [await left(service, 'one@example.org'), await left(service, 'two@example.org')]
    const token = 'the token of one webhook'
    const bodies = [first, second].map((mail) => mailgunBody(service, mail, MAILGUN.bounced, { token }))
    for (const body of bodies) assert.is((await postMailgun(service, body)).status, 200)
    await applied(service)
    assert.is((await fateOf(service, first)).status, 'BOUNCED')
    assert.is((await fateOf(service, second)).status, 'SENT')
  })
})

scenario(
  'Webhooks of Mailgun without a key',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('are refused', async (service) => {
      const mail = { to: 'a@example.org', messageId: '<a@b.example>' }
      assert.is(
        (await postMailgun(service, mailgunBody(service, mail, MAILGUN.bounced, { key: '' }))).status,
        403,
      )
    })
  },
)
