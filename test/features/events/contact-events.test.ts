import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { assertGraphQLRefused, assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Body, type Service, startService } from '../../support/service.ts'
import { graphqlValue } from '../contacts/contact-support.ts'
import { EVENT, got, newContacts, record } from './event-support.ts'

const AT = new Date('2026-03-04T05:06:07.890Z')

const QUERY = `query ($contactId: ID!, $limit: Int, $cursor: String) {
  contactEvents(contactId: $contactId, limit: $limit, cursor: $cursor) {
    data { ${EVENT} } cursor hasMore total
  }
}`

async function listed(service: Service, contactId: string, limit = 20, cursor?: string): Promise<Body> {
  const query = new URLSearchParams({ limit: String(limit), ...(cursor && { cursor }) })
  const body = await got(service, `/contact/${contactId}?${query}`)
  const variables = { contactId, limit, ...(cursor && { cursor }) }
  assert.equal(await graphqlValue(service, QUERY, variables, service.project), body, 'GraphQL agrees')
  return body
}

scenario(
  'GET /events/contact/:contactId',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('shows all events of the contact, page by page, the newest first', async (service) => {
      const [ada, bob = ''] = await newContacts(service, 2, service.project)
      const events = Array.from({ length: 12 }, (_, index) => ({
        ...{ name: `e${index % 3}`, contactId: index % 4 === 0 ? bob : ada },
        at: new Date(AT.getTime() + Math.floor(index / 5)),
      }))
      await record(service, events, service.project)
      const rows = await service.sql('select id from events where contact_id = $1 order by id desc', [ada])
      const first = await listed(service, ada, 4)
      assert.equal([first.total, first.hasMore], [9, true])
      const second = await listed(service, ada, 4, first.cursor)
      const third = await listed(service, ada, 4, second.cursor)
      assert.equal([third.total, third.hasMore, third.cursor], [0, false, null])
      const ids = [first, second, third].flatMap(({ data }) => data.map(({ id }: Body) => id))
      assert.equal(
        ids,
        rows.map(({ id }) => id),
      )
      assert.is((await listed(service, ada.toUpperCase())).total, 9, 'ids are the same in capitals')
    })

    test('is empty for a contact that did nothing', async (service) => {
      const [ada] = await newContacts(service, 1, service.project)
      assert.equal(await listed(service, ada), { data: [], cursor: null, hasMore: false, total: 0 })
    })

    test('does not find contacts that there are not', async (service) => {
      const [foreign] = await newContacts(service, 1, await service.newProject())
      for (const [id, code] of [
        [randomUUID(), 'CONTACT_NOT_FOUND'],
        [foreign, 'CONTACT_NOT_FOUND'],
        ['ada', 'RESOURCE_NOT_FOUND'],
      ] as const) {
        assertRefused(await service.as().get(`/events/contact/${id}`), 404, code)
        const answer = await service.as().graphql(QUERY, { contactId: id })
        assertGraphQLRefused(answer, 404, code)
      }
    })

    test('refuses bad cursors and limits', async (service) => {
      const [ada] = await newContacts(service, 1, service.project)
      for (const query of ['limit=0', 'limit=x', 'cursor=x']) {
        assertRefused(await service.as().get(`/events/contact/${ada}?${query}`), 400, 'BAD_REQUEST')
      }
    })
  },
)
