import * as assert from 'uvu/assert'
import { campaignWork } from '../../../src/features/campaigns/campaign-work.ts'
import { HOUR, MINUTE } from '../../support/clock.ts'
import { scenario } from '../../support/scenario.ts'
import { seeded } from '../../support/seeded.ts'
import { type Body, type Project, type Service, startService, until } from '../../support/service.ts'
import { assertAddsUp, mailOf, newCampaign, newContacts, reached, stats } from './campaign-support.ts'

const SCHEDULE = `mutation ($id: ID!, $input: LocalScheduleInput!) {
  scheduleCampaignLocally(id: $id, input: $input) { status scheduledFor message } }`

const schedule = (service: Service, id: string, input: object, project: Project = service.project) =>
  service.as(project).graphql(SCHEDULE, { id, input })

/** A wall time without its zone, so many milliseconds from now by the clocks of UTC, on a full minute. */
const wallTime = ({ clock }: Service, ms: number) =>
  new Date(clock.now().getTime() + ms).toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length)

const goOn = (service: Service, project: Project) =>
  service.app.services.work.ask(campaignWork, { projectId: project.id })

/** A campaign of a project of its own to one contact in each of the zones, scheduled for a wall time. */
async function scheduled(service: Service, prefix: string, zones: unknown[], input: object) {
  const project = await service.newProject(prefix)
  for (const [index, timezone] of zones.entries()) {
    await newContacts(service, 1, { prefix: `${prefix}-${index}-`, data: { timezone } }, project)
  }
  const { id } = await newCampaign(service, {}, project)
  const answer = await schedule(service, id, input, project)
  assert.is(answer.body.errors, undefined, answer.text)
  return { project, id, answer: answer.body.data.scheduleCampaignLocally }
}

/** Offsets of all kinds, with and without summer time. */
const ZONES = [
  ...['UTC', 'Europe/Berlin', 'America/New_York', 'America/St_Johns', 'Asia/Kolkata', 'Asia/Kathmandu'],
  ...[
    'Australia/Lord_Howe',
    'Pacific/Chatham',
    'Pacific/Kiritimati',
    'Pacific/Honolulu',
    'Africa/Johannesburg',
  ],
]

/** How the instant is shown by clocks of the zone. */
const shown = (instant: Date, timeZone: string) =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
    .format(instant)
    .replace(' ', 'T')

