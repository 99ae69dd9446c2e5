import * as assert from 'uvu/assert'
import { startApp } from '../../../src/app.ts'
import { DAY_MS, turnOf } from '../../../src/features/delivery/pacing/warm-up.rules.ts'
import { forceVerified } from '../../../src/features/domains/domains.ts'
import { HOUR } from '../../support/clock.ts'
import { pass, type SendingService, sendMail, startSending } from '../../support/mailing.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'
import { type Body, type Project, until } from '../../support/service.ts'
import { newCampaign, newContacts, sendNow } from '../campaigns/campaign-support.ts'

scenario('A schedule of warm-up', nothingShared, (test) => {
  test('has a day for each place in its line, within an hour after midnight', () => {
    const limits = [2, 4, 10]
    const places = [0, 1, 2, 5, 6, 15, 16, 21, 1_000]
    assert.equal(
      places.map((place) => turnOf(limits, place) / HOUR),
      [0, 0.5, 24, 24.75, 48, 48.9, 72, 72.5, 73],
    )
    assert.is(turnOf([], 5), HOUR)
    assert.is(DAY_MS, 24 * HOUR)
  })
})

/** At noon, so that no midnight comes by itself. */
async function start(): Promise<SendingService> {
  const service = await startSending({ DOMAIN_WARM_UP: '50,100,500' })
  const now = service.clock.now().getTime()
  service.clock.advance(DAY_MS - (now % DAY_MS) + 12 * HOUR)
  return service
}

type Context = SendingService

const dayAfter = ({ clock }: Context, days: number): string =>
  new Date(clock.now().getTime() + days * DAY_MS).toISOString().slice(0, 10)

const WARM_UP = 'id domain warmUp { from dailyLimits day limitToday sentToday }'

async function domainOf(context: Context, project: Project, domain = project.domain): Promise<Body> {
  const query = `query ($id: ID!) { domains(projectId: $id) { ${WARM_UP} } }`
  const { body } = await context.as(project).graphql(query, { id: project.id })
  return body.data.domains.find((one: Body) => one.domain === domain)
}

async function setWarmUp(context: Context, project: Project, input: object): Promise<Body> {
  const { id: domainId } = await domainOf(context, project)
  const query = `mutation ($domainId: ID!, $input: WarmUpInput!) { setWarmUp(domainId: $domainId, input: $input) { ${WARM_UP} } }`
  const { body } = await context.as(project).graphql(query, { domainId, input })
  return body.data ? body.data.setWarmUp.warmUp : body
}

const arrivedOf = ({ sink }: Context, { domain }: Project): string[] =>
  sink.arrivals.filter(({ from }) => from.endsWith(`@${domain}`)).map(({ to }) => to)

/** Messages of the project that wait for a time to come, and those that wait for a worker. */
async function waitingOf({ sql, clock }: Context, project: Project) {
  const rows = await sql<{ due_at: Date; taken_by: string | null; contact_id: string; error: string | null }>(
    `select d.due_at, d.taken_by, e.contact_id, e.error from deliveries d
     join emails e on e.project_id = d.project_id and e.id = d.email_id where d.project_id = $1`,
    [project.id],
  )
  const putOff = rows.filter(({ due_at, taken_by }) => taken_by === null && due_at > clock.now())
  return { putOff, rest: rows.length - putOff.length }
}

/** Waits until so many have left, and the others are put off. */
const settled = (context: Context, project: Project, left: number, putOff: number) =>
  until(`${left} have left and ${putOff} wait`, async () => {
    const waiting = await waitingOf(context, project)
    const isSo = arrivedOf(context, project).length >= left && waiting.putOff.length === putOff
    return isSo && waiting.rest === 0 && waiting.putOff
  })

async function sendCampaign(context: Context, project: Project, recipients: number): Promise<string> {
  await newContacts(context, recipients, {}, project)
  const { id } = await newCampaign(context, {}, project)
  await sendNow(context, id, project)
  return id
}

