import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { whileHeld } from '../../support/while-held.ts'

scenario(
  'An event that is tracked',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('as its contact is deleted makes the contact anew', async (service) => {
      const track = () =>
        service.call('POST', '/v1/track', {
          key: service.project.public,
          body: { email: 'deleted@example.org', event: 'signed_up' },
        })
      const before = await track()
      const remove = 'delete from contacts where id = $1'
      const answer = await whileHeld(service, remove, [before.body.data.contact], track)
      assert.is(answer.status, 200, answer.text)
      assert.is.not(answer.body.data.contact, before.body.data.contact)
      const contacts = await service.sql('select id from contacts')
      assert.equal(contacts, [{ id: answer.body.data.contact }])
    })
  },
)
