import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'

scenario('POST /v1/track', startService, (test) => {
  test('makes the contact, subscribed, and records the event', async ({ call, project, sql }) => {
    const answer = await call('POST', '/v1/track', {
      key: project.public,
      body: {
        email: ' Ada@Example.org ',
        event: 'signed_up',
        data: { plan: 'pro', once: { value: 1, persistent: false } },
      },
    })
    assert.is(answer.status, 200)
    assert.is(answer.body.success, true)
    const [contact] = await sql('select * from contacts where id = $1', [answer.body.data.contact])
    assert.is(contact?.email, 'ada@example.org')
    assert.is(contact?.subscribed, true)
    assert.equal(contact?.data, { plan: 'pro' })
    const [event] = await sql('select * from events where id = $1', [answer.body.data.event])
    assert.equal(event?.data, { plan: 'pro', once: 1 })
    assert.is(event?.created_at.toISOString(), answer.body.data.timestamp)
  })
})
