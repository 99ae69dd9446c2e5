import * as assert from 'uvu/assert'
import { readLink } from '../../../src/features/subscriptions/subscription-links.ts'
import { hold } from '../../support/held-lock.ts'
import { scenario } from '../../support/scenario.ts'
import { type Answer, type Body, type Service, startService } from '../../support/service.ts'
import { whileHeld } from '../../support/while-held.ts'
import { send, sent } from './send-support.ts'

const start = () => startService({ ROLES: 'http' })

const times = <Result>(count: number, make: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

const assertAllSent = (answers: Answer[]) => {
  const refused = answers.filter(({ status }) => status !== 200)
  assert.equal(
    refused.map(({ text }) => text),
    [],
  )
}

const emailsOf = ({ sql }: Service, address: string) =>
  sql<Body>(
    `select e.*, c.html from emails e join email_contents c on c.email_id = e.id where e.to_email = $1`,
    [address],
  )

scenario('Sends at the same time', start, (test) => {
  test('to one new address make one contact, and every link is for that contact', async (service) => {
    const to = 'fifty@example.org'
    const body = '{{id}} {{unsubscribeUrl}}'
    const answers = await times(50, () => send(service, { to, body }))
    assertAllSent(answers)
    const [contact, ...others] = await service.sql('select id from contacts where email = $1', [to])
    assert.equal(others, [])
    const emails = await emailsOf(service, to)
    assert.is(emails.length, 50)
    for (const email of emails) {
      const [id, link] = email.html.split(' ')
      assert.equal([email.contact_id, id], [contact?.id, contact?.id])
      const { projectId, contactId, emailId } = readLink(link.split('/').at(-1)) ?? {}
      assert.equal([projectId, contactId, emailId], [service.project.id, contact?.id, email.id])
      assert.is((await service.call('GET', new URL(link).pathname)).status, 200)
    }
    const answered = answers.flatMap(({ body: { data } }) => data.emails)
    assert.equal(new Set(answered.map(({ contact: { id } }: Body) => id)), new Set([contact?.id]))
    assert.equal(new Set(answered.map(({ email }: Body) => email)), new Set(emails.map(({ id }) => id)))
  })

  test('that meet the erasing of their contact go to a new contact of that address', async (service) => {
    const to = 'leaving@example.org'
    const { contact: old } = await sent(service, { to })
    // As erasing does with a contact about whom there is much.
    const hiding = `update contacts set email = 'erased:' || id, data = '{}' where email = '${to}'`
    const lock = await hold(service.databaseUrl, hiding)
    const answering = send(service, { to })
    await lock.waiters(1)
    await lock.release('commit')
    const answer = await answering
    assert.is(answer.status, 200, answer.text)
    const [entry] = answer.body.data.emails
    assert.is.not(entry.contact.id, old.id)
    const [contact] = await service.sql('select email from contacts where id = $1', [entry.contact.id])
    assert.is(contact?.email, to)
    const mine = await service.sql('select from emails where id = $1 and contact_id = $2', [
      entry.email,
      entry.contact.id,
    ])
    assert.is(mine.length, 1)
  })

  for (const [kind, prepare] of [
    ['a new', async () => {}],
    ['a known', (service: Service, to: string) => sent(service, { to })],
  ] as const) {
    test(`to ${kind} contact lose nothing of their data`, async (service) => {
      const to = `merge-${kind.replace(' ', '-')}@example.org`
      await prepare(service, to)
      assertAllSent(await times(50, (index) => send(service, { to, data: { [`key${index}`]: index } })))
      const { contact } = await sent(service, { to })
      assert.equal(
        contact.data,
        Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`key${index}`, index])),
      )
    })
  }

  for (const kind of ['new', 'known']) {
    test(`to the same ${kind} contacts in another order do not block each other`, async (service) => {
      const to = Array.from({ length: 40 }, (_, index) => `${kind}${index}@order.example`)
      if (kind === 'known') await send(service, { to })
      const orders = [to, to.toReversed(), [...to.slice(20), ...to.slice(0, 20)]]
      const answers = await times(30, (index) =>
        send(service, { to: orders[index % 3], data: { turn: index } }),
      )
      assertAllSent(answers)
    })
  }

  test('as a contact is deleted make it anew', async (service) => {
    const to = 'deleted@example.org'
    const before = await sent(service, { to })
    const remove = 'delete from contacts where id = $1'
    const answer = await whileHeld(service, remove, [before.contact.id], () =>
      send(service, { to, body: '{{id}}' }),
    )
    assert.is(answer.status, 200, answer.text)
    const [email, ...others] = await emailsOf(service, to)
    assert.equal(others, [])
    assert.is.not(email.contact_id, before.contact.id)
    assert.is(email.html, email.contact_id)
  })

  test('as the same contact is made by somebody else use that one', async (service) => {
    const to = 'made@example.org'
    const id = '01890000-0000-7000-8000-000000000001'
    const make = `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
      values ($1, $2, $3, true, now(), now())`
    const answer = await whileHeld(service, make, [service.project.id, id, to], () =>
      send(service, { to, body: '{{id}} {{subscribed}}' }),
    )
    assert.is(answer.status, 200, answer.text)
    assert.is(answer.body.data.emails[0].contact.id, id)
    assert.is((await emailsOf(service, to))[0].html, `${id} true`)
  })
})
