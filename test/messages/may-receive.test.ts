import * as assert from 'uvu/assert'
import { mayReceive } from '../../src/messages/may-receive.rules.ts'
import { mayReceiveSql } from '../../src/messages/may-receive.sql.ts'
import { scenario } from '../support/scenario.ts'
import { scratchDatabase } from '../support/scratch-database.ts'

const EVERY_CASE = (['TRANSACTIONAL', 'MARKETING', 'HEADLESS'] as const).flatMap((type) =>
  [true, false].flatMap((subscribed) =>
    [true, false].map((suppressed) => ({ type, subscribed, suppressed })),
  ),
)

scenario('Who may receive what', scratchDatabase, (test) => {
  test('transactional mail goes to everybody, other mail to the subscribed, and none to suppressed addresses', () => {
    const allowed = EVERY_CASE.filter(mayReceive).map(
      ({ type, subscribed }) => `${type} ${subscribed ? 'subscribed' : 'unsubscribed'}`,
    )
    assert.equal(allowed, [
      'TRANSACTIONAL subscribed',
      'TRANSACTIONAL unsubscribed',
      'MARKETING subscribed',
      'HEADLESS subscribed',
    ])
  })

  test('SQL says the same in every case', async ({ pool }) => {
    const condition = mayReceiveSql({ type: 'type', subscribed: 'subscribed', suppressed: 'suppressed' })
    const { rows } = await pool.query(
      `select type, subscribed, suppressed, ${condition} as allowed
       from unnest($1::text[], $2::boolean[], $3::boolean[]) as c (type, subscribed, suppressed)`,
      [
        EVERY_CASE.map(({ type }) => type),
        EVERY_CASE.map(({ subscribed }) => subscribed),
        EVERY_CASE.map(({ suppressed }) => suppressed),
      ],
    )
    assert.is(rows.length, EVERY_CASE.length)
    for (const { allowed, ...receiver } of rows)
      assert.is(allowed, mayReceive(receiver), JSON.stringify(receiver))
  })
})
