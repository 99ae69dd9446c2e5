import * as assert from 'uvu/assert'
import { noteNotifications } from '../../../src/features/notifications/notifications.ts'
import { reportOf } from '../../../src/features/notifications/report.rules.ts'
import { hold } from '../../support/held-lock.ts'
import {
  emailEvents,
  emailRow,
  type SendingService,
  sendBody,
  sendMail,
  startSending,
} from '../../support/mailing.ts'
import { scenario } from '../../support/scenario.ts'
import { type Project, until } from '../../support/service.ts'
import {
  assertAddsUp,
  newCampaign,
  newContacts,
  reached,
  sendNow,
  stats,
} from '../campaigns/campaign-support.ts'

const CONNECTIONS = 5

const start = () => startSending({ SMTP_CONNECTIONS: String(CONNECTIONS) })

async function sendMany(
  { as }: SendingService,
  project: Project,
  name: string,
  count: number,
): Promise<string[]> {
  const to = Array.from({ length: count }, (_, index) => `${name}${index}@receiver.example`)
  const body = sendBody(project, { to })
  const answer = await as(project).post('/v1/send', body)
  assert.is(answer.status, 200, answer.text)
  return answer.body.data.emails.map(({ email }: { email: string }) => email)
}

const isSent = async (context: SendingService, id: string) => (await emailRow(context, id)).status === 'SENT'

scenario('Tenants and delivery', start, (test) => {
  test('a project whose receivers are slow leaves connections to the others', async (context) => {
    const { sink, newProject } = context
    const [slow, other] = [await newProject(), await newProject()]
    const goOn = sink.hold()
    await sendMany(context, slow, 'slow', 40)
    await until('the slow project has all it may have', () => sink.underWay.size === CONNECTIONS - 1)
    const id = await sendMail(context, 'other@receiver.example', {}, other)
    await until('the other message is under way beside', () => sink.counts().has('other@receiver.example'))
    goOn()
    await until('it is sent', () => isSent(context, id))
  })

  test('a row that is locked keeps only its own message from being settled', async (context) => {
    const { databaseUrl, newProject, sql } = context
    const [busy, other] = [await newProject(), await newProject()]
    await sendMail(context, 'locked@receiver.example', {}, busy)
    await until('it is settled', async () => {
      const rows = await sql('select from deliveries where project_id = $1', [busy.id])
      return rows.length === 0
    })
    const again = await putIn(context, busy)
    const lock = await hold(databaseUrl, 'select from contacts where project_id = $1 for update', [busy.id])
    await sql('update deliveries set due_at = now() where email_id = $1', [again])
    const ids = await sendMany(context, other, 'settled', 30)
    for (const id of ids) await until('others are settled', () => isSent(context, id))
    assert.is((await emailRow(context, again)).status, 'PENDING')
    await lock.release()
    await until('it is settled as well', () => isSent(context, again))
    assert.is(
      context.sink.counts().get('locked@receiver.example'),
      2,
      'the first message, and the second one once',
    )
  })

  test('mail of a dead worker that cannot be taken over yet does not keep other work from being found', async (context) => {
    const { databaseUrl, newProject, sql } = context
    const [dead, other] = [await newProject(), await newProject()]
    const held = await putIn(context, dead, true)
    const lock = await hold(databaseUrl, 'select from emails where id = $1 for update', [held])
    const due = await putIn(context, other)
    await sql('update deliveries set due_at = now() where email_id = $1', [due])
    await until('the sweep finds it', () => isSent(context, due))
    await lock.release()
    await until('the held one follows', () => isSent(context, held))
  })

  test('a message whose outcome the database refuses has failed, and is not sent again; what is heard of it later counts', async (context) => {
    const { sql, sink, newProject, as, ctx, clock } = context
    const project = await newProject()
    await sql(
      `create function refuse_outcome() returns trigger language plpgsql as
       'begin raise exception ''refused'' using errcode = ''22000''; end'`,
    )
    await sql(
      `create trigger refuse_outcome before update on emails for each row
       when (new.status = 'SENT' and new.to_email like 'refused%') execute function refuse_outcome()`,
    )
    await newContacts(context, 3, { prefix: 'refused' }, project)
    const { id } = await newCampaign(context, {}, project)
    await sendNow(context, id, project)
    const { failedCount } = await reached(context, id, 'SENT', project)
    assert.is(failedCount, 3)
    const mail = await sql('select * from emails where campaign_id = $1 order by to_email', [id])
    for (const row of mail) {
      assert.equal([row.status, row.attempts, row.sent_at], ['FAILED', 1, null])
      assert.match(row.error, 'could not be written down')
      const [event, ...others] = await emailEvents(context, row.id)
      assert.equal(others, [])
      assert.is(event?.name, 'email.failed')
      const { reason, ...data } = event?.data ?? {}
      assert.is(reason, row.error)
      assert.equal(data, {
        ...{ emailId: row.id, subject: row.subject, from: row.from, messageId: row.message_id },
        ...{ templateId: null, campaignId: id, sourceType: 'CAMPAIGN' },
      })
      assert.is(sink.counts().get(row.to_email), 1)
    }
    assert.equal(await sql('select from deliveries where campaign_id = $1', [id]), [])
    const retry = 'mutation ($id: ID!) { retryFailed(id: $id) { retried } }'
    const retried = await as(project).graphql(retry, { id })
    assert.is(retried.body.data?.retryFailed.retried, 0, 'it is not in the queue any more')
    await assertAddsUp(context, id, project)

    const [delivered, bounced] = mail
    for (const [kind, row] of [
      ['DELIVERED', delivered],
      ['BOUNCED', bounced],
    ] as const) {
      const named = { messageId: row?.message_id, recipient: row?.to_email }
      const reports = [reportOf(kind, clock.now(), named)]
      await noteNotifications(ctx(), [{ source: 'test', id: kind, token: null, reports }])
    }
    const told = await until('two have arrived', async () => {
      const found = await stats(context, id, project)
      return found.sentCount === 2 && found
    })
    assert.equal([told.failedCount, told.deliveredCount, told.bouncedCount], [1, 1, 1])
    await assertAddsUp(context, id, project)
    assert.equal(
      await sql('select status from emails where campaign_id = $1 order by to_email', [id]),
      ['DELIVERED', 'BOUNCED', 'FAILED'].map((status) => ({ status })),
    )
  })
})

