import PostalMime from 'postal-mime'
import * as assert from 'uvu/assert'
import { MINUTE, SECOND } from '../../support/clock.ts'
import { type SendingService, startSending } from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { until } from '../../support/service.ts'
import { APPLE_PROXY, ask, setTracking, trackedIn } from '../tracking/tracking-support.ts'
import { newCampaign, newContacts, reached, sendNow, stats } from './campaign-support.ts'
import { recount } from './recount.ts'

/** The message that arrived for an address, as its reader has it. */
async function readerOf(context: SendingService, to: string) {
  const arrival = context.sink.arrivals.find((one) => one.to === to)
  if (!arrival) throw new Error(`Nothing arrived for ${to}`)
  const message = await PostalMime.parse(arrival.raw)
  const html = message.html ?? ''
  const [, leave = ''] = /List-Unsubscribe:\s*<([^>]+)>/.exec(arrival.raw.toString()) ?? []
  return { message, html, leave, ...trackedIn(context, html) }
}

const BODY = '<body><p>Hello {{name}}, <a href="https://shop.example/sale?a=1&amp;b=2">look</a></p></body>'

scenario(
  'A tracked campaign',
  () => startSending({ SMTP_CONNECTIONS: '1' }),
  (test) => {
    test('counts what its readers do with what has arrived, and shows again what was sent', async (context) => {
      await setTracking(context, context.project, 'MARKETING_ONLY')
      const ids = await newContacts(context, 4, { prefix: 'reader-', data: { name: 'Ada' } })
      const { id } = await newCampaign(context, { body: BODY })
      await sendNow(context, id)
      await reached(context, id, 'SENT')
      context.clock.advance(MINUTE)
      const [opens, clicks, machine, leaves] = await Promise.all(
        [0, 1, 2, 3].map((index) => readerOf(context, `reader-${index}@example.org`)),
      )
      if (!opens || !clicks || !machine || !leaves) throw new Error('Four have it')
      assert.is(opens.links.length, 1)
      assert.match(opens.message.text ?? '', 'https://shop.example/sale?a=1&b=2')
      assert.is((await ask(context, opens.pixel)).status, 200)
      await ask(context, opens.pixel)
      const click = await ask(context, clicks.links[0] ?? '')
      assert.equal([click.status, click.headers.get('location')], [302, 'https://shop.example/sale?a=1&b=2'])
      await ask(context, machine.pixel, { 'user-agent': APPLE_PROXY })
      const left = await fetch(leaves.leave, { method: 'POST', body: 'List-Unsubscribe=One-Click' })
      assert.is(left.status, 200)
      context.clock.advance(10 * SECOND)
      const counts = await until('all is counted', async () => {
        const found = await stats(context, id)
        return found.openedCount + found.clickedCount === 2 && found
      })
      assert.equal([counts.openedCount, counts.clickedCount, counts.unsubscribedCount], [1, 1, 1])
      assert.equal([counts.openRate, counts.clickRate, counts.unsubscribeRate], [25, 25, 25])
      const { told, found } = await recount(context.databaseUrl, id)
      assert.equal(told, found)
      const events = await context.sql(
        `select name, data ->> 'bot' as bot, data ->> 'campaignId' as campaign, contact_id from events
       where name in ('email.open', 'email.click', 'contact.unsubscribed') order by contact_id, id`,
      )
      assert.equal(
        events.map(({ name, bot, campaign, contact_id }) => [
          ...[name, bot, campaign === id, ids.indexOf(contact_id)],
        ]),
        [
          ['email.open', null, true, 0],
          ['email.open', null, true, 0],
          ['email.click', null, true, 1],
          ['email.open', 'true', true, 2],
          ['contact.unsubscribed', null, true, 3],
        ],
      )
      const condition = (field: string) => ({
        logic: 'AND',
        groups: [{ filters: [{ field, operator: 'triggered' }] }],
      })
      for (const [field, reader] of [
        ['email.opened', 0],
        ['email.clicked', 1],
      ] as const) {
        const query = 'query ($filter: JSONObject!) { contacts(filter: $filter) { data { id } } }'
        const { body, text } = await context.as().graphql(query, { filter: condition(field) })
        assert.equal(body.data?.contacts.data, [{ id: ids[reader] }], text)
      }
      const [email] = await context.sql('select id from emails where campaign_id = $1 and contact_id = $2', [
        ...[id, ids[0]],
      ])
      const again = await context
        .as()
        .graphql('query ($id: ID!) { email(id: $id) { body } }', { id: email?.id })
      assert.is(again.body.data.email.body.trim(), opens.html.trim())
    })
  },
)
