import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { assertAddsUp, mailOf, newCampaign, newContacts, reached, sendNow } from './campaign-support.ts'

scenario('A campaign', startService, (test) => {
  test('goes to every contact of its audience once, rendered for each', async (service) => {
    const prefix = 'all-'
    await newContacts(service, 30, { prefix, data: { name: 'Ada' } })
    await newContacts(service, 5, { prefix: 'not-', subscribed: false })
    const { id } = await newCampaign(service)
    await sendNow(service, id)
    const found = await reached(service, id, 'SENT')
    await assertAddsUp(service, id)
    assert.is(found.sentCount, 30)
    assert.is(found.skippedCount, 5)
    const mail = await mailOf(service, prefix)
    assert.is(mail.length, 30)
    assert.is(new Set(mail.map(({ to }) => to)).size, 30)
    for (const message of mail) {
      assert.is(message.subject, 'Spring is here, Ada')
      assert.match(message.html, 'Hello Ada')
    }
  })
})
