import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import { advanceCampaignsJob } from '../../../src/features/campaign-ledger/advance-campaigns.job.ts'
import { limitsOf, winnerOf } from '../../../src/features/campaign-variants/ab-tests.rules.ts'
import { campaignWork } from '../../../src/features/campaigns/campaign-work.ts'
import { foldHitsJob } from '../../../src/features/tracking/fold-hits.job.ts'
import { newId } from '../../../src/lib/ids.ts'
import { MINUTE } from '../../support/clock.ts'
import { hold } from '../../support/held-lock.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'
import { type Body, type Project, type Service, startService, until } from '../../support/service.ts'
import { tried, turnOf, workThrough } from '../../support/work.ts'
import {
  assertAddsUp,
  mailOf,
  newCampaign,
  newContacts,
  reached,
  sendNow,
  stats,
} from './campaign-support.ts'

const FIELDS = `testPercent metric decideAfterMinutes decidesAt winner
  variants { number subject body weight totalRecipients sentCount openedCount clickedCount unsubscribedCount openRate }`

const TEST = {
  variants: [{ subject: 'First' }, { subject: 'Second', body: '<p>Second for {{email}}</p>' }],
  testPercent: 50,
  metric: 'OPENS',
  decideAfterMinutes: 60,
}

async function graphql(service: Service, query: string, variables: object, project = service.project) {
  const answer = await service.as(project).graphql(query, variables)
  assert.is(answer.body.errors, undefined, answer.text)
  return answer.body.data
}

const SET = `mutation ($id: ID!, $input: AbTestInput!) { setAbTest(campaignId: $id, input: $input) { ${FIELDS} } }`
const PICK = `mutation ($id: ID!, $variant: Int!) { pickWinner(campaignId: $id, variant: $variant) { ${FIELDS} } }`

const setTest = async (service: Service, id: string, input: object = TEST, project = service.project) =>
  (await graphql(service, SET, { id, input }, project)).setAbTest

const testOf = async (service: Service, id: string, project = service.project): Promise<Body> =>
  (await graphql(service, `query ($id: ID!) { abTest(campaignId: $id) { ${FIELDS} } }`, { id }, project))
    .abTest

const pick = (service: Service, id: string, variant: number, project = service.project) =>
  service.as(project).graphql(PICK, { id, variant })

/** The number of the variant that a contact gets, as the ledger chooses it; null: it is not in the test. */
function variantOf(campaignId: string, contactId: string, limits: number[]): number | null {
  const hash = createHash('sha256')
    .update(campaignId + contactId)
    .digest()
    .readUInt32BE(0)
  const index = limits.findIndex((limit) => hash % 1_000_000 < limit)
  return index < 0 ? null : index + 1
}

type Row = { contact_id: string; status: string; variant: number | null }

const ledgerOf = ({ sql }: Service, id: string) =>
  sql<Row>('select contact_id, status, variant from campaign_recipients where campaign_id = $1', [id])

/** The numbers of the variants are those of the ledger. */
async function assertVariantsAddUp(service: Service, id: string, project: Project): Promise<void> {
  await assertAddsUp(service, id, project)
  const { variants } = await testOf(service, id, project)
  const ledger = await ledgerOf(service, id)
  for (const { number, totalRecipients, sentCount } of variants) {
    const own = ledger.filter(({ variant }) => variant === number)
    assert.is(totalRecipients, own.length, `recipients of ${number}`)
    assert.is(sentCount, own.filter(({ status }) => status === 'SENT').length, `sent of ${number}`)
  }
}

/** A campaign of a project of its own with an A/B test of which all messages have arrived; the others wait. */
async function tested(service: Service, prefix: string, count: number, test: object = TEST) {
  const project = await service.newProject(prefix)
  const ids = await newContacts(service, count, { prefix: `${prefix}-` }, project)
  const { id } = await newCampaign(service, {}, project)
  await setTest(service, id, test, project)
  await sendNow(service, id, project)
  await until('the test is out', async () => {
    const { sendingCount, pendingCount, sentCount } = await stats(service, id, project)
    const { decidesAt } = await testOf(service, id, project)
    return decidesAt !== null && sendingCount === 0 && pendingCount + sentCount === count
  })
  return { project, ids, id }
}

