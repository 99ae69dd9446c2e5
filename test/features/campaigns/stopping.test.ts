import * as assert from 'uvu/assert'
import { advanceCampaignsJob } from '../../../src/features/campaign-ledger/advance-campaigns.job.ts'
import { hold } from '../../support/held-lock.ts'
import { type SendingService, startSending } from '../../support/mailing.ts'
import { assertRefused } from '../../support/refusals.ts'
import { scenario, sharedStart } from '../../support/scenario.ts'
import { type Answer, type Service, startService, until } from '../../support/service.ts'
import { turnOf } from '../../support/work.ts'
import {
  assertAddsUp,
  campaignBody,
  newCampaign,
  newContacts,
  reached,
  sendNow,
  stats,
} from './campaign-support.ts'
import { act, arrivalsOf, untilForgotten } from './under-way.ts'

const MANY = 1_500

/** Waits until nothing is on its way any more, and returns how much has left by then: nothing may follow. */
async function stopped(context: SendingService, id: string): Promise<number> {
  const { sentCount } = await until('nothing is on its way', async () => {
    const found = await stats(context, id)
    return found.sendingCount === 0 && found
  })
  assert.is(context.sink.arrivals.length, sentCount)
  await untilForgotten()
  assert.is(context.sink.arrivals.length, sentCount)
  assert.is((await stats(context, id)).sentCount, sentCount)
  return sentCount
}

scenario(
  'A campaign at full speed',
  () => startSending({ SMTP_CONNECTIONS: '8' }),
  (test) => {
    test('hands nothing over once it is paused, or cancelled, and what was on its way is settled', async (context) => {
      await newContacts(context, MANY, { prefix: 'fast-' })
      const { id } = await newCampaign(context)
      await sendNow(context, id)
      await until('a hundred have left', () => context.sink.arrivals.length >= 100)
      await act(context, 'pauseCampaign', id, context.project)
      const paused = await stopped(context, id)
      assert.ok(paused < MANY)
      await assertAddsUp(context, id)
      await act(context, 'resumeCampaign', id, context.project)
      await until('a hundred more have left', () => context.sink.arrivals.length >= paused + 100)
      await context.as().post(`/campaigns/${id}/cancel`)
      const sent = await stopped(context, id)
      assert.ok(sent < MANY)
      const found = await reached(context, id, 'CANCELLED')
      assert.equal([found.sentCount, found.cancelledCount], [sent, MANY - sent])
      assert.is(new Set(arrivalsOf(context, 'fast-').map(({ to }) => to)).size, sent)
      await assertAddsUp(context, id)
    })
  },
)

scenario(
  'A message whose outcome the database refuses',
  () => startSending({ SMTP_CONNECTIONS: '1' }),
  (test) => {
    test('counts as failed, is not sent again, and the campaign ends', async (context) => {
      await newContacts(context, 3, { prefix: 'refused-' })
      await context.sql(
        `alter table emails add constraint never_sent check (status <> 'SENT' or to_email <> 'refused-1@example.org')`,
      )
      const { id } = await newCampaign(context)
      await sendNow(context, id)
      const found = await reached(context, id, 'SENT')
      assert.equal([found.sentCount, found.failedCount], [2, 1])
      assert.is(arrivalsOf(context, 'refused-').length, 3)
      assert.is((await context.sql('select from deliveries where campaign_id = $1', [id])).length, 0)
      await assertAddsUp(context, id)
    })
  },
)

const byHand = sharedStart(() => startService({ ROLES: 'http' }))

const advance = (service: Service) =>
  advanceCampaignsJob.slice(service.ctx(service.project.id), turnOf(service.project.id))

const campaignRow = async ({ sql }: Service, id: string) =>
  (await sql('select step_size, status, next_at > now() as later from campaigns where id = $1', [id]))[0]

