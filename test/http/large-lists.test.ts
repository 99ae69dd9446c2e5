import { once } from 'node:events'
import { connect } from 'node:net'
import * as assert from 'uvu/assert'
import { sendBody } from '../support/mailing.ts'
import { openRaw } from '../support/raw-http.ts'
import { assertGraphQLRefused } from '../support/refusals.ts'
import { scenario, sharedStart } from '../support/scenario.ts'
import { type Project, type Service, startService } from '../support/service.ts'

const start = sharedStart(startService)

/** Templates whose bodies have so many characters, the first one the oldest. */
const makeTemplates = ({ sql }: Service, project: Project, sizes: number[]) =>
  sql(
    `insert into templates (project_id, id, name, subject, body, "from", created_at, updated_at)
     select $1, gen_random_uuid(), 'Template ' || n, 'Ä "quoted"', repeat('ü', size), 'a@example.com',
       now() + n * interval '1 second', now()
     from unnest($2::int[]) with ordinality as wanted (size, n)`,
    [project.id, sizes],
  )

const withoutBodies = (templates: { body: string }[]) =>
  templates.map(({ body, ...rest }) => ({ ...rest, length: body.length }))

scenario('A list over REST that is large', start, (test) => {
  test('keeps no room for a client that asks for its head only', async (service) => {
    const { as, newProject } = service
    const project = await newProject()
    const { secret: key } = project
    await makeTemplates(service, project, [900_000, 900_000, 900_000])
    for (let count = 0; count < 8; count += 1) {
      assert.is((await as(key).call('HEAD', '/templates')).status, 200)
    }
    assert.is((await as(key).get('/templates')).body.total, 3)
  })

  test('is the same whether it is read in pieces or whole', async (service) => {
    const { as, newProject } = service
    const project = await newProject()
    const { secret: key } = project
    const sizes = [900_000, 10, 700_000, 400_000, 0, 1_000_000, 20]
    await makeTemplates(service, project, sizes)
    const { status, headers, body } = await as(key).get('/templates?sort=createdAt&dir=asc')
    assert.is(status, 200)
    assert.is(headers.get('content-length'), null)
    assert.match(headers.get('content-type') ?? '', /^application\/json/)
    assert.equal(
      body.data.map((template: { body: string }) => template.body.length),
      sizes,
    )
    const { data, ...rest } = body
    assert.equal(rest, { total: 7, page: 1, pageSize: 20, totalPages: 1 })
    const alone = await Promise.all(data.map(({ id }: { id: string }) => as(key).get(`/templates/${id}`)))
    assert.equal(withoutBodies(data), withoutBodies(alone.map((answer) => answer.body)))
    const reversed = await as(key).get('/templates?sort=createdAt&dir=desc&pageSize=3&page=2')
    assert.equal(
      reversed.body.data.map((template: { body: string }) => template.body.length),
      sizes.toReversed().slice(3, 6),
    )
  })

  test('may be bare', async ({ as, newProject, sql }) => {
    const project = await newProject()
    await sql(
      `insert into segments (project_id, id, name, slug, type, condition, created_at, updated_at)
       select $1, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Segment ' || n, 'segment-' || n, 'DYNAMIC',
         jsonb_build_object('logic', 'AND', 'groups', repeat('x', 600000)), now(), now()
       from generate_series(1, 4) n`,
      [project.id],
    )
    const { status, body } = await as(project).get('/segments')
    assert.is(status, 200)
    assert.equal(
      body.map(({ name, condition }: { name: string; condition: { groups: string } }) => [
        name,
        condition.groups.length,
      ]),
      [4, 3, 2, 1].map((number) => [`Segment ${number}`, 600_000]),
    )
  })

  test('is not read for HEAD', async (service) => {
    const project = await service.newProject()
    await makeTemplates(service, project, [900_000, 900_000])
    const connection = openRaw(service.url)
    connection.write(`HEAD /templates HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${project.secret}\r\n\r\n`)
    assert.is((await connection.answer({ head: true })).status, 200)
    connection.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n')
    assert.is((await connection.answer()).status, 200)
    connection.end()
  })

  test('is no failure when the client leaves, and leaves room for the next', async (service) => {
    const project = await service.newProject()
    await makeTemplates(
      service,
      project,
      Array.from({ length: 12 }, () => 900_000),
    )
    const leaving = Array.from({ length: 6 }, async () => {
      const connection = openRaw(service.url)
      connection.write(
        `GET /templates HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${project.secret}\r\n\r\n`,
      )
      await new Promise((resolve) => connection.socket.once('data', resolve))
      connection.end()
    })
    await Promise.all(leaving)
    const { status, body } = await service.as(project).get('/templates')
    assert.is(status, 200)
    assert.is(body.data.length, 12)
  })
})

scenario('A list over GraphQL that is large', start, (test) => {
  const QUERY = '{ templates(pageSize: 100) { data { body } } }'

  /** Asks, and takes only the beginning of the answer. */
  async function beginToTake({ url }: Service, { secret }: Project, query: string) {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    const body = JSON.stringify({ query })
    const head = [
      'POST /graphql HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${secret}`,
      'Content-Type: application/json',
    ]
    socket.write(`${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    const [beginning] = await once(socket, 'data')
    socket.pause()
    assert.match(String(beginning), /^HTTP\/1.1 200 /)
    return socket
  }

  test('leaves no room for others while it is not taken, but what writes is answered', async (service) => {
    const { as, newProject } = service
    const project = await newProject()
    const { secret: key } = project
    await makeTemplates(service, project, Array(25).fill(500_000))
    const page = (number: number) => `{ templates(pageSize: 16, page: ${number}) { data { id body } } }`
    const readers = [
      await beginToTake(service, project, page(1)),
      await beginToTake(service, project, page(2)),
    ]
    const to = Array.from({ length: 1_000 }, (_, index) => `${'a'.repeat(60)}${index}@example.org`)
    const mail = sendBody(project, { to })
    const { status, text } = await as(key).post('/v1/send', mail)
    assert.is(status, 200)
    assert.ok(text.length > 180_000)
    for (const reader of readers) reader.destroy()
  })

  test('is answered whole', async (service) => {
    const project = await service.newProject()
    await makeTemplates(service, project, [900_000, 900_000])
    const { body } = await service.as(project).graphql(QUERY)
    assert.equal(
      body.data.templates.data.map((template: { body: string }) => template.body.length),
      [900_000, 900_000],
    )
  })

  test('is refused when it is more than an answer may hold', async (service) => {
    const project = await service.newProject()
    await makeTemplates(
      service,
      project,
      Array.from({ length: 10 }, () => 1_000_000),
    )
    const answer = await service.as(project).graphql(QUERY)
    assertGraphQLRefused(answer, 400, 'BAD_REQUEST')
  })
})
