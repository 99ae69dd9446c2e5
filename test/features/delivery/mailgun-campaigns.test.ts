import { setTimeout as pause } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { campaignWork } from '../../../src/features/campaigns/campaign-work.ts'
import { mailDeliveryWork } from '../../../src/features/delivery/mail-delivery.ts'
import { PRIORITIES } from '../../../src/queue/priorities.ts'
import { MINUTE } from '../../support/clock.ts'
import { type MailgunAnswer, type MailgunApi, startMailgunApi } from '../../support/mailgun-api.ts'
import { pass, sendMail } from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { type Project, type Service, startService, until } from '../../support/service.ts'
import {
  assertAddsUp,
  newCampaign,
  newContacts,
  reached,
  sendNow,
  stats,
} from '../campaigns/campaign-support.ts'

type Answering = (to: string[]) => MailgunAnswer | undefined | Promise<MailgunAnswer | undefined>
type Context = Service & { api: MailgunApi; answerWith: (answer: Answering) => void }

async function start(): Promise<Context> {
  const state: { answer: Answering } = { answer: () => undefined }
  const api = await startMailgunApi({ answer: (to) => state.answer(to) })
  const service = await startService({ ...api.env, DESTINATION_LIMITS: 'gmail=0.05/s:1' })
  return {
    ...service,
    api,
    answerWith: (answer) => {
      state.answer = answer
      api.calls.length = 0
      api.refused.length = 0
    },
    stop: async () => {
      await service.stop()
      await api.stop()
    },
  }
}

const UNKNOWN = { status: 400, message: "'to' parameter is not a valid address. please check documentation" }
/** What was read about a message holds for a second and a half of the real time. */
const untilForgotten = () => pause(1_700)

/** A campaign whose messages are all in the queue before the first of them is taken. */
async function queued(context: Context, project: Project, fields: object = {}): Promise<string> {
  const { sql } = context
  await sql(
    `create or replace function hold_back() returns trigger language plpgsql as
     'begin new.due_at := now() + interval ''1 hour''; return new; end'`,
  )
  await sql('create trigger hold_back before insert on deliveries for each row execute function hold_back()')
  const { id } = await newCampaign(context, fields, project)
  await sendNow(context, id, project)
  await until('all are queued', async () => {
    const found = await stats(context, id, project)
    return found.status === 'SENDING' && found.pendingCount === 0 && found.sendingCount > 0
  })
  await sql('drop trigger hold_back on deliveries')
  return id
}

async function release({ sql, app }: Context, project: Project): Promise<void> {
  await sql('update deliveries set due_at = now() where project_id = $1', [project.id])
  const asked = { projectId: project.id, priority: PRIORITIES.campaign, standing: 'left' as const }
  app.services.work.ask(mailDeliveryWork, asked)
  // It would look again when its messages were to be due.
  await sql('update campaigns set next_at = now() where project_id = $1 and next_at is not null', [
    project.id,
  ])
  app.services.work.ask(campaignWork, { projectId: project.id })
}

/** Of what the provider was told to tell a reader; the end of a message may have got another line break on the way. */
const readIn = (message: Awaited<ReturnType<MailgunApi['messages']>>[number]) => ({
  to: message.to,
  subject: message.subject,
  html: message.html.replaceAll('\r\n', '\n').trimEnd(),
  text: message.text.replaceAll('\r\n', '\n').trimEnd(),
  headers: ['list-unsubscribe', 'list-unsubscribe-post', 'message-id'].map((name) => message.headers[name]),
})

const SECTIONS =
  '{{#tags}}<li>{{.}}</li>{{/tags}}{{^tags}}<li>none at all, so there is nothing to show</li>{{/tags}}'

/** Bodies as people write them, and worse. */
const BODIES = [
  '<p>Hello {{name}}, everything is 20 % off, as <b>{{email}}</b> knows since this morning.</p>',
  `<html><body><h1>Dear {{name ?? friend}}</h1>\r\n<ul>${SECTIONS}</ul>\r\n<p><a href="https://shop.example/a?x=1&amp;y='2'">A link that is followed</a></p></body></html>`,
  'Hello {{name}},\r\n\r\nthis is only text, with line breaks, and 100 % of it counts.\nBye, {{name}}',
  '<div>{{{name}}} as it is, and here is the way out: <a href="{{unsubscribeUrl}}">the way out</a></div>',
  '<BODY bgcolor=white>No variable at all, but for the footer and the pixel.</BODY><!-- </body> -->',
  '{{#name}}<p>Everything of this message is inside of a section: {{name}}, {{data.city}}</p>{{/name}}',
  '<p>{{name}}{{city}}</p>\n{{! a comment }}\n<p>50%{{name}}%recipe, at 100%</p>\n{{#city}}\n<p>{{city}}</p>\n{{/city}}\n',
]

