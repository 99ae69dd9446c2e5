import * as assert from 'uvu/assert'
import { scenario } from '../../support/scenario.ts'
import { type Body, startService } from '../../support/service.ts'

const QUERY = `query ($id: ID!, $cursor: String) { exportContact(id: $id, cursor: $cursor) { section records cursor } }`

const start = () => startService({ ROLES: 'http' })

scenario('The export of a contact', start, (test) => {
  test('has all that is kept, in pieces', async ({ as, project, sql, newProject }) => {
    const email = 'ada@example.org'
    const contact = (await as().post('/contacts', { email, data: { plan: 'pro' } })).body
    for (let count = 0; count < 3; count += 1) {
      await as().post('/v1/send', {
        to: email,
        from: `hi@${project.domain}`,
        subject: `Hello ${count}`,
        body: '<p>Secret words</p>',
      })
    }
    await sql(
      `insert into events (project_id, id, contact_id, name, created_at)
       select $1, gen_random_uuid(), $2, 'e' || n, now() from generate_series(1, 250) n`,
      [project.id, contact.id],
    )
    await sql(
      `insert into suppressions (project_id, email, reason, created_at) values ($1, $2, 'BOUNCE', now())`,
      [project.id, email],
    )
    const found: Record<string, Body[]> = {}
    const sizes: number[] = []
    for (let cursor: string | null = null; ; ) {
      const { body, text } = await as().graphql(QUERY, { id: contact.id, cursor })
      assert.ok(body.data, text)
      const piece = body.data.exportContact
      found[piece.section] = [...(found[piece.section] ?? []), ...piece.records]
      sizes.push(piece.records.length)
      cursor = piece.cursor
      if (cursor === null) break
    }
    assert.ok(Math.max(...sizes) <= 100)
    assert.equal(
      found.contact?.map(({ email, data }) => [email, data]),
      [[email, { plan: 'pro' }]],
    )
    assert.is(found.suppression?.length, 1)
    const [counted] = await sql('select count(*)::int as count from events where contact_id = $1', [
      contact.id,
    ])
    assert.is(new Set(found.events?.map(({ id }) => id)).size, counted?.count)
    assert.equal(
      found.emails?.map(({ subject }) => subject),
      ['Hello 0', 'Hello 1', 'Hello 2'],
    )
    assert.match(found.emails?.[0].content.html, /Secret words/)

    const other = await newProject()
    const foreign = await as(other).graphql(QUERY, { id: contact.id })
    assert.is(foreign.body.errors[0].extensions.code, 'CONTACT_NOT_FOUND')
    const wrong = await as().graphql(QUERY, { id: contact.id, cursor: 'x' })
    assert.is(wrong.body.errors[0].extensions.code, 'BAD_REQUEST')
    await as().delete(`/contacts/${contact.id}`)
    assert.is(
      (await as().graphql(QUERY, { id: contact.id })).body.errors[0].extensions.code,
      'CONTACT_NOT_FOUND',
    )
  })
})