scenario('The warm-up of a domain', start, (test) => {
  test('holds campaigns back to their days, and transactional mail never', async (context) => {
    const project = await context.newProject()
    const dailyLimits = [5, 4, 100]
    const today = dayAfter(context, 0)
    assert.equal(await setWarmUp(context, project, { dailyLimits }), {
      ...{ from: today, dailyLimits, day: 1, limitToday: 5, sentToday: 0 },
    })
    const [entry] = await context.sql(
      `select changes from audit_entries where project_id = $1 and action = 'domain.setWarmUp' and target = $2`,
      [project.id, project.domain],
    )
    assert.equal(entry?.changes, { dailyLimits, from: today })

    const campaignId = await sendCampaign(context, project, 12)
    const putOff = await settled(context, project, 5, 7)
    assert.is(arrivedOf(context, project).length, 5)
    const days = putOff.map(({ due_at }) => due_at.toISOString().slice(0, 13)).toSorted()
    const [next, third] = [dayAfter(context, 1), dayAfter(context, 2)]
    assert.equal(days, [...Array(4).fill(`${next}T00`), ...Array(3).fill(`${third}T00`)])

    const [held] = putOff
    const query = `query ($campaignId: ID!, $contactId: ID!) {
      explainDelivery(campaignId: $campaignId, contactId: $contactId) { answer email { error } } }`
    const explained = await context.as(project).graphql(query, { campaignId, contactId: held?.contact_id })
    const { answer, email } = explained.body.data.explainDelivery
    assert.match(answer, /The warm-up of .* allows 5 messages today/)
    assert.match(email.error, `waits until ${held?.due_at.toISOString().slice(0, 13)}`)

    await sendMail(context, 'urgent@firm.example', {}, project)
    await until('it leaves', () => arrivedOf(context, project).includes('urgent@firm.example'))
    await until('it is counted', async () => (await domainOf(context, project)).warmUp.sentToday === 6)

    context.clock.advance(13.5 * HOUR)
    pass({ ...context, project }, 0)
    await settled(context, project, 10, 3)
    assert.is(arrivedOf(context, project).length, 10)
    const { warmUp } = await domainOf(context, project)
    assert.equal(warmUp, { from: today, dailyLimits, day: 2, limitToday: 4, sentToday: 4 })

    context.clock.advance(3 * DAY_MS)
    pass({ ...context, project }, 0)
    await settled(context, project, 13, 0)
    await sendCampaign(context, project, 3)
    await until('nothing is limited', () => arrivedOf(context, project).length >= 16)
    const over = await domainOf(context, project)
    assert.equal([over.warmUp.day, over.warmUp.limitToday], [null, null])
    const rows = await context.sql('select sent from warm_up_days where project_id = $1 order by day', [
      project.id,
    ])
    assert.equal(
      rows.map(({ sent }) => sent),
      [6, 4],
      'nothing is counted afterwards',
    )
    context.clock.advance(10.5 * HOUR)
  })

  test('is changed and ended at once, and holds up no other tenant', async (context) => {
    const [project, other] = [await context.newProject(), await context.newProject()]
    await setWarmUp(context, project, { dailyLimits: [1, 1] })
    await sendCampaign(context, project, 10)
    await settled(context, project, 1, 9)
    await sendCampaign(context, other, 10)
    await settled(context, other, 10, 0)
    await setWarmUp(context, project, { dailyLimits: [4, 1] })
    await settled(context, project, 4, 6)
    assert.is(arrivedOf(context, project).length, 4)
    assert.is(await setWarmUp(context, project, { dailyLimits: [] }), null)
    await settled(context, project, 10, 0)
    assert.equal(await context.sql('select from warm_up_days where project_id = $1', [other.id]), [])
  })

  test('is shared exactly by two services', async (context) => {
    const { app, clock } = context
    const second = await startApp({ ...app.config, port: 0 }, app.services.log, clock)
    try {
      const project = await context.newProject()
      await setWarmUp(context, project, { dailyLimits: [37, 1_000] })
      await sendCampaign(context, project, 120)
      await settled(context, project, 37, 83)
      assert.is(arrivedOf(context, project).length, 37)
      assert.is((await domainOf(context, project)).warmUp.sentToday, 37)
    } finally {
      await second.stop()
    }
  })

  test('begins for new domains when they are verified', async (context) => {
    const project = await context.newProject()
    const dailyLimits = [50, 100, 500]
    const waits = { from: null, dailyLimits, day: null, limitToday: null, sentToday: 0 }
    assert.equal((await domainOf(context, project)).warmUp, waits)
    const { domain } = await forceVerified(context.ctx(project.id), `own-${project.domain}`)
    assert.equal((await domainOf(context, project, domain)).warmUp, {
      ...{ from: dayAfter(context, 0), dailyLimits, day: 1, limitToday: 50, sentToday: 0 },
    })
  })

  test('refuses what is no schedule, and domains of others', async (context) => {
    const bad: [object, string][] = [
      [{ dailyLimits: [0] }, 'input.dailyLimits.0'],
      [{ dailyLimits: Array(101).fill(1) }, 'input.dailyLimits'],
      [{ dailyLimits: [1], from: 'soon' }, 'input.from'],
    ]
    for (const [input, field] of bad) {
      const body = await setWarmUp(context, context.project, input)
      assert.is(body.errors[0].extensions.code, 'VALIDATION_ERROR', field)
    }
    const stranger = await context.newProject()
    const { id } = await domainOf(context, context.project)
    const query = `mutation { setWarmUp(domainId: "${id}", input: { dailyLimits: [1] }) { id } }`
    const { body } = await context.as(stranger).graphql(query)
    assert.is(body.errors[0].extensions.code, 'DOMAIN_NOT_FOUND')
  })
})