/** Has some recipients of each variant open their messages, as persons or machines, and counts it. */
async function open(
  service: Service,
  id: string,
  opens: { variant: number; count: number; machine?: boolean }[],
) {
  service.clock.advance(5 * MINUTE)
  for (const { variant, count, machine = false } of opens) {
    const mail = await service.sql<{ project_id: string; id: string }>(
      'select project_id, id from emails where campaign_id = $1 and variant = $2 and sent_at is not null order by id limit $3',
      [id, variant, count],
    )
    assert.is(mail.length, count)
    for (const { project_id, id: emailId } of mail) {
      await service.sql(
        'insert into tracking_hits (project_id, email_id, id, link, links, machine) values ($1, $2, $3, null, 0, $4)',
        [project_id, emailId, newId(service.clock.now()), machine],
      )
    }
  }
  service.clock.advance(MINUTE)
  await workThrough(service, foldHitsJob)
}

const goOn = (service: Service, project: Project) =>
  service.app.services.work.ask(campaignWork, { projectId: project.id })

scenario('The rules of an A/B test', nothingShared, (test) => {
  const result = (number: number, sentCount: number, openedCount: number, clickedCount: number) => ({
    ...{ number, sentCount, openedCount, clickedCount, bouncedCount: 0 },
  })

  test('divide the test by weight, and leave the others out', () => {
    assert.equal(limitsOf(20, [1, 1]), [100_000, 200_000])
    assert.equal(limitsOf(100, [1, 3]), [250_000, 1_000_000])
    assert.equal(limitsOf(1, [1, 1, 1, 1]), [2_500, 5_000, 7_500, 10_000])
  })

  test('choose the highest share, then the other figure, then the first', () => {
    assert.is(winnerOf([result(1, 100, 20, 0), result(2, 10, 3, 0)], 'OPENS')?.number, 2)
    assert.is(winnerOf([result(1, 100, 20, 0), result(2, 10, 3, 0)], 'CLICKS')?.number, 2)
    assert.is(winnerOf([result(1, 10, 3, 1), result(2, 10, 3, 2)], 'OPENS')?.number, 2)
    assert.is(winnerOf([result(1, 10, 0, 0), result(2, 10, 0, 0)], 'OPENS')?.number, 1)
    assert.is(winnerOf([result(1, 0, 0, 0), result(2, 0, 0, 0)], 'CLICKS')?.number, 1)
    assert.is(winnerOf([], 'CLICKS'), null)
  })
})

