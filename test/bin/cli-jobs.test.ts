import { randomUUID } from 'node:crypto'
import * as assert from 'uvu/assert'
import { startMailSink } from '../support/mail-sink.ts'
import { sendMail } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { type Body, type Project, startService, until } from '../support/service.ts'
import { withCommands } from './cli-process.ts'

const QUEUE = 'operations.purge-expired'
const MAIL = 'emails.deliver'

/** A service that sends through an SMTP server, which refuses recipients while `refusing` is true. */
async function startWithSmtp() {
  const receiver = { refusing: true }
  const sink = await startMailSink({
    refuse: () => (receiver.refusing ? { at: 'RCPT', code: 550, text: 'no such user' } : null),
  })
  const service = await startService({ SMTP_URL: sink.url })
  const { sql } = service
  const fail = async (project: Project): Promise<string> => {
    const id = await sendMail(service, 'ann@receiver.example', {}, project)
    await until('the mail is given up', async () => (await stateOf(sql, id)).status === 'FAILED')
    return id
  }
  const own = withCommands(service)
  const stop = async () => {
    await own.stop()
    await sink.stop()
  }
  return { ...own, sink, receiver, fail, stop }
}

/** A service that runs no jobs and delivers nothing by itself. */
const startIdle = async () => withCommands(await startService({ ROLES: 'http' }))

async function stateOf(sql: Body, id: string): Promise<Body> {
  const [row] = await sql('select status, attempts, error from emails where id = $1', [id])
  return row
}

const ids = (letters: { id: string }[]) => letters.map(({ id }) => id)