scenario('A campaign that cannot go on', byHand, (test) => {
  test('does not keep the others of its project from going on', async (service) => {
    await newContacts(service, 3)
    const [broken, fine] = [await newCampaign(service), await newCampaign(service)]
    await sendNow(service, broken.id)
    await sendNow(service, fine.id)
    await service.sql(`update campaigns set audience = '{"tree": {}}' where id = $1`, [broken.id])
    await advance(service)
    assert.equal(await campaignRow(service, broken.id), { step_size: 2_000, status: 'SENDING', later: true })
    assert.is((await stats(service, broken.id)).totalRecipients, 0)
    assert.is((await stats(service, fine.id)).sendingCount, 3)
  })

  test('in time looks at an eighth of the contacts, and ends', async (service) => {
    await newContacts(service, 3)
    const { id } = await newCampaign(service)
    await sendNow(service, id)
    const held = await hold(service.databaseUrl, 'lock table campaign_recipients in share row exclusive mode')
    const working = advance(service)
    await until('the step is smaller', async () => (await campaignRow(service, id))?.step_size === 250)
    await held.release()
    await working
    await until('it has gone on', async () => {
      await advance(service)
      return (await stats(service, id)).sendingCount > 0
    })
  })
})

type Try = (service: Service, id: string) => Promise<Answer>

const mutation =
  (name: string, fields: string): Try =>
  (service, id) =>
    service.as().graphql(`mutation ($id: ID!) { ${name}(id: $id) { ${fields} } }`, { id })

/** Every action, and the states in which it is allowed; in others it is a conflict. */
const ACTIONS: [name: string, allowed: string[], attempt: Try][] = [
  [
    'PUT',
    ['DRAFT', 'SCHEDULED'],
    (service, id) => service.as().call('PUT', `/campaigns/${id}`, campaignBody(service.project)),
  ],
  ['send', ['DRAFT', 'SCHEDULED'], (service, id) => service.as().post(`/campaigns/${id}/send`, {})],
  [
    'schedule',
    ['DRAFT', 'SCHEDULED'],
    (service, id) => service.as().post(`/campaigns/${id}/send`, { scheduledFor: '2040-01-01' }),
  ],
  ['cancel', ['SCHEDULED', 'SENDING'], (service, id) => service.as().post(`/campaigns/${id}/cancel`)],
  ['DELETE', ['DRAFT', 'SENT', 'CANCELLED'], (service, id) => service.as().delete(`/campaigns/${id}`)],
  ['pause', ['SENDING'], mutation('pauseCampaign', 'status')],
  ['resume', ['SENDING'], mutation('resumeCampaign', 'status')],
  ['retryFailed', ['SENDING', 'SENT'], mutation('retryFailed', 'retried')],
]
const STATES = ['DRAFT', 'SCHEDULED', 'SENDING', 'SENT', 'CANCELLED']

scenario('The state of a campaign', byHand, (test) => {
  for (const [name, allowed, attempt] of ACTIONS) {
    test(`decides about ${name}`, async (service) => {
      await newContacts(service, 1)
      for (const state of STATES) {
        const { id } = await newCampaign(service)
        await service.sql('update campaigns set status = $2::campaign_status where id = $1', [id, state])
        const answer = await attempt(service, id)
        const code = answer.body?.errors?.[0]?.extensions.code ?? answer.body?.error?.code
        assert.is(code, allowed.includes(state) ? undefined : 'CONFLICT', `${state}: ${answer.text}`)
      }
    })
  }

  test('is SCHEDULED for a year of four digits at most', async (service) => {
    const { id } = await newCampaign(service)
    const schedule = (scheduledFor: string) => service.as().post(`/campaigns/${id}/send`, { scheduledFor })
    assert.is((await schedule('9999-12-31T00:00:00.000Z')).status, 200)
    for (const late of ['9999-12-31T00:00:00.001Z', '+010000-01-01T00:00:00.000Z', '+275760-09-13']) {
      assertRefused(await schedule(late), 400, 'BAD_REQUEST')
    }
    const { body } = await service.as().get(`/campaigns/${id}`)
    assert.is(body.data.scheduledFor, '9999-12-31T00:00:00.000Z')
  })
})
