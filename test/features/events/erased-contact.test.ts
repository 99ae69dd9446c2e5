import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { newContact } from '../contacts/contact-support.ts'
import { addEvents } from '../contacts/erase-support.ts'
import { got } from './event-support.ts'

scenario(
  'Events of a contact that is being erased',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('are not listed, whatever is asked for', async (service) => {
      const [{ id }, other] = [await newContact(service), await newContact(service)]
      await addEvents(service, service.project, id, 1_500)
      await addEvents(service, service.project, other.id, 3)
      const ofOne = await got(service, `?contactId=${id}&limit=2`)
      assert.equal([ofOne.data.length, ofOne.total], [2, 1_500])
      assert.is((await got(service, `?contactId=${id}&limit=2&eventName=other`)).total, 0)
      assert.is((await service.as().delete(`/contacts/${id}`)).status, 204)
      assert.is((await service.sql('select from events where contact_id = $1', [id])).length, 1_500)
      for (const path of ['', '?eventName=seen', `?contactId=${id}`, `?contactId=${id}&eventName=seen`]) {
        const { data, hasMore } = await got(service, path)
        const expected = path.includes('contactId') ? [] : [other.id, other.id, other.id]
        assert.equal(
          [data.map((event: { contactId: string }) => event.contactId), hasMore],
          [expected, false],
          path,
        )
      }
    })
  },
)