scenario('An A/B test', startService, (test) => {
  test('gives some of the audience its variants, and the others the winner', async (service) => {
    const { project, ids, id } = await tested(service, 'winner', 60)
    const limits = limitsOf(50, [1, 1])
    for (const { contact_id, variant, status } of await ledgerOf(service, id)) {
      assert.is(variant, variantOf(id, contact_id, limits))
      assert.is(status, variant === null ? 'PENDING' : 'SENT')
    }
    const before = await testOf(service, id, project)
    assert.is(before.winner, null)
    assert.is(
      (await mailOf(service, 'winner-')).length,
      before.variants[0].sentCount + before.variants[1].sentCount,
    )
    await open(service, id, [
      { variant: 2, count: 3 },
      { variant: 1, count: 6, machine: true },
    ])
    await until(
      'the opens are counted',
      async () => (await testOf(service, id, project)).variants[1].openedCount === 3,
    )
    service.clock.advance(61 * MINUTE)
    goOn(service, project)
    const { sentCount } = await reached(service, id, 'SENT', project)
    assert.is(sentCount, 60)
    const { winner, variants } = await testOf(service, id, project)
    assert.is(winner, 2)
    assert.equal(
      variants.map((one: Body) => one.openedCount),
      [0, 3],
    )
    await assertVariantsAddUp(service, id, project)
    const mail = await mailOf(service, 'winner-')
    const contacts = await service.sql<{ id: string; email: string }>(
      'select id, email from contacts where id = any($1)',
      [ids],
    )
    for (const contact of contacts) {
      const own = mail.filter(({ to }) => to === contact.email)
      assert.is(own.length, 1)
      const isFirst = variantOf(id, contact.id, limits) === 1
      assert.is(own[0].subject, isFirst ? 'First' : 'Second')
      assert.ok(own[0].html.includes(isFirst ? 'everything is 20 % off' : `Second for ${contact.email}`))
    }
    const [row] = await service.sql<{ id: string; email: string }>(
      'select e.id, e.to_email as email from emails e where campaign_id = $1 and variant = 2 limit 1',
      [id],
    )
    const query = 'query ($id: ID!) { email(id: $id) { subject body } }'
    const { email } = await graphql(service, query, { id: row?.id }, project)
    assert.is(email.subject, 'Second')
    assert.ok(email.body.startsWith(`<p>Second for ${row?.email}`), email.body)
  })

  test('is decided by hand, once; who is deleted or unsubscribes meanwhile is left out', async (service) => {
    const { project, id } = await tested(service, 'manual', 40)
    const waiting = (await ledgerOf(service, id)).filter(({ variant }) => variant === null)
    const query =
      'query ($a: ID!, $b: ID!) { explainDelivery(campaignId: $a, contactId: $b) { answer variant status } }'
    const [first, second] = waiting
    const { explainDelivery } = await graphql(service, query, { a: id, b: first?.contact_id }, project)
    assert.equal(explainDelivery, {
      answer: 'The contact gets the variant that wins the A/B test, when that is known.',
      variant: null,
      status: 'PENDING',
    })
    await service.as(project).delete(`/contacts/${first?.contact_id}`)
    await service.as(project).call('PATCH', `/contacts/${second?.contact_id}`, { subscribed: false })
    const got = (await ledgerOf(service, id)).find(({ variant }) => variant === 1)
    await service.as(project).delete(`/contacts/${got?.contact_id}`)
    const waits = await stats(service, id, project)
    assert.equal([waits.pendingCount, waits.skippedCount], [waiting.length - 1, 1])
    await assertVariantsAddUp(service, id, project)
    assert.is((await pick(service, id, 3, project)).body.errors[0].extensions.code, 'VALIDATION_ERROR')
    const picked = await Promise.all([1, 2].map((number) => pick(service, id, number, project)))
    const refused = picked.filter(({ body }) => body.errors)
    assert.is(refused.length, 1, 'one of two at the same time')
    assert.is(refused[0]?.body.errors[0].extensions.code, 'CONFLICT')
    const found = await reached(service, id, 'SENT', project)
    assert.equal([found.totalRecipients, found.sentCount, found.skippedCount], [40, 38, 2])
    await assertVariantsAddUp(service, id, project)
  })

  test('is decided once by two workers and a person at the same time', async (service) => {
    const { project, id } = await tested(service, 'raced', 30)
    const slice = () => tried(() => advanceCampaignsJob.slice(service.ctx(project.id), turnOf(project.id)))
    service.clock.advance(61 * MINUTE)
    const held = await hold(service.databaseUrl, 'lock table campaign_variants in access exclusive mode')
    const workers = [slice(), slice()]
    await held.waiters(1)
    const picked = service
      .as(project)
      .graphql('mutation ($id: ID!) { pickWinner(campaignId: $id, variant: 2) { winner } }', { id })
    await held.waiters(2)
    await held.release()
    await Promise.all(workers)
    // A machine that is slow ends the step of the worker: then the person was first.
    const winner = (await picked).body.errors ? 1 : 2
    const { sentCount } = await reached(service, id, 'SENT', project)
    assert.is(sentCount, 30)
    assert.is((await testOf(service, id, project)).winner, winner)
    const limits = limitsOf(50, [1, 1])
    for (const { contact_id, variant } of await ledgerOf(service, id)) {
      assert.is(variant, variantOf(id, contact_id, limits) ?? winner)
    }
    assert.is((await mailOf(service, 'raced-')).length, 30)
    await assertVariantsAddUp(service, id, project)
  })

  test('is decided all the same when the worker is cut off in the middle', async (service) => {
    const { project, id } = await tested(service, 'cut-off', 30)
    service.clock.advance(61 * MINUTE)
    const held = await hold(service.databaseUrl, 'lock table campaign_variants in access exclusive mode')
    const slice = tried(() => advanceCampaignsJob.slice(service.ctx(project.id), turnOf(project.id)))
    await held.waiters(1)
    await service.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    await held.release()
    await slice
    assert.is((await reached(service, id, 'SENT', project)).sentCount, 30)
    assert.is((await testOf(service, id, project)).winner, 1)
    assert.is((await mailOf(service, 'cut-off-')).length, 30)
    await assertVariantsAddUp(service, id, project)
  })

  test('waits while the campaign is paused, ends with it, and its time begins anew', async (service) => {
    const { project, id } = await tested(service, 'halted', 30)
    const act = (name: string) =>
      graphql(service, `mutation ($id: ID!) { ${name}(id: $id) { status } }`, { id }, project)
    await act('pauseCampaign')
    service.clock.advance(61 * MINUTE)
    goOn(service, project)
    await act('resumeCampaign')
    const again = await until('the time is set', async () => {
      const { decidesAt } = await testOf(service, id, project)
      return decidesAt
    })
    assert.ok(new Date(again).getTime() > service.clock.now().getTime() + 50 * MINUTE)
    assert.is((await testOf(service, id, project)).winner, null)
    await act('cancelCampaign')
    const { sentCount, cancelledCount, pendingCount } = await reached(service, id, 'CANCELLED', project)
    assert.equal([pendingCount, sentCount + cancelledCount], [0, 30])
    assert.ok(cancelledCount > 0)
    await assertVariantsAddUp(service, id, project)
  })

  test('of the whole audience ends without a winner', async (service) => {
    const project = await service.newProject('whole')
    await newContacts(service, 20, { prefix: 'whole-' }, project)
    const { id } = await newCampaign(service, {}, project)
    await setTest(service, id, { ...TEST, testPercent: 100 }, project)
    await sendNow(service, id, project)
    assert.is((await reached(service, id, 'SENT', project)).sentCount, 20)
    assert.is((await testOf(service, id, project)).winner, null)
    await assertVariantsAddUp(service, id, project)
  })

  test('is checked, copied, replaced and removed, and cannot be changed once it has begun', async (service) => {
    const project = await service.newProject('Checked')
    const { id } = await newCampaign(service, {}, project)
    const refused = async (input: object) => {
      const answer = await service.as(project).graphql(SET, { id, input })
      return answer.body.errors?.[0].extensions.errors?.map(({ field }: Body) => field)
    }
    assert.equal(await refused({ ...TEST, variants: [{}, { body: '{{#x}}' }] }), ['variants.1.body'])
    assert.ok(await refused({ ...TEST, variants: [{}] }))
    assert.ok(await refused({ ...TEST, testPercent: 0 }))
    const set = await setTest(service, id, { ...TEST, variants: [{}, { body: 'x', weight: 3 }] }, project)
    assert.equal(
      set.variants.map(({ subject, body, weight }: Body) => [subject, body.slice(0, 8), weight]),
      [
        ['Spring is here, {{name ?? friend}}', '<p>Hello', 1],
        ['Spring is here, {{name ?? friend}}', 'x', 3],
      ],
    )
    const copied = await service.as(project).post(`/campaigns/${id}/duplicate`)
    assert.equal(await testOf(service, copied.body.data.id, project), set)
    const removed = 'mutation ($id: ID!) { removeAbTest(campaignId: $id) }'
    await graphql(service, removed, { id: copied.body.data.id }, project)
    assert.is(await testOf(service, copied.body.data.id, project), null)
    const [contactId] = await newContacts(service, 2, { prefix: 'checked-' }, project)
    assert.ok(contactId)
    const send = `mutation ($id: ID!, $variant: Int) {
      testCampaign(id: $id, input: { email: "checked-0@example.org" }, variant: $variant) { emailId } }`
    await graphql(service, send, { id, variant: 2 }, project)
    const [message] = await until('the test arrives', async () => {
      const mail = await mailOf(service, 'checked-0')
      return mail.length > 0 && mail
    })
    assert.ok(message?.html.startsWith('x'))
    assert.ok((await service.as(project).graphql(send, { id, variant: 4 })).body.errors)
    await sendNow(service, id, project)
    const late = await service.as(project).graphql(SET, { id, input: TEST })
    assert.is(late.body.errors[0].extensions.code, 'CONFLICT')
  })
})
