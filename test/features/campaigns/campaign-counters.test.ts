import * as assert from 'uvu/assert'
import { advanceCampaignsJob } from '../../../src/features/campaign-ledger/advance-campaigns.job.ts'
import { foldHitsJob } from '../../../src/features/tracking/fold-hits.job.ts'
import { newId } from '../../../src/lib/ids.ts'
import { HOUR, SECOND } from '../../support/clock.ts'
import { type SendingService, startSending } from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { type Random, runs, seeded } from '../../support/seeded.ts'
import { until } from '../../support/service.ts'
import { turnOf } from '../../support/work.ts'
import { oneClick, tokenOf } from '../subscriptions/subscription-support.ts'
import { newCampaign, newContacts, sendNow, stats } from './campaign-support.ts'
import { recount } from './recount.ts'
import { act } from './under-way.ts'

const CONTACTS = 120
const STEPS = runs(240)

/** Of each ten recipients one is not there, and one has a bad moment. */
const start = () =>
  startSending(
    { SMTP_CONNECTIONS: '3' },
    {
      sink: {
        holdMs: 10,
        refuse: (to, attempt) => {
          const kind = Number(/\d+/.exec(to)?.[0]) % 10
          if (kind === 3) return { at: 'RCPT', code: 550, text: 'no such user' }
          return kind === 7 && attempt === 1 ? { at: 'DATA', code: 451, text: 'try again' } : null
        },
      },
    },
  )

type Sent = { id: string; contact_id: string; sent_at: Date }
type Run = {
  context: SendingService
  id: string
  random: Random
  ids: string[]
  gone: Record<string, number>
}

const pick = <Item>(random: Random, items: Item[]): Item | undefined =>
  items[random.between(0, items.length - 1)]

/** A message that has left, any of them. */
async function someMail({ context, id, random }: Run): Promise<Sent | undefined> {
  const mail = await context.sql<Sent>(
    'select id, contact_id, sent_at from emails where campaign_id = $1 and sent_at is not null order by id',
    [id],
  )
  return pick(random, mail)
}

/** Opens and clicks that came some time after the message, as the routes note them. */
async function hit(run: Run, machine: boolean): Promise<void> {
  const { context, random } = run
  const mail = await someMail(run)
  if (!mail) return
  const at = new Date(Math.max(mail.sent_at.getTime() + 5 * SECOND, context.clock.now().getTime() - HOUR / 2))
  const link = random.between(0, 1) === 0 ? null : 'https://shop.example/'
  await context.sql(
    `insert into tracking_hits (project_id, email_id, id, link, links, machine) values ($1, $2, $3, $4, 5, $5)`,
    [context.project.id, mail.id, newId(at), link, machine],
  )
}

const fold = ({ context }: Run) =>
  foldHitsJob.slice(context.ctx(context.project.id), turnOf(context.project.id))

/** Deletes a contact. Its mail and events go with it, but what they were counted for stays counted. */
async function remove(run: Run): Promise<void> {
  const { context, id, ids, random, gone } = run
  const contactId = pick(random, ids)
  if (!contactId) return
  ids.splice(ids.indexOf(contactId), 1)
  context.clock.advance(10 * SECOND)
  await fold(run)
  await check(run, 'counting before a removal')
  const before = await recount(context.databaseUrl, id)
  const answer = await context.as().delete(`/contacts/${contactId}`)
  assert.is(answer.status, 204, answer.text)
  const after = await recount(context.databaseUrl, id)
  for (const name of ['opened', 'clicked', 'unsubscribed']) {
    assert.is(after.told[name], before.told[name], name)
    gone[name] = (after.told[name] ?? 0) - (after.found[name] ?? 0)
  }
}

async function unsubscribe(run: Run): Promise<void> {
  const { context } = run
  const mail = await someMail(run)
  const arrival = mail && context.sink.arrivals.find(({ messageId }) => messageId.includes(mail.id))
  const [, link = ''] = /List-Unsubscribe:\s*<([^>]+)>/.exec(arrival?.raw.toString() ?? '') ?? []
  if (link) assert.is((await oneClick(context, tokenOf(link))).status, 200)
}

/** The ledger says at each moment what the counters say, and so do the events when nobody has been deleted meanwhile. */
async function check({ context, id, gone }: Run, after: string): Promise<void> {
  const { told, found } = await recount(context.databaseUrl, id)
  const expected = Object.fromEntries(
    Object.entries(found).map(([name, count]) => [name, count + (gone[name] ?? 0)]),
  )
  assert.equal(told, expected, `after ${after}`)
}

const ACTIONS: Record<string, (run: Run) => Promise<unknown>> = {
  pause: ({ context, id }) => act(context, 'pauseCampaign', id, context.project),
  resume: ({ context, id }) => act(context, 'resumeCampaign', id, context.project),
  retry: ({ context, id }) =>
    context.as().graphql('mutation ($id: ID!) { retryFailed(id: $id) { retried } }', { id }),
  open: (run) => hit(run, false),
  'open again': (run) => hit(run, false),
  'open by a machine': (run) => hit(run, true),
  fold,
  remove,
  unsubscribe,
  'let time pass': async ({ context }) => context.clock.advance(HOUR / 4),
  work: ({ context }) =>
    advanceCampaignsJob.slice(context.ctx(context.project.id), turnOf(context.project.id)),
}

scenario('The numbers of a campaign', start, (test) => {
  test('are those of its ledger and its events, whatever happens in whatever order', (context) =>
    seeded(async (random) => {
      const ids = await newContacts(context, CONTACTS, { prefix: 'n-' })
      const { id } = await newCampaign(context)
      const run: Run = { context, id, random, ids, gone: {} }
      await sendNow(context, id)
      await until('the ledger is written, and some have left', async () => {
        const { totalRecipients, sentCount } = await stats(context, id)
        return totalRecipients === CONTACTS && sentCount > 10
      })
      const names = Object.keys(ACTIONS)
      for (let step = 0; step < STEPS; step += 1) {
        const name = pick(random, names) ?? 'work'
        await ACTIONS[name]?.(run)
        await check(run, name)
      }
      if (random.between(0, 1) === 0) await context.as().post(`/campaigns/${id}/cancel`)
      else await act(context, 'resumeCampaign', id, context.project)
      const end = await until('it has ended', async () => {
        context.clock.advance(HOUR)
        await ACTIONS.work?.(run)
        await check(run, 'the end')
        const found = await stats(context, id)
        return found.status !== 'SENDING' && found.pendingCount + found.sendingCount === 0 && found
      })
      assert.is(end.totalRecipients, CONTACTS)
    }))
})