scenario('A campaign at a local time', startService, (test) => {
  test('reaches each recipient when it is that time in its zone', async (service) => {
    const zones = ['Pacific/Kiritimati', 'asia/tokyo', 'Europe/Nowhere', 7, 'Pacific/Honolulu']
    const localTime = wallTime(service, 20 * HOUR)
    const { project, id, answer } = await scheduled(service, 'local', zones, { localTime })
    assert.is(answer.status, 'SCHEDULED')
    assert.is(answer.scheduledFor, `${localTime}:00.000Z`)
    const rest = await service.as(project).get(`/campaigns/${id}`)
    assert.equal([rest.body.data.localTime, rest.body.data.scheduledFor], [undefined, answer.scheduledFor])
    assert.is((await stats(service, id, project)).status, 'SCHEDULED')
    const arrived = async () =>
      (await mailOf(service, 'local-')).map(({ to }) => Number(to.split('-')[1])).toSorted()
    const moments: [hours: number, there: number[]][] = [
      [6.1, [0]],
      [5, [0, 1]],
      [9, [0, 1, 2, 3]],
    ]
    for (const [hours, there] of moments) {
      service.clock.advance(hours * HOUR)
      goOn(service, project)
      await until(`${there.length} have it`, async () => {
        const { sentCount, sendingCount } = await stats(service, id, project)
        return sentCount === there.length && sendingCount === 0
      })
      assert.equal(await arrived(), there)
      const found = await stats(service, id, project)
      assert.equal([found.status, found.totalRecipients], ['SENDING', 5])
      await assertAddsUp(service, id, project)
    }
    const query = `query ($a: ID!, $b: ID!) { explainDelivery(campaignId: $a, contactId: $b) { answer turnAt } }`
    const [last] = await service.sql<{ id: string }>("select id from contacts where email like 'local-4-%'")
    const { body } = await service.as(project).graphql(query, { a: id, b: last?.id })
    const { answer: sentence, turnAt } = body.data.explainDelivery
    assert.is(shown(new Date(turnAt), 'Pacific/Honolulu'), localTime)
    assert.is(sentence, `The turn of the contact comes at ${turnAt}, by its time zone.`)
    service.clock.advance(10 * HOUR)
    goOn(service, project)
    assert.is((await reached(service, id, 'SENT', project)).sentCount, 5)
    await assertAddsUp(service, id, project)
  })

  test('reaches those at once for whom it is over, and the others when a pause is', async (service) => {
    const localTime = wallTime(service, -2 * HOUR)
    const zones = ['UTC', 'Asia/Tokyo', 'America/New_York']
    const { project, id } = await scheduled(service, 'over', zones, { localTime })
    goOn(service, project)
    const sent = async (count: number) =>
      until(`${count} are sent`, async () => (await stats(service, id, project)).sentCount === count)
    await sent(2)
    const act = (name: string) =>
      service.as(project).graphql(`mutation ($id: ID!) { ${name}(id: $id) { status paused } }`, { id })
    await act('pauseCampaign')
    service.clock.advance(6 * HOUR)
    goOn(service, project)
    await until('it is looked at', async () => {
      const [row] = await service.sql('select next_at from campaigns where id = $1', [id])
      return row?.next_at === null
    })
    assert.is((await stats(service, id, project)).pendingCount, 1)
    await act('resumeCampaign')
    assert.is((await reached(service, id, 'SENT', project)).sentCount, 3)
  })

  test('is cancelled while some wait, and counts who is deleted meanwhile', async (service) => {
    const localTime = wallTime(service, 0)
    const zones = ['Asia/Tokyo', 'Pacific/Honolulu', 'Pacific/Honolulu', 'Pacific/Honolulu']
    const { project, id } = await scheduled(service, 'stopped', zones, { localTime })
    goOn(service, project)
    await until('one has it', async () => (await stats(service, id, project)).sentCount === 1)
    const [first] = await service.sql<{ id: string }>(
      "select id from contacts where email like 'stopped-1-%'",
    )
    assert.is((await service.as(project).delete(`/contacts/${first?.id}`)).status, 204)
    const held = await stats(service, id, project)
    assert.equal([held.pendingCount, held.skippedCount], [2, 1])
    await service.as(project).post(`/campaigns/${id}/cancel`)
    const found = await reached(service, id, 'CANCELLED', project)
    assert.equal([found.sentCount, found.skippedCount, found.cancelledCount], [1, 1, 2])
    await assertAddsUp(service, id, project)
    assert.is(
      (await service.sql('select from campaigns where id = $1 and zone_times is not null', [id])).length,
      0,
    )
  })

  test('refuses what is no time, no zone, over everywhere, or has an A/B test', async (service) => {
    const { id } = await newCampaign(service)
    const codeOf = async (input: object, campaignId = id) =>
      (await schedule(service, campaignId, input)).body.errors?.[0].extensions.code
    assert.is(await codeOf({ localTime: '2030-02-30T08:00' }), 'VALIDATION_ERROR')
    assert.is(await codeOf({ localTime: '2030-02-20T08:00Z' }), 'VALIDATION_ERROR')
    assert.is(await codeOf({ localTime: '2030-02-20T08:00', timeZone: 'Mars/Olympus' }), 'VALIDATION_ERROR')
    assert.is(await codeOf({ localTime: wallTime(service, -13 * HOUR) }), 'BAD_REQUEST')
    // It begins at once, so that it is one of its own.
    const begun = await newCampaign(service)
    assert.is(await codeOf({ localTime: wallTime(service, -11 * HOUR) }, begun.id), undefined)
    const input = '{ variants: [{}, {}], testPercent: 10, metric: OPENS, decideAfterMinutes: 5 }'
    const set = `mutation ($id: ID!) { setAbTest(campaignId: $id, input: ${input}) { winner } }`
    const tested = await newCampaign(service)
    assert.is((await service.as().graphql(set, { id: tested.id })).body.errors, undefined)
    const answer = await schedule(service, tested.id, { localTime: '2030-02-20T08:00' })
    assert.is(answer.body.errors[0].extensions.code, 'CONFLICT')
    await schedule(service, id, { localTime: '2030-02-20T08:00' })
    assert.is((await service.as().graphql(set, { id })).body.errors[0].extensions.code, 'CONFLICT')
    const query = 'query ($id: ID!) { campaign(id: $id) { localTime timeZone } }'
    const read = async (): Promise<Body> => (await service.as().graphql(query, { id })).body.data.campaign
    assert.equal(await read(), { localTime: '2030-02-20T08:00:00', timeZone: 'UTC' })
    await service.as().post(`/campaigns/${id}/send`, { scheduledFor: '2031-01-01T00:00:00Z' })
    assert.equal(await read(), { localTime: null, timeZone: null })
  })

  const SHIFTS: [what: string, localTime: string, zone: string, instant: string][] = [
    ['in a gap the time after it', '2030-03-31T02:30', 'Europe/Berlin', '2030-03-31T01:30:00.000Z'],
    ['of two the later one', '2030-10-27T02:30', 'Europe/Berlin', '2030-10-27T01:30:00.000Z'],
    ['in a gap of another rule', '2030-03-10T02:15', 'America/New_York', '2030-03-10T07:15:00.000Z'],
  ]
  for (const [what, localTime, timeZone, instant] of SHIFTS) {
    test(`counts ${what} when clocks are put forward or back`, async (service) => {
      const { id } = await newCampaign(service)
      const answer = await schedule(service, id, { localTime, timeZone })
      assert.is(answer.body.data.scheduleCampaignLocally.scheduledFor, instant)
    })
  }

  test('is that wall time in every zone, on any day', (service) =>
    seeded(async (random) => {
      const { id } = await newCampaign(service)
      for (let round = 0; round < 60; round += 1) {
        const timeZone = ZONES[round % ZONES.length] ?? ''
        const minutes = random.between(0, 3 * 365 * 24 * 60)
        const localTime = new Date(Date.UTC(2027, 0, 1) + minutes * MINUTE).toISOString().slice(0, 16)
        const { body, text } = await schedule(service, id, { localTime, timeZone })
        assert.is(body.errors, undefined, text)
        const instant = new Date(body.data.scheduleCampaignLocally.scheduledFor)
        if (shown(instant, timeZone) === localTime) continue
        // Clocks leave this time out: an hour before they are behind it, and then ahead.
        assert.ok(shown(instant, timeZone) > localTime, `${localTime} ${timeZone}`)
        assert.ok(shown(new Date(instant.getTime() - HOUR), timeZone) < localTime, `${localTime} ${timeZone}`)
      }
    }))
})
