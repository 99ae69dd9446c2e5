import * as assert from 'uvu/assert'
import { readRange, splitRange } from '../../../src/features/event-statistics/event-range.rules.ts'
import { nothingShared, scenario } from '../../support/scenario.ts'

const NOW = new Date('2026-11-20T10:30:00.500Z')

/** The range as texts; a refusal as it is. */
function read(start?: string | null, end?: string | null): string[] | string {
  const range = readRange(start, end, NOW)
  return typeof range === 'string' ? range : [range.from.toISOString(), range.to.toISOString()]
}

const midnight = (day: string) => `${day}T00:00:00.000Z`

scenario('The range of statistics', nothingShared, (test) => {
  test('is the last 30 days by default, with all of today', () => {
    const last30 = [midnight('2026-10-21'), midnight('2026-11-21')]
    assert.equal(read(), last30)
    assert.equal(read(null, ''), last30)
    assert.equal(read(undefined, '2026-03-31'), [midnight('2026-03-02'), midnight('2026-04-01')])
  })

  test('has days whole and instants exact', () => {
    assert.equal(read('2026-03-04', '2026-03-04'), [midnight('2026-03-04'), midnight('2026-03-05')])
    assert.equal(read('2026-03-04T05:06:07.089Z', '2026-03-04T06:06'), [
      '2026-03-04T05:06:07.089Z',
      '2026-03-04T06:06:00.000Z',
    ])
    assert.equal(read('2026-03-04 05:06:07+02:00', '2026-03-04T05:06:07-0130'), [
      '2026-03-04T03:06:07.000Z',
      '2026-03-04T06:36:07.000Z',
    ])
    assert.equal(read('2024-02-29', '2024-02-29'), [midnight('2024-02-29'), midnight('2024-03-01')])
  })

  test('has today whole when it goes on until now or later', () => {
    for (const end of ['2026-11-20T10:30:00.501Z', '2026-11-20T23:00:00.000Z', '2026-11-20']) {
      assert.equal(read('2026-11-19', end), [midnight('2026-11-19'), midnight('2026-11-21')])
    }
    const until = NOW.toISOString()
    assert.equal(read('2026-11-19', until), [midnight('2026-11-19'), until])
  })

  test('is cut to its last 90 days', () => {
    assert.equal(read('2026-01-01', '2026-06-30'), [midnight('2026-04-02'), midnight('2026-07-01')])
    assert.equal(read('2026-04-02', '2026-06-30'), [midnight('2026-04-02'), midnight('2026-07-01')])
    assert.equal(read('2000-01-01'), ['2026-08-22T10:30:00.501Z', midnight('2026-11-21')])
  })

  test('must not be reversed', () => {
    for (const [start, end] of [
      ['2026-03-05', '2026-03-04'],
      ['2026-03-04T05:06:08Z', '2026-03-04T05:06:07Z'],
      ['2026-03-06', '2026-03-04T23:00Z'],
      ['2026-03-05T00:00Z', '2026-03-04'],
      ['2026-11-21', undefined],
    ] as const) {
      assert.is(read(start, end), 'startDate must not be after endDate.')
    }
    assert.equal(read('2026-03-04T23:59Z', '2026-03-04'), [
      '2026-03-04T23:59:00.000Z',
      midnight('2026-03-05'),
    ])
    assert.equal(read('2026-03-04T00:00Z', '2026-03-04T00:00Z'), [
      midnight('2026-03-04'),
      midnight('2026-03-04'),
    ])
  })

  for (const text of [
    ...['today', '2026', '2026-3-4', '2026-02-30', '2026-02-29', '2026-13-01', '2026-00-01', '0000-01-01'],
    ...['2026-03-04T', '2026-03-04T25:00', '2026-03-04T05:06:07+99:00', '2026-03-04T05:06:07 01:00', ' '],
    ...['10000-01-01', '-2026-03-04', '20260304', '1772600767', "2026-03-04'--"],
  ]) {
    test(`is not made of "${text}"`, () => {
      assert.match(String(read(text)), /^startDate must be a date such as/)
      assert.match(String(read(undefined, text)), /^endDate must be a date such as/)
    })
  }

  test('stays inside the years that there are', () => {
    const empty = [midnight('1970-01-01'), midnight('1970-01-01')]
    assert.equal(read('0001-01-01', '0001-01-02'), empty)
    assert.equal(read(undefined, '1969-06-01'), empty)
    const [, to] = read('9999-12-30', '9999-12-31T23:59:59-14:00')
    assert.is(to, '9999-12-31T23:59:59.999Z')
  })
})

const split = (from: string, to: string, countedFrom = '1970-01-01T00:00:00.000Z') => {
  const range = { from: new Date(from), to: new Date(to) }
  const { days, before, after } = splitRange(range, new Date(countedFrom))
  const part = (range: typeof before) =>
    range.from < range.to ? [range.from.toISOString(), range.to.toISOString()] : null
  return { days: days && [days.first, days.last], before: part(before), after: part(after) }
}

scenario('The days of a range', nothingShared, (test) => {
  test('are the whole ones, with what is left before and after them', () => {
    assert.equal(split(midnight('2026-03-04'), midnight('2026-03-06')), {
      ...{ days: ['2026-03-04', '2026-03-05'], before: null, after: null },
    })
    assert.equal(split('2026-03-03T22:00:00.000Z', '2026-03-06T00:00:00.001Z'), {
      days: ['2026-03-04', '2026-03-05'],
      before: ['2026-03-03T22:00:00.000Z', midnight('2026-03-04')],
      after: [midnight('2026-03-06'), '2026-03-06T00:00:00.001Z'],
    })
  })

  test('are those from when on counts are kept', () => {
    const [from, to] = [midnight('2026-03-04'), midnight('2026-03-08')]
    assert.equal(split(from, to, '2026-03-05T10:00:00.000Z'), {
      ...{ days: ['2026-03-06', '2026-03-07'], before: [from, midnight('2026-03-06')], after: null },
    })
    assert.equal(split(from, to, to), { days: null, before: [from, to], after: null })
  })

  test('are none in a range inside two days', () => {
    const [from, to] = ['2026-03-04T01:00:00.000Z', '2026-03-05T23:00:00.000Z']
    assert.equal(split(from, to), { days: null, before: [from, to], after: null })
    assert.equal(split(from, from), { days: null, before: null, after: null })
  })
})
