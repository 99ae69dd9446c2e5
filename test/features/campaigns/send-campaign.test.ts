import * as assert from 'uvu/assert'
import { MINUTE } from '../../support/clock.ts'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { assertAddsUp, mailOf, newCampaign, newContacts, reached, sendNow } from './campaign-support.ts'

scenario('A campaign', startService, (test) => {
  test('goes to every contact of its audience once, rendered for each', async (service) => {
    const prefix = 'all-'
    await newContacts(service, 30, { prefix, data: { name: 'Ada' } })
    await newContacts(service, 5, { prefix: 'not-', subscribed: false })
    const { id } = await newCampaign(service)
    await sendNow(service, id)
    const found = await reached(service, id, 'SENT')
    await assertAddsUp(service, id)
    assert.is(found.sentCount, 30)
    assert.is(found.skippedCount, 5)
    const mail = await mailOf(service, prefix)
    assert.is(mail.length, 30)
    assert.is(new Set(mail.map(({ to }) => to)).size, 30)
    for (const message of mail) {
      assert.is(message.subject, 'Spring is here, Ada')
      assert.match(message.html, 'Hello Ada')
      assert.match(message.html, '/unsubscribe/')
      assert.match(message.text, 'Hello Ada')
      assert.match(message.text, '/unsubscribe/')
    }
  })

  test('asks who is suppressed in its own project alone', async (service) => {
    const [mine, other] = [await service.newProject('Mine'), await service.newProject('Other')]
    await newContacts(service, 2, { prefix: 'shared-' }, mine)
    await service.sql(
      `insert into suppressions (project_id, email, reason, created_at)
       values ($1, 'shared-0@example.org', 'MANUAL', now()), ($2, 'shared-1@example.org', 'MANUAL', now())`,
      [mine.id, other.id],
    )
    const { id } = await newCampaign(service, {}, mine)
    await sendNow(service, id, mine)
    const found = await reached(service, id, 'SENT', mine)
    assert.equal([found.sentCount, found.suppressedCount], [1, 1])
    assert.equal(
      (await mailOf(service, 'shared-')).map(({ to }) => to),
      ['shared-1@example.org'],
    )
  })

  test('can be read again as it was sent, from what was kept of the contact', async (service) => {
    const project = await service.newProject('Kept')
    const data = { name: 'Grace', plan: 'pro', locale: 'de' }
    const [contactId] = await newContacts(service, 1, { prefix: 'kept-', data }, project)
    const { id } = await newCampaign(service, {}, project)
    await sendNow(service, id, project)
    await reached(service, id, 'SENT', project)
    const [row] = await service.sql('select id, variables, subject from emails where campaign_id = $1', [id])
    assert.equal(row?.variables, { name: 'Grace', locale: 'de' })
    assert.is(row?.subject, 'Spring is here, Grace')
    await service.as(project).patch(`/contacts/${contactId}`, { data: { name: 'Somebody else' } })
    const [message] = await mailOf(service, 'kept-')
    const query = 'query ($id: ID!) { email(id: $id) { body subject status campaignId sourceType } }'
    const { body } = await service.as(project).graphql(query, { id: row?.id })
    assert.equal(body.data.email, {
      body: message.html,
      subject: message.subject,
      status: 'SENT',
      campaignId: id,
      sourceType: 'CAMPAIGN',
    })
    service.clock.advance(91 * 24 * 60 * MINUTE)
    const later = await service.as(project).graphql(query, { id: row?.id })
    assert.is(later.body.data.email.body, null)
  })

  test('tells of each contact why it has the message or not', async (service) => {
    const project = await service.newProject('Explained')
    const condition = (value: string) => ({
      logic: 'AND',
      groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value }] }],
    })
    const [pro] = await newContacts(service, 1, { data: { plan: 'pro' } }, project)
    const [free] = await newContacts(service, 1, { data: { plan: 'free' } }, project)
    const [away] = await newContacts(service, 1, { data: { plan: 'pro' }, subscribed: false }, project)
    const { id } = await newCampaign(
      service,
      { audienceType: 'FILTERED', audienceCondition: condition('pro') },
      project,
    )
    const explain = async (contactId: string | undefined) => {
      const query = `query ($campaignId: ID!, $contactId: ID!) {
        explainDelivery(campaignId: $campaignId, contactId: $contactId) {
          answer status isInAudience audience subscribed suppressedFor isThrottled nextAttemptAt
          email { status } events { name } } }`
      const { body } = await service.as(project).graphql(query, { campaignId: id, contactId })
      return body.data.explainDelivery
    }
    assert.match((await explain(pro)).answer, 'would get it')
    assert.match((await explain(free)).answer, 'is not in its audience')
    assert.match((await explain(away)).answer, 'is not subscribed')
    await sendNow(service, id, project)
    await reached(service, id, 'SENT', project)
    const [late] = await newContacts(service, 1, { data: { plan: 'pro' } }, project)
    const sent = await explain(pro)
    assert.equal(
      [sent.status, sent.isInAudience, sent.subscribed, sent.email],
      ['SENT', true, true, { status: 'SENT' }],
    )
    assert.equal(sent.events, [{ name: 'email.sent' }])
    assert.is(sent.audience.groups[0].filters[0].actual, 'pro')
    assert.equal([(await explain(away)).status, (await explain(free)).status], ['SKIPPED', null])
    assert.match((await explain(free)).answer, 'was not in the audience')
    assert.match((await explain(late)).answer, 'after the sending had started')
    await service.as(project).delete(`/contacts/${away}`)
    const gone = await explain(away)
    assert.equal([gone.status, gone.isInAudience, gone.subscribed], ['SKIPPED', null, null])
  })
})
