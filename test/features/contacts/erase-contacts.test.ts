import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { eraseContacts } from '../../../src/features/contacts/erase-contacts.ts'
import { eraseTracesJob } from '../../../src/features/contacts/erase-traces.job.ts'
import { MINUTE } from '../../support/clock.ts'
import { dump, rowsWith, tablesOf } from '../../support/dump.ts'
import { attempted, pass, sendBody, sendMail, startSending } from '../../support/mailing.ts'
import { assertRefused } from '../../support/refusals.ts'
import { scenario } from '../../support/scenario.ts'
import { type Project, type Service, startService, until } from '../../support/service.ts'
import { tried, turnOf, workThrough } from '../../support/work.ts'
import { contactOf, createContact, newContact } from './contact-support.ts'
import { addEvents, keyOf, leaveTraces, person, send, sendOf, textsOf, track } from './erase-support.ts'

/** What the background does, at once. */
const eraseTraces = (service: Service) => workThrough(service, eraseTracesJob)

const remove = async (service: Service, id: string, project = service.project) => {
  const { status, text } = await service.as(project).delete(`/contacts/${id}`)
  assert.is(status, 204, text)
}

scenario(
  'A contact that is deleted',
  () => startService({ ROLES: 'http' }, { alone: true }),
  (test) => {
    test('is not found anywhere in the database any more', async (service) => {
      const of = person()
      const id = await leaveTraces(service, of)
      const before = rowsWith(await dump(service), textsOf(of))
      for (const table of [
        'contacts',
        'contact_jobs',
        'emails',
        'email_contents',
        'email_attachments',
        'events',
        'idempotency_keys',
        'workflow_executions',
      ]) {
        assert.ok(tablesOf(before).includes(`public.${table}`), `there are traces in ${table}`)
      }
      await remove(service, id)
      assert.equal(tablesOf(rowsWith(await dump(service), [of.secret, of.name, of.subject])), [], 'at once')
      await eraseTraces(service)
      assert.equal(rowsWith(await dump(service), textsOf(of)), [])
      const [job] = await service.sql('select result from contact_jobs')
      assert.equal(job?.result.errors, [
        { row: 2, email: null, error: 'subscribed must be true or false' },
        { row: 3, email: 'not an address', error: 'email must be an email address' },
      ])
    })

    test('leaves everything of other contacts and other projects', async (service) => {
      const [of, other] = [person(), person()]
      const elsewhere = await service.newProject()
      const theirs = await leaveTraces(service, of, elsewhere)
      const otherId = await leaveTraces(service, other)
      const untouched = async () => {
        const rows = await dump(service)
        return [...rowsWith(rows, textsOf(other)), ...rowsWith(rows, [elsewhere.id])].toSorted()
      }
      const before = await untouched()
      const id = await leaveTraces(service, of)
      await remove(service, id)
      await eraseTraces(service)
      const mine = rowsWith(await dump(service), textsOf(of)).filter((row) =>
        row.includes(service.project.id),
      )
      assert.equal(mine, [])
      assert.equal(await untouched(), before)
      assert.is((await contactOf(service, theirs, elsewhere)).email, of.email)
      for (const [path, replay] of [
        ['send', send],
        ['track', track],
      ] as const) {
        const answer = await replay(service, other)
        assert.is(answer.headers.get('idempotency-replayed'), 'true', path)
        assert.match(answer.text, otherId)
      }
    })

    test('takes its part of a mail to many away, and leaves the others theirs', async (service) => {
      const [of, other] = [person(), person()]
      const more = { to: [of.email, other.email], data: {}, headers: {}, subject: 'Hello' }
      const answer = await send(service, of, service.project, more)
      assert.is(answer.status, 200, answer.text)
      const [mine, theirs] = answer.body.data.emails
      await remove(service, mine.contact.id)
      await eraseTraces(service)
      const rows = await dump(service)
      assert.equal(rowsWith(rows, [of.email]), [])
      assert.is(rowsWith(rows, [theirs.email]).length, 3, 'the email, its content and its place in the queue')
      assert.equal(tablesOf(rowsWith(rows, [of.file])), ['public.email_attachments'])
      assertRefused(await send(service, of, service.project, more), 409, 'IDEMPOTENCY_KEY_REUSED')
      await remove(service, theirs.contact.id)
      await eraseTraces(service)
      assert.equal(rowsWith(await dump(service), [...textsOf(of), other.email]), [])
    })

    test('is not sent to by a repeat of a request, which is refused', async (service) => {
      const of = person()
      await remove(service, await leaveTraces(service, of))
      await eraseTraces(service)
      const replayed = await send(service, of)
      const { details } = assertRefused(replayed, 409, 'IDEMPOTENCY_KEY_REUSED')
      assert.is(details.originalStatusCode, 200)
      const plain = await service.as().post('/v1/send', sendBody(service.project, sendOf(of)), {
        headers: { 'idempotency-key': keyOf(of, 'send') },
      })
      assertRefused(plain, 409, 'IDEMPOTENCY_KEY_REUSED')
      assert.not.match(replayed.text, of.email)
      assert.equal(rowsWith(await dump(service), textsOf(of)), [])
    })

    test('does not take what is made for its address afterwards', async (service) => {
      const of = person()
      await remove(service, await leaveTraces(service, of))
      const again = await createContact(service, { email: of.email, data: { secret: of.secret } })
      assert.equal([again.status, again.body.subscribed, again.body.data], [201, true, { secret: of.secret }])
      const mail = await sendMail(service, of.email, sendOf(of, { to: of.email }))
      await eraseTraces(service)
      const rows = await dump(service)
      assert.is(rowsWith(rows, [mail]).length, 3)
      assert.is(rowsWith(rows, [of.file]).length, 1)
      assert.is((await contactOf(service, again.body.id)).email, of.email)
    })

    test('stays on the list of addresses that must not be written to', async (service) => {
      const { id, email } = await newContact(service)
      await service.sql(
        `insert into suppressions (project_id, email, reason, created_at) values ($1, $2, 'COMPLAINT', now())`,
        [service.project.id, email],
      )
      await remove(service, id)
      await eraseTraces(service)
      assert.equal(tablesOf(rowsWith(await dump(service), [email])), ['public.suppressions'])
    })

    test('is forgotten although traces were removed just before the deletion was committed', async (service) => {
      const [first, second] = [person(), person()]
      const ids = [await leaveTraces(service, first), await leaveTraces(service, second)]
      await remove(service, ids[0] ?? '')
      const { promise: committing, resolve: commit } = Promise.withResolvers<void>()
      const { promise: waiting, resolve: erased } = Promise.withResolvers<void>()
      const deletion = service.ctx(service.project.id).atomically(async (tx) => {
        await eraseContacts(tx, [ids[1] ?? ''])
        erased()
        await committing
      })
      await waiting
      await eraseTraces(service)
      commit()
      await deletion
      assert.equal(await eraseTracesJob.pending(service.ctx()), [service.project.id])
      await eraseTraces(service)
      assert.equal(rowsWith(await dump(service), [...textsOf(first), ...textsOf(second)]), [])
    })

    test('leaves a project with thousands of answers and files in several steps', async (service) => {
      const project = await service.newProject()
      const of = person()
      const { id } = await newContact(service, { email: of.email }, project)
      const answer = JSON.stringify({ emails: [{ contact: { id, email: of.email }, email: randomUUID() }] })
      await service.sql(
        `insert into idempotency_keys (project_id, key, holder, request, status_code, response, created_at)
       select $1, 'key ' || n, gen_random_uuid(), 'POST /v1/send', 200, $2, now() from generate_series(1, 2500) n`,
        [project.id, answer],
      )
      await service.sql(
        `insert into email_attachments
         (project_id, set_id, position, filename, content_type, disposition, content)
       select $1, gen_random_uuid(), 0, 'a.txt', 'text/plain', 'attachment', $2 from generate_series(1, 2500)`,
        [project.id, Buffer.from(of.file)],
      )
      await addMail(service, project, id)
      assert.is((await emailsWith(service, id)).length, 2_500)
      await remove(service, id, project)
      await eraseTraces(service)
      assert.equal(rowsWith(await dump(service), textsOf(of)), [])
      const [kept] = await service.sql(
        'select count(*)::int as keys, count(response)::int as answers from idempotency_keys where project_id = $1',
        [project.id],
      )
      assert.equal(kept, { keys: 2500, answers: 0 })
    })

    test('is forgotten although others are deleted all the time', async (service) => {
      const project = await service.newProject()
      const of = person()
      const { id } = await newContact(service, { email: of.email }, project)
      const answer = JSON.stringify({ emails: [{ contact: { id, email: of.email } }] })
      await service.sql(
        `insert into idempotency_keys (project_id, key, holder, request, status_code, response, created_at)
       select $1, 'key ' || n, gen_random_uuid(), 'POST /v1/send', 200, $2, now() from generate_series(1, 4500) n`,
        [project.id, answer],
      )
      await remove(service, id, project)
      const step = () =>
        tried(() =>
          eraseTracesJob.slice(service.ctx(project.id), turnOf(project.id, { hasTime: () => false })),
        )
      for (let round = 0; round < 6; round += 1) {
        const { id: other } = await newContact(service, {}, project)
        await remove(service, other, project)
        await step()
      }
      assert.equal(rowsWith(await dump(service), [of.email]), [])
      await eraseTraces(service)
      assert.equal(await service.sql('select from contact_erasures where project_id = $1', [project.id]), [])
    })

    test('loses mail that was queued for it while its traces were removed', async (service) => {
      const project = await service.newProject()
      const of = person()
      const id = await leaveTraces(service, of, project)
      await addEvents(service, project, id, 1_500)
      await remove(service, id, project)
      await service.sql(
        `insert into deliveries (project_id, email_id, priority, size, due_at)
         select project_id, id, 0, 100, now() from emails where contact_id = $1`,
        [id],
      )
      await eraseTraces(service)
      const rest = `select from deliveries d where d.project_id = $1 and not exists (
        select from emails e where e.project_id = d.project_id and e.id = d.email_id)`
      assert.equal(await service.sql(rest, [project.id]), [])
    })

    test('with more events than one commit takes is gone at once, its events soon', async (service) => {
      const project = await service.newProject()
      const of = person()
      const id = await leaveTraces(service, of, project)
      const other = await newContact(service, { email: 'other@example.org' }, project)
      await addEvents(service, project, id, 4_500)
      const get = (path: string) => service.as(project).get(`/contacts${path}`)
      await remove(service, id, project)
      assert.equal(await eraseTracesJob.pending(service.ctx()), [project.id], 'most of it waits')
      const [events] = await service.sql('select count(*)::int from events where contact_id = $1', [id])
      assert.ok(events?.count >= 4_500)
      assertRefused(await get(`/${id}`), 404, 'CONTACT_NOT_FOUND')
      for (const [method, body] of [
        ['PATCH', { data: { plan: 'pro' } }],
        ['PATCH', { email: 'new@example.org' }],
        ['DELETE', undefined],
      ] as const) {
        assertRefused(
          await service.as(project).call(method, `/contacts/${id}`, body),
          404,
          'CONTACT_NOT_FOUND',
        )
      }
      const { body: list } = await get('')
      assert.equal([list.total, list.data.map((one: { id: string }) => one.id)], [1, [other.id]])
      const filter = {
        logic: 'AND',
        groups: [{ filters: [{ field: 'subscribed', operator: 'equals', value: false }] }],
      }
      assert.equal((await get(`?subscribed=false`)).body.data, [])
      const matching = 'query ($filter: JSONObject!) { contacts(filter: $filter) { total } }'
      const { body: found } = await service.as(project).graphql(matching, { filter })
      assert.is(found.data.contacts.total, 0)
      assert.equal(tablesOf(rowsWith(await dump(service), [of.email])), [
        'public.emails',
        'public.idempotency_keys',
      ])
      const again = await createContact(service, { email: of.email }, project)
      assert.is(again.status, 201, 'the address is free')
      await eraseTraces(service)
      assert.equal(
        tablesOf(rowsWith(await dump(service), textsOf(of))),
        ['public.contacts'],
        'the new contact',
      )
      assert.equal(await service.sql('select from events where contact_id = $1', [id]), [])
      const counts = await service.sql(
        'select name, count from event_names where project_id = $1 and count <> 0',
        [project.id],
      )
      assert.equal(counts, [])
    })
  },
)

