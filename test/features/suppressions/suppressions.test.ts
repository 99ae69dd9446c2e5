import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { startService, until } from '../../support/service.ts'
import { fieldErrors, send } from '../sending/send-support.ts'

scenario('Suppressed addresses', startService, (test) => {
  test('are listed, added and removed, and get no mail meanwhile', async (service) => {
    const { get, post, delete: remove, graphql } = service.as()
    const added = await post('/suppressions', { email: ' Ada@Example.ORG ' })
    assert.is(added.status, 201, added.text)
    const { createdAt, ...rest } = added.body
    assert.equal(rest, {
      projectId: service.project.id,
      email: 'ada@example.org',
      reason: 'MANUAL',
      emailId: null,
    })
    assert.ok(Date.parse(createdAt))
    assert.is((await post('/suppressions', { email: 'ada@example.org' })).body.createdAt, createdAt)
    assert.equal(fieldErrors(await post('/suppressions', { email: 'no address' })), [
      ['email', 'invalid_string'],
    ])
    assert.equal(fieldErrors(await post('/suppressions', {})), [['email', 'required']])
    const [mail] = (await send(service, { to: 'ada@example.org' })).body.data.emails
    await until('it is suppressed', async () => {
      const [row] = await service.sql('select status from emails where id = $1', [mail.email])
      return row?.status === 'SUPPRESSED'
    })
    for (const name of ['b', 'c', 'd']) await post('/suppressions', { email: `${name}@example.org` })
    await service.sql("update suppressions set reason = 'BOUNCE' where email = 'c@example.org'")
    const listed: string[] = []
    let cursor = ''
    for (let page = 0; page < 2; page += 1) {
      const { body } = await get(`/suppressions?limit=2${cursor && `&cursor=${cursor}`}`)
      listed.push(...body.data.map(({ email }: { email: string }) => email))
      assert.is(body.total, page === 0 ? 4 : 0)
      assert.is(body.hasMore, page === 0)
      cursor = body.cursor ?? ''
    }
    assert.equal(listed, ['ada@example.org', 'b@example.org', 'c@example.org', 'd@example.org'])
    const emails = async (query: string) =>
      (await get(`/suppressions?${query}`)).body.data.map(({ email }: { email: string }) => email)
    assert.equal(await emails('search=DA@'), ['ada@example.org'])
    assert.equal(await emails('search=%25'), [])
    assert.equal(await emails('reason=BOUNCE'), ['c@example.org'])
    assert.is((await get('/suppressions?cursor=x')).status, 400)
    const other = await service.newProject()
    assert.equal((await service.as(other).get('/suppressions')).body.data, [])
    assert.is((await service.as(other).delete('/suppressions/ada@example.org')).status, 404)
    assert.is((await remove('/suppressions/ADA@example.org')).status, 204)
    assert.is((await remove('/suppressions/ada@example.org')).status, 404)
    const answer = await graphql('{ suppressions(reason: MANUAL) { total data { email reason } } }')
    assert.equal(answer.body.data.suppressions.total, 2)
  })
})