const PEOPLE = [
  { name: 'Ada', city: 'London', tags: ['a', 'b'] },
  { name: 'Bücher & "Söhne" <b>', city: '東京 👩‍👩‍👧', tags: [] },
  { name: '%', city: 'line\r\nbreak\n\rin it', locale: 'de' },
  { name: "O'Neill \\n \\u0026", tags: ['100%', '</body>'], locale: 'fr-CA' },
  { city: '  ' },
  { name: 'something that everybody reads '.repeat(20) },
]

scenario('Campaigns that leave by Mailgun', start, (test) => {
  test('reach thousands in a few calls, each with what is their own', async (context) => {
    const { api, answerWith, sql, newProject } = context
    answerWith(() => undefined)
    const project = await newProject()
    await newContacts(context, 1_200, { prefix: 'many-' }, project)
    await sql(
      "update contacts set data = data || jsonb_build_object('name', 'N' || (data ->> 'number')) where project_id = $1",
      [project.id],
    )
    const id = await queued(context, project)
    await release(context, project)
    const found = await reached(context, id, 'SENT', project)
    assert.is(found.sentCount, 1_200)
    await assertAddsUp(context, id, project)
    // On a slow machine messages do not wait for all others.
    assert.ok(api.calls.length <= 120, `${api.calls.length} calls`)
    const messages = await api.messages()
    assert.is(new Set(messages.map(({ to }) => to)).size, 1_200)
    assert.is(messages.length, 1_200)
    const rows = await sql(
      `select e.id, e.to_email as "to", e.subject, e.message_id as "messageId", e.provider_message_id as "providerId",
         c.data ->> 'name' as name from emails e join contacts c on c.project_id = e.project_id and c.id = e.contact_id
       where e.campaign_id = $1`,
      [id],
    )
    const rowOf = new Map(rows.map((row) => [row.to, row]))
    for (const { to, subject, html, headers, variables } of messages) {
      const row = rowOf.get(to)
      assert.equal(
        [subject, row?.subject, variables.email_id, headers['message-id']],
        [`Spring is here, ${row?.name}`, subject, row?.id, row?.messageId],
      )
      assert.match(html, `Hello ${row?.name},`)
      assert.match(row?.providerId, /@mailgun\.example$/)
    }
    assert.is(new Set(messages.map(({ headers }) => headers['list-unsubscribe'])).size, 1_200)
  })

  for (const [index, body] of BODIES.entries()) {
    test(`say to each what a call of their own says (body ${index + 1})`, async (context) => {
      const { api, answerWith, sql, newProject } = context
      // Refused together, they are tried one by one: the same messages in both forms.
      answerWith((to) => (to.length > 1 ? UNKNOWN : undefined))
      const project = await newProject()
      await sql("update projects set tracking = 'ENABLED' where id = $1", [project.id])
      for (const [number, data] of PEOPLE.entries()) {
        await newContacts(context, 1, { prefix: `person-${number}-`, data }, project)
      }
      const id = await queued(context, project, { body, subject: 'For {{name ?? you}}: {{city}}' })
      await release(context, project)
      await reached(context, id, 'SENT', project)
      const [first] = api.refused.toSorted((a, b) => b.to.length - a.to.length)
      assert.is(first?.to.length, PEOPLE.length)
      const byAddress = (a: { to: string }, b: { to: string }) => (a.to < b.to ? -1 : 1)
      const together = (await api.messages(first && [first])).map(readIn).toSorted(byAddress)
      const alone = (await api.messages()).map(readIn).toSorted(byAddress)
      assert.equal(together, alone)
      const [row] = await sql(
        'select count(*)::int as count from emails where campaign_id = $1 and attempts = 1',
        [id],
      )
      assert.is(row?.count, PEOPLE.length)
    })
  }

  test('send alone what the provider would take for its own words, or does not find', async (context) => {
    const { api, answerWith, newProject } = context
    answerWith(() => undefined)
    const project = await newProject()
    await newContacts(context, 3, { prefix: 'usual-', data: { name: 'Ada' } }, project)
    await newContacts(context, 1, { prefix: 'words-', data: { name: '%recipient.email_id%' } }, project)
    await newContacts(context, 1, { prefix: 'split-', data: { name: 'recipient.b1%' } }, project)
    await newContacts(context, 1, { prefix: 'plus+', data: { name: 'Grace' } }, project)
    await newContacts(context, 1, { prefix: 'subject-', data: { name: 'Ada', city: '%recipient%' } }, project)
    const id = await queued(context, project, {
      subject: 'From {{city ?? here}}',
      body: '<p>To {{name}}, of whom we have thought a lot lately.</p>',
    })
    await release(context, project)
    await reached(context, id, 'SENT', project)
    const sizes = api.calls.map(({ to, path }) => [to.length, path.endsWith('.mime')])
    assert.equal(sizes.toSorted(), [
      [1, true],
      [1, true],
      [1, true],
      [1, true],
      [3, false],
    ])
    assert.ok((await api.messages()).some(({ subject }) => subject === 'From %recipient%'))
    const read = new Map((await api.messages()).map(({ to, html }) => [to.split('@')[0], html]))
    assert.match(read.get('words-0') ?? '', '<p>To %recipient.email_id%, of whom')
    assert.match(read.get('split-0') ?? '', '<p>To recipient.b1%, of whom')
    assert.match(read.get('plus+0') ?? '', '<p>To Grace, of whom')
    // The template itself may say such a word.
    answerWith(() => undefined)
    const other = await queued(context, project, {
      body: '<p>{{name}}: %recipient.subject% and %unsubscribe_url%</p>',
    })
    await release(context, project)
    await reached(context, other, 'SENT', project)
    assert.is(api.calls.length, 7)
    assert.ok(api.calls.every(({ path }) => path.endsWith('.mime')))
  })

  test('fail for the one address that is refused, and for nobody else', async (context) => {
    const { api, answerWith, sql, newProject } = context
    answerWith((to) => (to.some((one) => one.startsWith('bad-')) ? UNKNOWN : undefined))
    const project = await newProject()
    await newContacts(context, 60, { prefix: 'good-' }, project)
    await newContacts(context, 1, { prefix: 'bad-' }, project)
    await newContacts(context, 40, { prefix: 'more-' }, project)
    const id = await queued(context, project)
    await release(context, project)
    const found = await reached(context, id, 'SENT', project)
    assert.equal([found.sentCount, found.failedCount], [100, 1])
    await assertAddsUp(context, id, project)
    assert.ok(
      api.calls.length + api.refused.length <= 20,
      `${api.calls.length} and ${api.refused.length} calls`,
    )
    assert.is(new Set(api.recipients()).size, 100)
    assert.is(api.recipients().length, 100)
    const rows = await sql(
      "select to_email, error, attempts from emails where campaign_id = $1 and status = 'FAILED'",
      [id],
    )
    assert.equal(rows, [
      { to_email: 'bad-0@example.org', error: `Mailgun: ${UNKNOWN.message} (400)`, attempts: 1 },
    ])
  })

  for (const [status, message] of [
    [429, 'Too many requests'],
    [503, 'Try again later'],
  ] as const) {
    test(`are tried again after an answer ${status}, by all of its recipients`, async (context) => {
      const { api, answerWith, clock, sql, newProject } = context
      answerWith(() => ({ status, message }))
      const project = await newProject()
      await newContacts(context, 20, {}, project)
      const id = await queued(context, project)
      await release(context, project)
      await until('all were refused once', async () => {
        const rows = await sql('select attempts, error from emails where campaign_id = $1', [id])
        return rows.every(
          ({ attempts, error }) => attempts === 1 && error === `Mailgun: ${message} (${status})`,
        )
      })
      assert.is(api.refused.length, 1)
      answerWith(() => undefined)
      clock.advance(2 * MINUTE)
      await release(context, project)
      const found = await reached(context, id, 'SENT', project)
      assert.is(found.sentCount, 20)
      assert.is(api.recipients().length, 20)
      assert.ok(api.calls.length <= 3, `${api.calls.length} calls`)
    })
  }

  test('wait without an attempt while Mailgun does not serve the domain', async (context) => {
    const { api, answerWith, sql, newProject } = context
    const project = await newProject()
    answerWith((to) =>
      to.length > 1 ? { status: 404, message: `Domain not found: ${project.domain}` } : undefined,
    )
    await newContacts(context, 10, {}, project)
    const id = await queued(context, project)
    await release(context, project)
    await until('it is known', async () => (await sql('select from provider_troubles')).length > 0)
    answerWith(() => undefined)
    const found = await reached(context, id, 'SENT', project)
    assert.is(found.sentCount, 10)
    assert.is(api.recipients().length, 10)
    const rows = await sql('select distinct attempts from emails where campaign_id = $1', [id])
    assert.equal(rows, [{ attempts: 1 }])
  })

  /** A campaign to 16; once its first call is there, something happens, and then the call is refused. */
  async function interrupted(context: Context, happens: (id: string, project: Project) => Promise<unknown>) {
    const project = await context.newProject()
    await newContacts(context, 16, {}, project)
    const id = await queued(context, project)
    let isFirst = true
    context.answerWith(async (to) => {
      if (!isFirst) return to.length > 8 ? UNKNOWN : undefined
      isFirst = false
      await happens(id, project)
      await untilForgotten()
      return UNKNOWN
    })
    await release(context, project)
    return { id, project }
  }

  test('keep to the rate of a destination', async (context) => {
    const { api, answerWith, newProject } = context
    answerWith(() => undefined)
    const project = await newProject()
    for (const email of ['a@gmail.com', 'b@gmail.com', 'c@gmail.com', 'd@firm.example', 'e@firm.example']) {
      await context.as(project).post('/contacts', { email, subscribed: true })
    }
    const id = await queued(context, project)
    await release(context, project)
    const told = () => api.calls.flatMap(({ to }) => to)
    const atGmail = () => told().filter((to) => to.endsWith('@gmail.com')).length
    await until('all others have it', () => told().length - atGmail() === 2 && atGmail() === 1)
    for (const count of [2, 3]) {
      pass({ ...context, project }, 20_500)
      await until(`${count} of them have it`, () => atGmail() >= count)
      assert.is(atGmail(), count)
    }
    await reached(context, id, 'SENT', project)
  })

  test('are cancelled between two calls', async (context) => {
    const cancel = (id: string, project: Project) => context.as(project).post(`/campaigns/${id}/cancel`)
    const { id, project } = await interrupted(context, cancel)
    const found = await reached(context, id, 'CANCELLED', project)
    assert.equal([found.sentCount, found.cancelledCount], [0, 16])
    assert.equal(context.api.recipients(), [])
  })

  test('are paused between two calls, and resumed: everybody gets it once', async (context) => {
    const act = (name: string, id: string, project: Project) =>
      context.as(project).graphql(`mutation ($id: ID!) { ${name}(id: $id) { paused } }`, { id })
    const { id, project } = await interrupted(context, (id, project) => act('pauseCampaign', id, project))
    await until('nothing is on its way', async () => {
      const { sendingCount, pendingCount } = await stats(context, id, project)
      return sendingCount === 0 && pendingCount === 16
    })
    assert.equal(context.api.recipients(), [])
    await act('resumeCampaign', id, project)
    assert.is((await reached(context, id, 'SENT', project)).sentCount, 16)
    assert.is(new Set(context.api.recipients()).size, 16)
    assert.is(context.api.recipients().length, 16)
  })

  test('leave out who unsubscribes or is suppressed between two calls', async (context) => {
    const left: string[] = []
    const { id, project } = await interrupted(context, async (_id, project) => {
      const [one, other] = await context.sql('select id, email from contacts where project_id = $1 limit 2', [
        project.id,
      ])
      left.push(one?.email, other?.email)
      await context.call('PATCH', `/contacts/${one?.id}`, {
        key: project.secret,
        body: { subscribed: false },
      })
      await context.sql(
        "insert into suppressions (project_id, email, reason, created_at) values ($1, $2, 'MANUAL', now())",
        [project.id, other?.email],
      )
    })
    const found = await reached(context, id, 'SENT', project)
    assert.equal([found.sentCount, found.skippedCount, found.suppressedCount], [14, 1, 1])
    assert.not(context.api.recipients().some((to) => left.includes(to)))
    await assertAddsUp(context, id, project)
  })

  test('do not keep a message of the same project waiting', async (context) => {
    const { api, answerWith, newProject } = context
    const { promise, resolve } = Promise.withResolvers<undefined>()
    answerWith((to) => (to.length > 1 ? promise : undefined))
    const project = await newProject()
    await newContacts(context, 300, {}, project)
    const id = await queued(context, project)
    await release(context, project)
    await sendMail(context, 'fresh@receiver.example', {}, project)
    await until('it arrives', () => api.recipients().includes('fresh@receiver.example'))
    assert.is(api.calls.length, 1)
    resolve(undefined)
    assert.is((await reached(context, id, 'SENT', project)).sentCount, 300)
  })
})
