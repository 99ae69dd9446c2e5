import * as assert from 'uvu/assert'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { startService } from '../../support/service.ts'
import { whileHeld } from '../../support/while-held.ts'
import { contactOf, newContact } from '../contacts/contact-support.ts'

scenario(
  'An event that is tracked',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('as its contact is deleted makes the contact anew', async (service) => {
      const track = () =>
        service
          .as(service.project.public)
          .post('/v1/track', { email: 'deleted@example.org', event: 'signed_up' })
      const before = await track()
      const remove = 'delete from contacts where id = $1'
      const answer = await whileHeld(service, remove, [before.body.data.contact], track)
      assert.is(answer.status, 200, answer.text)
      assert.is.not(answer.body.data.contact, before.body.data.contact)
      const contacts = await service.sql('select id from contacts where project_id = $1', [
        service.project.id,
      ])
      assert.equal(contacts, [{ id: answer.body.data.contact }])
    })

    test('of a contact that is named by its id does not make it anew', async (service) => {
      const { id, email } = await newContact(service, { subscribed: false })
      const track = () => service.as().post('/events/track', { contactId: id, event: 'signed_up' })
      const remove = 'delete from contacts where id = $1'
      assertRefused(await whileHeld(service, remove, [id], track), 404, 'CONTACT_NOT_FOUND')
      assert.equal(await service.sql('select from contacts where email = $1', [email]), [])
    })

    test('by its id finds it under the address that it is being given', async (service) => {
      const { id } = await newContact(service, { subscribed: false })
      const track = () =>
        service.as().post('/events/track', { contactId: id, event: 'signed_up', data: { plan: 'pro' } })
      const rename = `update contacts set email = 'renamed@example.org' where id = $1`
      const answer = await whileHeld(service, rename, [id], track)
      assert.equal([answer.status, answer.body.data?.contact], [200, id], answer.text)
      const contact = await contactOf(service, id)
      assert.equal([contact.email, contact.data], ['renamed@example.org', { plan: 'pro' }])
    })
  },
)
