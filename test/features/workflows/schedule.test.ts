import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { nextTime, parseCron } from '../../../src/lib/cron.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { newSegment } from '../segments/segment-support.ts'
import {
  addStep,
  advance,
  connect,
  DAY,
  enable,
  executionsOf,
  MINUTE,
  newContact,
  newWorkflow,
} from './workflow-support.ts'

const next = (cron: string, after: string, zone = 'UTC') => {
  const parsed = parseCron(cron)
  return (parsed && nextTime(parsed, new Date(after), zone)?.toISOString()) ?? null
}

scenario('Cron expressions', nothingShared, (test) => {
  test('say when, in their time zone, also when clocks change', () => {
    assert.is(next('0 9 * * mon-fri', '2026-11-20T09:00:00Z'), '2026-11-23T09:00:00.000Z')
    assert.is(next('*/15 8-9 1,15 jan *', '2026-11-20T09:00:00Z'), '2027-01-01T08:00:00.000Z')
    assert.is(next('0 9 * * *', '2026-03-28T12:00:00Z', 'Europe/Berlin'), '2026-03-29T07:00:00.000Z')
    assert.is(next('30 2 * * *', '2026-03-28T12:00:00Z', 'Europe/Berlin'), '2026-03-29T01:30:00.000Z')
    assert.is(next('30 2 * * *', '2026-10-24T12:00:00Z', 'Europe/Berlin'), '2026-10-25T00:30:00.000Z')
    assert.is(next('30 2 * * *', '2026-10-25T00:30:00Z', 'Europe/Berlin'), '2026-10-26T01:30:00.000Z')
    assert.is(next('0 0 13 * fri', '2026-11-10T00:00:00Z'), '2026-11-13T00:00:00.000Z')
    assert.is(next('0 0 29 2 *', '2026-11-10T00:00:00Z'), '2028-02-29T00:00:00.000Z')
  })

  test('are refused when they say nothing', () => {
    for (const cron of [
      '',
      '* * * *',
      '60 * * * *',
      '* 24 * * *',
      '* * 0 * *',
      '5-1 * * * *',
      '*/0 * * * *',
      'a b c d e',
      '0 0 30 2 *',
    ]) {
      assert.is(next(cron, '2026-01-01T00:00:00Z'), null, cron)
    }
  })

  test('mean the first minute that fits', () => {
    const number = (from: number, to: number) => fc.integer({ min: from, max: to }).map(String)
    const field = (from: number, to: number) =>
      fc.oneof(
        fc.constantFrom('*', '*/7'),
        number(from, to),
        number(from, to).map((low) => `${low}-${to}/2`),
      )
    const fits = (text: string, value: number): boolean => {
      const [, low, range, by] = /^(?:\*|(\d+)(-\d+)?)(?:\/(\d+))?$/.exec(text) ?? []
      if (low !== undefined && range === undefined) return value === Number(low)
      const distance = value - Number(low ?? 0)
      return distance >= 0 && distance % Number(by ?? 1) === 0
    }
    fc.assert(
      fc.property(
        fc.tuple(field(0, 59), field(0, 23), field(0, 6)),
        fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2030, 0) }),
        ([minute, hour, weekday], time) => {
          const isRight = (date: Date) =>
            fits(minute, date.getUTCMinutes()) &&
            fits(hour, date.getUTCHours()) &&
            fits(weekday, date.getUTCDay())
          let at = Math.floor(time / MINUTE) * MINUTE + MINUTE
          while (!isRight(new Date(at))) at += MINUTE
          const found = next(`${minute} ${hour} * * ${weekday}`, new Date(time).toISOString())
          assert.is(found, new Date(at).toISOString())
        },
      ),
    )
  })
})

scenario(
  'A SCHEDULE',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('starts an execution for each member, and what it has missed once', async (service) => {
      const segment = await newSegment(service)
      const members = [1, 2, 3].map(() => newContact(service, { data: { plan: 'pro' } }))
      const ids = (await Promise.all(members)).map(({ id }) => id)
      await newContact(service, { data: { plan: 'free' } })
      const workflow = await newWorkflow(service, { allowReentry: true })
      const exit = await addStep(service, workflow.id, { type: 'EXIT' })
      await connect(service, workflow.id, { fromStepId: workflow.steps[0].id, toStepId: exit.id })
      const refused = await service.as().patch(`/workflows/${workflow.id}`, {
        triggerType: 'SCHEDULE',
        triggerConfig: { cron: '0 25 * * *', timezone: 'Mars/Base', segmentId: segment.id },
      })
      assert.equal(
        refused.body.error.errors.map(({ field }: { field: string }) => field),
        ['triggerConfig.cron', 'triggerConfig.timezone'],
      )
      const triggerConfig = { cron: '0 9 * * *', timezone: 'Europe/Berlin', segmentId: segment.id }
      await enable(service, workflow.id, { triggerType: 'SCHEDULE', triggerConfig })
      await advance(service)
      assert.equal(await executionsOf(service, workflow.id), [])
      service.clock.advance(DAY)
      await advance(service)
      const first = await executionsOf(service, workflow.id)
      assert.equal(first.map(({ contactId }) => contactId).toSorted(), ids.toSorted())
      assert.ok(first.every(({ status }) => status === 'EXITED'))
      await advance(service)
      assert.is((await executionsOf(service, workflow.id)).length, 3)
      service.clock.advance(3 * DAY)
      await advance(service)
      assert.is((await executionsOf(service, workflow.id)).length, 6)
      assert.is((await service.as().patch(`/workflows/${workflow.id}`, { enabled: false })).status, 200)
      service.clock.advance(DAY)
      await advance(service)
      assert.is((await executionsOf(service, workflow.id)).length, 6)
      assert.is((await service.as().delete(`/segments/${segment.id}`)).status, 409)
    })
  },
)
