import * as assert from 'uvu/assert'
import { earliestId, newId } from '../../../src/lib/ids.ts'
import { scenario } from '../../support/scenario.ts'
import { startService, until } from '../../support/service.ts'

scenario('What callers may cost', startService, (test) => {
  test('GraphQL keeps a large body only for who may send', async ({ as, call, project }) => {
    const body = { query: '{ __typename }', variables: { x: 'x'.repeat(2_000_000) } }
    assert.is((await call('POST', '/graphql', { body })).status, 413)
    assert.is((await as(project.public).post('/graphql', body)).status, 413)
    assert.is((await as(project).post('/graphql', body)).status, 200)
  })

  test('a list of more items than any field may have is one field error', async ({ as, project }) => {
    const body = { attachments: Array.from({ length: 40_001 }, () => 0) }
    const answer = await as(project).post('/v1/send', body)
    assert.is(answer.status, 422)
    assert.equal(
      answer.body.error.errors.map(({ field, code }: { field: string; code: string }) => [field, code]),
      [['attachments', 'too_big']],
    )
  })

  test('a retention longer than the calendar of ids keeps everything', () => {
    assert.ok(earliestId(new Date(-1)) < newId(new Date(1)))
  })

  test('mail whose sender domain was removed is given up with the reason', async ({ as, project, sql }) => {
    const sent = await as(project).post('/v1/send', {
      to: 'a@example.org',
      from: `x@${project.domain}`,
      subject: 's',
      body: 'b',
    })
    const id = sent.body.data.emails[0].email
    await until(
      'the first delivery',
      async () => (await sql(`select from emails where id = $1 and status = 'SENT'`, [id])).length > 0,
    )
    await sql('delete from domains where project_id = $1', [project.id])
    await sql(`update emails set status = 'PENDING', attempts = 0 where id = $1`, [id])
    await sql(
      'insert into deliveries (project_id, email_id, priority, size, due_at) values ($1, $2, 0, 1, now())',
      [project.id, id],
    )
    const failed = await until('the email to be given up', async () => {
      const [row] = await sql(`select error from emails where id = $1 and status = 'FAILED'`, [id])
      return row
    })
    assert.match(failed.error, /domain was removed/)
  })
})