scenario('cli jobs with mail', startWithSmtp, (test) => {
  test('failed mail is counted, listed with its reason, and delivered after redrive', async (context) => {
    const { cli, sql, sink, receiver, fail, newProject } = context
    const project = await newProject()
    const id = await fail(project)
    const [mail] = await cli.json(['jobs', 'list'])
    assert.equal(mail, {
      queue: MAIL,
      states: { pending: 0, active: 0, failed: 1, oldestSeconds: null },
      troubles: [],
    })

    const [letter] = await cli.json(['jobs', 'dead'])
    const { error, failedAt, ...rest } = letter
    assert.equal(rest, { queue: MAIL, projectId: project.id, id, to: 'ann@receiver.example', attempts: 1 })
    assert.match(error, /550.*no such/)
    assert.ok(Math.abs(Date.parse(failedAt) - Date.now()) < 60_000)

    receiver.refusing = false
    const before = sink.arrivals.length
    const done = await cli.json(['jobs', 'redrive', '--queue', MAIL, '--id', id.toUpperCase()])
    receiver.refusing = await until('the mail arrives', () => sink.arrivals.length > before)
    assert.equal(done, { queue: MAIL, redriven: 1, left: 0, notFailed: [] })
    await until('the mail is sent', async () => (await stateOf(sql, id)).status === 'SENT')
    assert.equal(await stateOf(sql, id), { status: 'SENT', attempts: 1, error: null })
    assert.equal(sink.arrivals.at(-1)?.recipients, ['ann@receiver.example'])

    const again = await cli.run(['jobs', 'redrive', '--queue', MAIL, '--id', id])
    assert.equal(again, {
      code: 1,
      stdout: `0 dead letters of ${MAIL} were put back, due now.\n`,
      stderr: `error: Not a dead letter of ${MAIL}: ${id}\n`,
    })
  })

  test('text is for people: what a server answered cannot steer the terminal', async (context) => {
    const { cli, sql, fail, newProject } = context
    const { id: project, ...rest } = await newProject()
    const id = await fail({ id: project, ...rest })
    await sql("update emails set error = '550' || chr(27) || '[31m no\nsuch user' where id = $1", [id])
    const { stdout } = await cli.run(['jobs', 'dead', '--queue', MAIL, '--project', project])
    assert.match(stdout, new RegExp(`^${MAIL} {2}${id}\n {2}project {2}${project}\n {2}to {7}ann@receiver`))
    assert.match(stdout, /\n {2}failed {3}\d{4}-\S+Z, after 1 attempt\n {2}error {4}550 \[31m no such user\n/)
    assert.match(stdout, /\n\n1 dead letter\. "jobs redrive" puts them back\.\n$/)
    assert.not.ok(stdout.includes('\x1b'))
  })

  test('mail whose content is gone is left, and told', async ({ cli, sql, fail, newProject }) => {
    const project = await newProject()
    const [kept, emptied] = [await fail(project), await fail(project)]
    await sql('delete from email_contents where email_id = $1', [emptied])
    const { code, stdout, stderr } = await cli.run([
      'jobs',
      'redrive',
      '--queue',
      MAIL,
      '--project',
      project.id,
    ])
    assert.equal([code, stderr], [0, ''])
    assert.match(stdout, /^1 dead letter of emails\.deliver was put back, due now\.\n1 left: the content has/)
    await until('the other one is tried again', async () => {
      const [row] = await sql("select from events where email_id = $1 and name = 'email.failed' offset 1", [
        kept,
      ])
      return row
    })
    const left = await stateOf(sql, emptied)
    assert.is(left.status, 'FAILED')
    assert.match(left.error, /550/)
    const named = await cli.run(['jobs', 'redrive', '--queue', MAIL, '--id', emptied])
    assert.is(named.code, 1)
    assert.match(named.stderr, /^error: 1 could not be put back: the content has been removed/)
  })
})

scenario('cli jobs', startIdle, (test) => {
  /** A job that a worker took and failed with. */
  async function deadJob({ app }: Awaited<ReturnType<typeof startIdle>>, payload: object): Promise<void> {
    const { boss } = app.services
    await boss.send(QUEUE, payload, { retryLimit: 0 })
    const [job] = await boss.fetch(QUEUE)
    if (!job) throw new Error('no job')
    await boss.fail(QUEUE, job.id, new Error('The disk is full.'))
  }

  test('a dead job is listed with queue, payload and error, and runs again after redrive', async (context) => {
    const { cli, app, newProject } = context
    const [mine, other] = [await newProject(), await newProject()]
    await deadJob(context, { projectId: mine.id, chunk: 3 })
    await deadJob(context, { projectId: other.id })
    const dead = (...args: string[]) => cli.json(['jobs', 'dead', ...args])
    assert.is((await dead()).length, 2)
    assert.equal(await dead('--queue', MAIL), [])
    const [letter] = await dead('--queue', QUEUE, '--project', mine.id)
    const { id, failedAt, ...rest } = letter
    assert.equal(rest, {
      queue: QUEUE,
      projectId: mine.id,
      payload: { projectId: mine.id, chunk: 3 },
      error: 'The disk is full.',
      attempts: 1,
    })
    assert.ok(Math.abs(Date.parse(failedAt) - Date.now()) < 60_000)

    const args = ['jobs', 'redrive', '--queue', QUEUE, '--project', mine.id]
    assert.equal(await cli.json(args), { queue: QUEUE, redriven: 1, left: 0, notFailed: [] })
    const list = await cli.json(['jobs', 'list'])
    const { states } = list.find(({ queue }: { queue: string }) => queue === QUEUE)
    const { oldestSeconds, ...counts } = states
    assert.equal(counts, { pending: 1, active: 0, failed: 1 })
    assert.ok(oldestSeconds >= 0 && oldestSeconds < 60, `oldest ${oldestSeconds} s`)
    const [job] = await app.services.boss.fetch(QUEUE)
    assert.equal(job?.data, { projectId: mine.id, chunk: 3 })
    assert.is((await dead())[0].projectId, other.id)
  })

  test('redrive by id takes only these', async (context) => {
    const { cli } = context
    const { id } = await context.newProject()
    for (const chunk of [1, 2, 3]) await deadJob(context, { projectId: id, chunk })
    const [third, second, first] = ids(await cli.json(['jobs', 'dead', '--project', id]))
    if (!third || !second || !first) throw new Error('not three dead letters')
    const unknown = randomUUID()
    const args = ['jobs', 'redrive', '--queue', QUEUE, '--id', first, unknown, '--id', third]
    const { code, stdout, stderr } = await cli.run([...args, '--json'])
    assert.equal([code, stderr], [1, `error: Not a dead letter of ${QUEUE}: ${unknown}\n`])
    assert.equal(JSON.parse(stdout), { queue: QUEUE, redriven: 2, left: 0, notFailed: [unknown] })
    assert.equal(ids(await cli.json(['jobs', 'dead', '--project', id])), [second])
  })

  test('redrive takes all failed mail of a project, however much, and wakes the workers', async (context) => {
    const { cli, sql, app, newProject } = context
    const [mine, other] = [await newProject(), await newProject()]
    for (const { id, count } of [
      { id: mine.id, count: 2_500 },
      { id: other.id, count: 2 },
    ]) {
      await failedMail(sql, id, count)
    }
    const done = await cli.json(['jobs', 'redrive', '--queue', MAIL, '--project', mine.id])
    assert.equal(done, { queue: MAIL, redriven: 2_500, left: 0, notFailed: [] })
    const [asked] = await app.services.boss.fetch<{ projectId: string }>(MAIL)
    assert.is(asked?.data.projectId, mine.id, 'the workers are asked to look')
    const rows = await sql(
      `select e.project_id as id, status, count(*)::int, max(e.attempts) as attempts, max(error) as error,
         bool_and(due_at between now() - interval '1 minute' and now()) as due
       from emails e join deliveries d on d.project_id = e.project_id and d.email_id = e.id
       where e.project_id = any($1) group by e.project_id, status order by count(*)`,
      [[mine.id, other.id]],
    )
    assert.equal(rows, [
      { id: other.id, status: 'FAILED', count: 2, attempts: 10, error: 'refused', due: false },
      { id: mine.id, status: 'PENDING', count: 2_500, attempts: 0, error: null, due: true },
    ])
    const latest = await cli.json(['jobs', 'dead', '--limit', '1', '--project', other.id])
    assert.is(latest.length, 1)
  })

  test('a queue that does not exist is named with those that do', async ({ cli }) => {
    const expected =
      /^error: There is no queue "nope"\. The queues are: emails\.deliver, operations\.purge-expired/
    assert.match(await cli.refusal(['jobs', 'redrive', '--queue', 'nope']), expected)
    assert.match(await cli.refusal(['jobs', 'dead', '--queue', 'nope']), expected)
  })

  test('list shows each queue with its states', async ({ cli }) => {
    const { stdout } = await cli.run(['jobs', 'list'])
    assert.match(stdout, /^QUEUE +STATES\nemails\.deliver +\d+ pending, \d+ active, \d+ failed/)
    assert.match(stdout, /\noperations\.purge-expired +\d+ pending, \d+ active, \d+ failed/)
  })
})

/** Mail that was given up an hour ago, with its contents. */
async function failedMail(sql: Body, projectId: string, count: number): Promise<void> {
  const contact = randomUUID()
  await sql(
    `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
     values ($1, $2, 'ann@receiver.example', true, '{}', now(), now())`,
    [projectId, contact],
  )
  await sql(
    `with email as (
       insert into emails (project_id, id, contact_id, to_email, "from", subject, type, source_type, status,
         message_id, attempts, error, created_at, updated_at)
       select $1, gen_random_uuid(), $2, 'ann@receiver.example', 'hello@shop.example', 'Hello', 'TRANSACTIONAL',
         'TRANSACTIONAL', 'FAILED', '<' || n || '@shop.example>', 10, 'refused', t, t
       from generate_series(1, $3) n, (select now() - interval '1 hour') as hour_ago (t)
       returning project_id, id
     ),
     content as (
       insert into email_contents (project_id, email_id, html) select project_id, id, '<p>Hello</p>' from email
     )
     insert into deliveries (project_id, email_id, priority, size, attempts, due_at)
     select project_id, id, 0, 12, 10, 'infinity' from email`,
    [projectId, contact, count],
  )
}
