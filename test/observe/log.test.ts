import pino from 'pino'
import * as assert from 'uvu/assert'
import { humanLine } from '../../src/observe/human-line.ts'
import { logDatabaseAway, withoutRepeats } from '../../src/observe/log.ts'
import { nothingShared, scenario } from '../support/scenario.ts'

const time = new Date('2026-11-22T08:09:10Z').getTime()
const clock = new Date(time).toTimeString().slice(0, 8)

scenario('The log', nothingShared, (test) => {
  test('says that the database is away once, and then every ten seconds', () => {
    const written: string[] = []
    let now = 0
    const hooks = { logMethod: withoutRepeats(() => now) }
    const log = pino({ base: null, hooks }, { write: (line: string) => void written.push(line) })
    for (now = 0; now < 25_000; now += 500) {
      logDatabaseAway(
        log,
        new AggregateError([new Error('connect ECONNREFUSED ::1:5432'), new Error('and 127.0.0.1')]),
      )
    }
    assert.is(written.length, 3)
    assert.is(JSON.parse(written[0] ?? '').reason, 'connect ECONNREFUSED ::1:5432, and 127.0.0.1')
    log.warn({ err: new Error('x') }, 'something else')
    log.warn('something else')
    assert.is(written.length, 5)
  })

  test('is for people in a terminal', () => {
    const line = (more: object) => humanLine(JSON.stringify({ level: 40, time, ...more }))
    assert.is(
      line({ msg: 'waits', reason: 'no room', count: 3 }),
      `${clock} warn  waits  reason=no room  count=3\n`,
    )
    const request = {
      level: 30,
      msg: 'request',
      requestId: 'x',
      method: 'POST',
      route: '/v1/send',
      status: 200,
      ms: 4.2,
    }
    assert.is(line(request), `${clock} info  POST /v1/send 200 4.2 ms\n`)
    const err = { message: 'it broke', stack: 'Error: it broke\n    at x' }
    assert.is(line({ msg: 'failed', err }), `${clock} warn  failed\n  it broke\n`)
    assert.is(line({ level: 50, msg: 'failed', err }), `${clock} error failed\n  Error: it broke\n    at x\n`)
  })
})