/** An email to a contact for each file of the project. */
const addMail = ({ sql }: Service, project: Project, contactId: string) =>
  sql(
    `insert into emails (project_id, id, contact_id, to_email, "from", subject, type, source_type, status, message_id,
       attachment_set_id, created_at, updated_at)
     select $1, gen_random_uuid(), $2, 'x', 'x', 'x', 'TRANSACTIONAL', 'TRANSACTIONAL', 'SENT', 'x', set_id, now(), now()
     from email_attachments where project_id = $1`,
    [project.id, contactId],
  )

const emailsWith = ({ sql }: Service, contactId: string) =>
  sql('select id from emails where contact_id = $1', [contactId])

scenario(
  'A contact that is deleted where a worker runs',
  () => startService(),
  (test) => {
    test('is forgotten by the worker', async (service) => {
      const of = person()
      const id = await leaveTraces(service, of)
      await remove(service, id)
      await until('nothing is found any more', async () => {
        const rows = rowsWith(await dump(service), textsOf(of))
        return rows.length === 0
      })
    })
  },
)

/** The first attempt at everybody's mail is put off. */
const startPuttingOff = () =>
  startSending(
    {},
    {
      sink: {
        refuse: (_to, attempt) => (attempt === 1 ? { at: 'RCPT', code: 451, text: 'Not now' } : null),
      },
    },
  )

scenario('Mail of a contact that is deleted', startPuttingOff, (test) => {
  test('is not delivered any more when it waits', async (service) => {
    const { sink } = service
    const [gone, stays] = ['gone@personal.example', 'stays@personal.example']
    const waiting = await sendMail(service, gone)
    const other = await sendMail(service, stays)
    const { contact_id: id, status } = await attempted(service, waiting, 1)
    await attempted(service, other, 1)
    assert.is(status, 'PENDING')
    await remove(service, id)
    pass(service, 2 * MINUTE)
    await until('the other mail has arrived', () => sink.counts().get(stays) === 1)
    assert.is(sink.counts().get(gone), undefined)
    assert.is(sink.attemptsFor(gone), 1)
  })
})