/** A message of the project's contact, put in past the API: not due yet, or as one that a dead worker had. */
async function putIn({ sql }: SendingService, project: Project, isTaken = false): Promise<string> {
  const [contact] = await sql(
    `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
     values ($1, gen_random_uuid(), 'dead@receiver.example', true, '{}', now(), now())
     on conflict do nothing returning id, email`,
    [project.id],
  )
  const [known] = await sql(
    'select id, email from contacts where project_id = $1 order by created_at limit 1',
    [project.id],
  )
  const { id: contactId, email } = known ?? contact ?? {}
  const [row] = await sql(
    `with email as (
       insert into emails (project_id, id, contact_id, to_email, "from", subject, type, source_type, status, message_id,
         created_at, updated_at)
       values ($1, gen_random_uuid(), $2, $3, $4, 'Again', 'TRANSACTIONAL', 'TRANSACTIONAL', 'PENDING',
         '<again@receiver.example>', now(), now())
       returning project_id, id
     ),
     content as (
       insert into email_contents (project_id, email_id, html) select project_id, id, '<p>Again</p>' from email
     ),
     delivery as (
       insert into deliveries (project_id, email_id, priority, size, due_at, taken_by, taken_attempt)
       select project_id, id, 0, 12, now() + interval '1 hour', case when $5::boolean then gen_random_uuid() end, 0 from email
     )
     select id from email`,
    [project.id, contactId, email, `hello@${project.domain}`, isTaken],
  )
  return row?.id
}
