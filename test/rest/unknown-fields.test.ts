import * as assert from 'uvu/assert'
import { capturedLog } from '../support/captured-log.ts'
import { sendBody } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { type Answer, type Project, type Service, startService } from '../support/service.ts'

const WARNING = 'x-mailwright-warning'
const LOGGED = 'a field of requests is ignored'

async function start() {
  const captured = capturedLog()
  const service = await startService({}, { log: captured.log })
  const logged = (project: Project) =>
    captured.lines().filter(({ msg, projectId }) => msg === LOGGED && projectId === project.id)
  return { ...service, logged }
}

const send = ({ as }: Pick<Service, 'as'>, project: Project, more: object): Promise<Answer> =>
  as(project).post('/v1/send', sendBody(project, more))

scenario('A field that nobody knows', start, (test) => {
  test('is ignored, and the answer names it with the likely one', async (context) => {
    const answer = await send(context, context.project, { replyTo: 'a@example.org', cc: 'b@example.org' })
    assert.is(answer.status, 200)
    assert.is(
      answer.headers.get(WARNING),
      '"replyTo" is not known and was ignored; did you mean "reply"? "cc" is not known and was ignored.',
    )
  })

  test('is not told of where there is none', async (context) => {
    assert.is((await send(context, context.project, {})).headers.get(WARNING), null)
    const { as, project } = context
    const data = { anything: { at: 'all' } }
    const tracked = await as(project.public).post('/v1/track', {
      email: 'ada@example.org',
      event: 'seen',
      data,
    })
    assert.equal([tracked.status, tracked.headers.get(WARNING)], [200, null])
    const condition = {
      logic: 'AND',
      groups: [{ filters: [{ field: 'data.x', operator: 'exists', more: 1 }] }],
    }
    const segment = await as(project).post('/segments', { name: 'S', condition })
    assert.is(segment.headers.get(WARNING), null)
  })

  test('is found in the objects of a list', async (context) => {
    const file = { filename: 'a.txt', content: 'YQ==', contentType: 'text/plain' }
    const answer = await send(context, context.project, { attachments: [file, { ...file, cid: 'x' }] })
    assert.is(answer.status, 200)
    assert.is(
      answer.headers.get(WARNING),
      '"attachments.1.cid" is not known and was ignored; did you mean "attachments.1.contentId"?',
    )
  })

  test('is told of with a request that is refused, in the message of the missing one', async (context) => {
    const answer = await send(context, context.project, { subject: undefined, subjet: 'Hi', colour: 'red' })
    assert.is(answer.status, 422)
    assert.match(
      answer.headers.get(WARNING) ?? '',
      /^"subjet" .* did you mean "subject"\? "colour" is not known/,
    )
    const { errors, suggestion } = answer.body.error
    assert.equal(errors, [
      {
        field: 'subject',
        message: 'is required without a template; "subjet" is not a field: did you mean "subject"?',
        code: 'required',
        received: 'undefined',
      },
    ])
    assert.match(suggestion, /"colour" is not known and was ignored\.$/)
  })

  test('of a query string is told of as well', async ({ as, project }) => {
    const list = (query: string) => as(project).get(`/templates?${query}`)
    assert.is(
      (await list('limit=5&page=1')).headers.get(WARNING),
      '"limit" is not known and was ignored; did you mean "pageSize"?',
    )
    assert.is((await list('pageSize=5&search=a')).headers.get(WARNING), null)
    const id = '0197a3c2-5e00-7000-8000-4d61696c7772'
    const one = await as(project).get(`/contacts/${id}?id=${id}`)
    assert.equal([one.status, one.headers.get(WARNING)], [404, '"id" is not known and was ignored.'])
  })

  test('can have any name, and many of them are cut', async (context) => {
    const strange = { 'a\r\nset-cookie: x': 1, 'ü✉': 2, ['x'.repeat(100_000)]: 3, constructor: 4 }
    const answer = await send(context, context.project, { ...strange, ['__proto__' as string]: 5 })
    assert.is(answer.status, 200)
    assert.is(answer.headers.get('set-cookie'), null)
    assert.match(
      answer.headers.get(WARNING) ?? '',
      /^"a\?\?set-cookie: x" .* "\?\?" .* "x{60}" .*"constructor"/,
    )
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field${index}`, index]))
    const warning = (await send(context, context.project, many)).headers.get(WARNING) ?? ''
    assert.ok(warning.length < 1_000, `${warning.length} characters`)
  })

  test('may be read by pages of anybody', async ({ as, project }) => {
    const answer = await as(project.public).post(
      '/v1/track',
      { email: 'ada@example.org', event: 'seen', propertis: {} },
      { headers: { origin: 'https://page.example' } },
    )
    assert.match(answer.headers.get('access-control-expose-headers') ?? '', /x-mailwright-warning/)
  })

  test('is logged once a project and field, and only so many of a project', async (context) => {
    const [one, other] = [await context.newProject(), await context.newProject()]
    for (const project of [one, one, other]) await send(context, project, { subjet: 'x', cc: 'y' })
    const [first, ...more] = context.logged(one)
    assert.equal(
      [first?.request, first?.field, first?.likely, first?.level],
      ['POST /v1/send', 'subjet', 'subject', 40],
    )
    assert.equal(
      more.map(({ field, likely }) => [field, likely]),
      [['cc', undefined]],
    )
    assert.is(context.logged(other).length, 2)
    for (let index = 0; index < 60; index += 1) await send(context, one, { [`made-up-${index}`]: 1 })
    assert.is(context.logged(one).length, 50)
  })
})
