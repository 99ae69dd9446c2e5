import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { isUntil, readUntil } from '../../src/features/workflows/steps/delay.rules.ts'
import { instantOf, isTimeZone, wallTime } from '../../src/lib/zoned-time.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Pacific/Apia',
]

const until = (text: string, zone: string, now: string) => readUntil(text, zone, new Date(now)).toISOString()

scenario('Times of clocks in time zones', nothingShared, (test) => {
  test('lead back to the instant, or to the earlier one that looks the same', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2040, 0) }),
        (zone, instant) => {
          const wall = wallTime(instant, zone)
          const found = instantOf(wall, zone)
          assert.is(wallTime(found, zone), wall)
          assert.ok(found <= instant && instant - found <= 3_600_000)
        },
      ),
    )
  })

  test('that a clock shows twice are the first one, and those that it leaves out are later', () => {
    // Berlin, 2026: clocks go forward on 29 March at 2:00, and back on 25 October at 3:00.
    const berlin = (wall: string) =>
      new Date(instantOf(Date.parse(`${wall}Z`), 'Europe/Berlin')).toISOString()
    assert.is(berlin('2026-03-29T02:30:00'), '2026-03-29T01:30:00.000Z')
    assert.is(berlin('2026-10-25T02:30:00'), '2026-10-25T00:30:00.000Z')
    assert.is(berlin('2026-07-01T12:00:00'), '2026-07-01T10:00:00.000Z')
  })

  test('are known by names of the IANA database', () => {
    for (const zone of ZONES) assert.ok(isTimeZone(zone))
    assert.not(isTimeZone('Mars/Base'))
  })
})

scenario('What a DELAY waits until', nothingShared, (test) => {
  test('is the next such time of day in the zone, also when clocks change', () => {
    assert.is(until('08:00', 'Europe/Berlin', '2026-03-28T12:00:00Z'), '2026-03-29T06:00:00.000Z')
    assert.is(until('08:00', 'Europe/Berlin', '2026-10-24T12:00:00Z'), '2026-10-25T07:00:00.000Z')
    assert.is(until('08:00', 'Europe/Berlin', '2026-03-28T06:59:59Z'), '2026-03-28T07:00:00.000Z')
    assert.is(until('08:00', 'Europe/Berlin', '2026-03-28T07:00:00Z'), '2026-03-29T06:00:00.000Z')
    assert.is(until('23:30', 'America/New_York', '2026-01-01T02:00:00Z'), '2026-01-01T04:30:00.000Z')
  })

  test('is a time of the zone, or an instant', () => {
    assert.is(until('2030-05-01T08:00', 'Europe/Berlin', '2026-01-01T00:00:00Z'), '2030-05-01T06:00:00.000Z')
    assert.is(until('2030-05-01T08:00:00+05:30', 'UTC', '2026-01-01T00:00:00Z'), '2030-05-01T02:30:00.000Z')
    for (const text of ['tomorrow', '24:00', '2030-02-30T08:00', '2030-05-01', '2030-05-01T8:00', '']) {
      assert.not(isUntil(text), text)
    }
  })
})
