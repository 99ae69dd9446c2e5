import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Service, startService } from '../../support/service.ts'
import { eventsOf } from '../sending/send-support.ts'
import { isSubscribed, newsletter, oneClick, subscribeAgain } from './subscription-support.ts'

const start = () => startService({ ROLES: 'http' })

/** A campaign of the project, with nobody in its ledger; its id. */
async function campaignOf({ sql, project }: Service): Promise<string> {
  const id = randomUUID()
  await sql(
    `insert into campaigns (project_id, id, name, subject, body, "from", status, audience_type, created_at, updated_at)
     values ($1, $2, 'News', 'News', '<p>News</p>', 'news@example.org', 'SENDING', 'ALL', now(), now())`,
    [project.id, id],
  )
  return id
}

/** A message of the campaign to the address, as its fan-out writes it. */
async function mailOf(service: Service, campaignId: string, to: string, sourceType = 'CAMPAIGN') {
  const mail = await newsletter(service, to)
  const { sql, project } = service
  await sql('update emails set campaign_id = $1, source_type = $2::email_source where id = $3', [
    campaignId,
    sourceType,
    mail.email.id,
  ])
  await sql(
    `insert into campaign_recipients (project_id, campaign_id, contact_id, status, email_id)
     values ($1, $2, $3, 'SENT', $4) on conflict do nothing`,
    [project.id, campaignId, mail.contact.id, mail.email.id],
  )
  return mail
}

/** What the tallies of the campaign add up to, and how many of its recipients are known to have unsubscribed. */
async function countsOf({ sql }: Service, campaignId: string) {
  const [counts] = await sql<Body>(
    `select (select coalesce(sum(unsubscribed), 0)::int from campaign_tallies where campaign_id = $1) as tallied,
       (select count(unsubscribed_at)::int from campaign_recipients where campaign_id = $1) as marked`,
    [campaignId],
  )
  return counts
}

const causeOf = async ({ sql }: Service, contactId: string) =>
  (
    await sql<Body>('select email_id, data from events where contact_id = $1 order by id desc limit 1', [
      contactId,
    ])
  )[0]

scenario('Unsubscribing by the link of a campaign', start, (test) => {
  test('names the mail and the campaign, and counts for it', async (service) => {
    const campaignId = await campaignOf(service)
    const { contact, email, token } = await mailOf(service, campaignId, 'cause@example.org')
    assert.is((await oneClick(service, token)).status, 200)
    assert.equal(await causeOf(service, contact.id), {
      email_id: email.id,
      data: { source: 'link', campaignId },
    })
    assert.equal(await countsOf(service, campaignId), { tallied: 1, marked: 1 })
    const key = service.project.secret
    const { body } = await service.call('GET', `/events?contactId=${contact.id}`, { key })
    assert.equal([body.data[0].name, body.data[0].emailId], ['contact.unsubscribed', email.id])
  })

  test('counts once, however often the contact comes back', async (service) => {
    const campaignId = await campaignOf(service)
    const { contact, token } = await mailOf(service, campaignId, 'often@example.org')
    for (let repeat = 0; repeat < 3; repeat += 1) {
      await oneClick(service, token)
      await oneClick(service, token)
      await subscribeAgain(service, token)
    }
    assert.is((await eventsOf(service, contact.id)).length, 6)
    assert.equal(await countsOf(service, campaignId), { tallied: 1, marked: 1 })
  })

  test('counts once when many clicks come at once', async (service) => {
    const campaignId = await campaignOf(service)
    const mails = await Promise.all(
      ['a', 'b', 'c'].map((name) => mailOf(service, campaignId, `at-once-${name}@example.org`)),
    )
    const clicks = mails.flatMap(({ token }) => Array.from({ length: 8 }, () => token))
    await Promise.all(clicks.map((token, index) => (index % 4 ? oneClick : subscribeAgain)(service, token)))
    for (const { token } of mails) await oneClick(service, token)
    assert.equal(await countsOf(service, campaignId), { tallied: 3, marked: 3 })
  })

  test('counts for the campaign whose link it was', async (service) => {
    const [first, second] = [await campaignOf(service), await campaignOf(service)]
    const to = 'two-campaigns@example.org'
    const { token } = await mailOf(service, first, to)
    const { token: other } = await mailOf(service, second, to)
    await oneClick(service, other)
    await oneClick(service, token)
    assert.equal(await countsOf(service, first), { tallied: 0, marked: 0 })
    assert.equal(await countsOf(service, second), { tallied: 1, marked: 1 })
    await subscribeAgain(service, other)
    await oneClick(service, token)
    assert.equal(await countsOf(service, first), { tallied: 1, marked: 1 })
  })

  test('counts nothing for a test of the campaign', async (service) => {
    const campaignId = await campaignOf(service)
    const { contact, token } = await mailOf(service, campaignId, 'tester@example.org', 'TEST')
    await oneClick(service, token)
    assert.is(await isSubscribed(service, contact.id), false)
    assert.equal(await countsOf(service, campaignId), { tallied: 0, marked: 0 })
  })

  const GONE: [what: string, statement: string, data: (campaignId: string) => object][] = [
    ['the mail', 'delete from emails where campaign_id = $1', () => ({})],
    [
      'the ledger',
      'delete from campaign_recipients where campaign_id = $1',
      (campaignId) => ({ campaignId }),
    ],
    ['the campaign', 'delete from campaigns where id = $1', (campaignId) => ({ campaignId })],
  ]
  for (const [what, statement, data] of GONE) {
    test(`works when ${what} is gone, and counts nothing`, async (service) => {
      const campaignId = await campaignOf(service)
      const to = `${what.replace(' ', '-')}@example.org`
      const { contact, token } = await mailOf(service, campaignId, to)
      await service.sql(statement, [campaignId])
      const headers = { accept: 'text/html' }
      const page = await service.call('GET', `/manage/${token}`, { headers })
      assert.match(page.text, '<strong>Test</strong>')
      assert.is((await oneClick(service, token)).status, 200)
      assert.is(await isSubscribed(service, contact.id), false)
      const cause = await causeOf(service, contact.id)
      assert.equal(cause.data, { source: 'link', ...data(campaignId) })
      assert.equal(await countsOf(service, campaignId), { tallied: 0, marked: 0 })
    })
  }
})
