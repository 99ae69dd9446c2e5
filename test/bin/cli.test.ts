import { createServer } from 'node:net'
import * as assert from 'uvu/assert'
import { freePort } from '../../src/lib/net/free-port.ts'
import { listen } from '../support/listen.ts'
import { sendBody } from '../support/mailing.ts'
import { scenario } from '../support/scenario.ts'
import { scratchDatabase } from '../support/scratch-database.ts'
import { startService, until } from '../support/service.ts'
import { commandLine, commands, startCli, withCommands } from './cli-process.ts'

const UNKNOWN = '01890000-0000-7000-8000-000000000000'

const start = async () => withCommands(await startService())

async function startScratch() {
  const database = await scratchDatabase()
  const cli = commandLine({ DATABASE_URL: database.url })
  const stop = async () => {
    cli.stop()
    await database.stop()
  }
  return { ...database, cli, stop }
}

scenario('cli project', start, (test) => {
  test('create prints keys on one line that work at once', async ({ env, as, sql }) => {
    const made = await commands(env).json(['project', 'create', '--name', ' My "shop" ✉ '])
    assert.equal(Object.keys(made), ['id', 'name', 'public', 'secret'])
    assert.is(made.name, 'My "shop" ✉')
    const [row] = await sql('select name, public_key, disabled from projects where id = $1', [made.id])
    assert.equal(row, { name: made.name, public_key: made.public, disabled: false })
    const listed = await as(made).get(`/domains/project/${made.id}`)
    assert.is(listed.status, 200)
    const tracked = await as(made.public).post('/v1/track', { email: 'ann@receiver.example', event: 'seen' })
    assert.is(tracked.status, 200)
  })

  test('create tells people that the secret is shown only now', async ({ cli }) => {
    const { code, stdout } = await cli.run(['project', 'create', '--name', 'For people'])
    assert.is(code, 0)
    assert.match(
      stdout,
      /^The project "For people" was created\.\n\n {2}id {6}[0-9a-f-]{36}\n {2}public {2}pk_/,
    )
    assert.match(stdout, /\n {2}secret {2}sk_[0-9a-f]{64}\n\nThe secret key is shown only now/)
  })

  test('list shows the newest first, without secrets', async ({ cli }) => {
    const older = await cli.json(['project', 'create', '--name', 'Older'])
    const newer = await cli.json(['project', 'create', '--name', 'Newer'])
    const listed = await cli.json(['project', 'list', '--limit', '2'])
    assert.equal(
      listed.map(({ id, name, disabled }: { id: string; name: string; disabled: boolean }) => [
        id,
        name,
        disabled,
      ]),
      [
        [newer.id, 'Newer', false],
        [older.id, 'Older', false],
      ],
    )
    const { stdout } = await cli.run(['project', 'list', '--limit', '2'])
    const lines = stdout.split('\n')
    assert.match(lines[0] ?? '', /^ID {36}STATE {3}CREATED {15}NAME$/)
    assert.match(lines[1] ?? '', new RegExp(`^${newer.id}  active  \\d{4}-\\d\\d-\\d\\dT[\\d:]{8}Z  Newer$`))
    assert.match(stdout, /Only the newest 2 are shown/)
    assert.not.match(stdout, /sk_/)
  })

  test('rotate-keys replaces both keys at once', async ({ cli, as, newProject }) => {
    const project = await newProject()
    const path = `/domains/project/${project.id}`
    const keys = await cli.json(['project', 'rotate-keys', '--project', project.id.toUpperCase()])
    assert.equal(Object.keys(keys), ['public', 'secret'])
    assert.is((await as(project).get(path)).status, 401)
    assert.is((await as(keys).get(path)).status, 200)
  })

  test('set changes the language, and nothing without being told what', async ({ cli, newProject, sql }) => {
    const { id } = await newProject()
    const set = ['project', 'set', '--project', id]
    assert.equal(await cli.json([...set, '--language', 'de']), { id, language: 'de' })
    const listed = await cli.json(['project', 'list'])
    assert.is(listed.find((one: { id: string }) => one.id === id).language, 'de')
    const [row] = await sql('select language from projects where id = $1', [id])
    assert.is(row?.language, 'de')
    assert.match(await cli.refusal(set), 'error: Name a setting to change')
    assert.match(
      await cli.refusal([...set, '--language', 'it']),
      /It must be one of en, de, fr, es, nl, pt\.$/,
    )
    const { stdout } = await cli.run([...set, '--language', 'pt'])
    assert.is(stdout, `The project ${id} was changed.\n\n  language  pt\n`)
  })

  test('set changes what is tracked', async ({ cli, newProject, sql }) => {
    const { id } = await newProject()
    const set = ['project', 'set', '--project', id]
    assert.equal(await cli.json([...set, '--tracking', 'marketing-only']), {
      id,
      tracking: 'MARKETING_ONLY',
    })
    const [row] = await sql('select tracking from projects where id = $1', [id])
    assert.is(row?.tracking, 'MARKETING_ONLY')
    assert.match(await cli.refusal([...set, '--tracking', 'some']), 'marketing-only')
    const { stdout } = await cli.run([...set, '--tracking', 'enabled'])
    assert.is(stdout, `The project ${id} was changed.\n\n  tracking  ENABLED\n`)
  })

  test('disable and enable decide whether mail is taken', async ({ cli, as, newProject }) => {
    const { id, secret, domain } = await newProject()
    const send = () => as(secret).post('/v1/send', sendBody({ domain }))
    const disabled = await cli.json(['project', 'disable', '--project', id, '--reason', 'Too many bounces'])
    assert.equal(disabled, { id, disabled: true, disabledReason: 'Too many bounces' })
    const refused = await send()
    assert.is(refused.body.error.code, 'PROJECT_DISABLED')
    assert.equal(refused.body.error.details, { reason: 'Too many bounces' })
    const { stdout } = await cli.run(['project', 'enable', '--project', id])
    assert.is(stdout, `The project ${id} is enabled.\n`)
    assert.is((await send()).status, 200)
  })

  test('input is checked as the API checks it, before anything is started', async ({ cli }) => {
    const nowhere = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    assert.match(await cli.refusal(['project', 'create'], nowhere), /^error: required option '--name <name>'/)
    assert.match(
      await cli.refusal(['project', 'create', '--name', ' '], nowhere),
      /It must have at least 1 character\.$/,
    )
    assert.match(
      await cli.refusal(['project', 'create', '--name', 'x'.repeat(101)], nowhere),
      /It must have at most 100 characters\.$/,
    )
    assert.match(
      await cli.refusal(['project', 'rotate-keys', '--project', '1'], nowhere),
      /must be a UUID\.$/,
    )
    assert.match(await cli.refusal(['project', 'list', '--limit', '0'], nowhere), /whole number from 1 to/)
    assert.match(await cli.refusal(['projects'], nowhere), /^error: unknown command 'projects'/)
  })

  test('a project that does not exist is named', async ({ cli }) => {
    const expected = `error: There is no project ${UNKNOWN}.`
    for (const args of [
      ['project', 'rotate-keys'],
      ['project', 'disable', '--reason', 'x'],
      ['project', 'set', '--language', 'fr'],
      ['domain', 'add', '--domain', 'a.example'],
      ['jobs', 'redrive', '--queue', 'emails.deliver'],
    ]) {
      assert.is(await cli.refusal([...args, '--project', UNKNOWN, '--json']), expected)
    }
  })

  test('a reader that has seen enough is no error', async ({ env }) => {
    const { child, ended } = startCli(['project', 'list'], env)
    child.stdout.destroy()
    assert.is((await ended).stderr, '')
  })
})

scenario('cli domain', start, (test) => {
  test('add prints the records to publish, and no private key', async ({ cli, newProject }) => {
    const { id } = await newProject()
    // Whatever it is told of mail itself: the service may be told something else.
    const added = await cli.json(['domain', 'add', '--project', id, '--domain', ' Mail.Shop.EXAMPLE'])
    assert.is(added.domain, 'mail.shop.example')
    assert.is(added.projectId, id)
    assert.is(added.status, 'PENDING')
    assert.is(added.verified, false)
    assert.match(added.records[0].value, /^v=DKIM1; k=rsa; p=/)
    assert.not.match(JSON.stringify(added), /private/i)
    const again = ['domain', 'add', '--project', id, '--domain', 'mail.shop.example']
    assert.match(await cli.refusal(again), /^error: The domain mail\.shop\.example has been added already/)
    const { stdout } = await cli.run(['domain', 'add', '--project', id, '--domain', 'b.example'])
    assert.match(
      stdout,
      /^The domain b\.example was added\. Mail can come from it once it is verified\. A service that keeps mail in its mailbox does not wait for that\.\n\n/,
    )
    assert.match(
      stdout,
      /\nDKIM, required\n {2}type {3}TXT\n {2}name {3}mailwright\._domainkey\.b\.example\n/,
    )
  })

  test('list shows only the domains of the project', async ({ cli, newProject }) => {
    const [one, other] = [await newProject(), await newProject()]
    const listed = await cli.json(['domain', 'list', '--project', one.id])
    assert.equal(
      listed.map(({ domain }: { domain: string }) => domain),
      [one.domain],
    )
    const list = async () => (await cli.run(['domain', 'list', '--project', other.id])).stdout
    assert.match(await list(), new RegExp(`^DOMAIN {13}STATUS {3}VERIFIED\n${other.domain}  PENDING  -`))
    await cli.json(['domain', 'verify', '--project', other.id, '--domain', other.domain, '--force'])
    assert.match(await list(), new RegExp(`^DOMAIN {13}STATUS {4}VERIFIED\n${other.domain}  VERIFIED  `))
  })

  test('verify --force lets mail come from the domain, a new one too', async ({
    cli,
    env,
    as,
    newProject,
    sql,
  }) => {
    const { id, secret } = await newProject()
    const send = (domain: string) => as(secret).post('/v1/send', sendBody({ domain }))
    const smtp = { ...env, SMTP_URL: 'smtp://127.0.0.1:1' }
    await cli.json(['domain', 'add', '--project', id, '--domain', 'known.example'], smtp)
    for (const domain of ['known.example', 'new.example']) {
      assert.is((await send(domain)).status, 403)
      const verified = await cli.json(
        ['domain', 'verify', '--project', id, '--domain', domain, '--force'],
        smtp,
      )
      assert.is(verified.status, 'VERIFIED')
      assert.is((await send(domain)).status, 200)
    }
    // Signed with keys that the command line has made: both read the same secret.
    await until('both are delivered', async () => {
      const sent = await sql("select from emails where project_id = $1 and status = 'SENT'", [id])
      return sent.length === 2
    })
  })

  test('verify without --force looks at the DNS as the service would', async ({ cli, env, project, sql }) => {
    const args = ['domain', 'verify', '--project', project.id, '--domain']
    assert.match(
      await cli.refusal([...args, 'dns.example']),
      /^error: This command line has no mail provider/,
    )
    const smtp = { ...env, SMTP_URL: 'smtp://127.0.0.1:9', DNS_SERVERS: '127.0.0.1:1' }
    assert.match(await cli.refusal([...args, 'dns.example'], smtp), 'not found')
    const checked = await cli.json([...args, project.domain], smtp)
    assert.match(checked.records[0].message, 'no answer')
    assert.equal(await sql("select 1 from domains where domain = 'dns.example'"), [])
  })
})

scenario('cli and the database', startScratch, (test) => {
  test('migrate prints what it applied, and tries again what failed', async ({ cli, pool }) => {
    await pool.query('create function abort_statement(reason text) returns boolean return false')
    assert.match(await cli.refusal(['migrate']), /^error: .*abort_statement/)
    await pool.query('drop function abort_statement')
    const { applied } = await cli.json(['migrate'])
    assert.match(applied[0], /^\d{14}_init$/)
    assert.equal(await cli.json(['migrate']), { applied: [] })
    const { stdout } = await cli.run(['migrate'])
    assert.is(stdout, 'The database is up to date.\n')
  })

  test('the first command makes what it needs', async ({ cli }) => {
    const [mail, ...jobs] = await cli.json(['jobs', 'list'])
    const states = { pending: 0, active: 0, failed: 0, oldestSeconds: null }
    assert.equal(mail, { queue: 'emails.deliver', states, troubles: [] })
    assert.ok(jobs.length > 0)
    assert.equal(await cli.json(['project', 'list']), [])
  })

  test('a database that is away, or refuses, is told in a line', async ({ cli, url }) => {
    const port = await freePort('127.0.0.1')
    const away = { DATABASE_URL: `postgres://a@127.0.0.1:${port}/b` }
    assert.match(
      await cli.refusal(['project', 'list'], away),
      /^error: The database does not answer: .*ECONNREFUSED.*\. Start it, or correct DATABASE_URL\.$/,
    )
    const missing = new URL(url)
    missing.pathname = '/missing'
    assert.match(
      await cli.refusal(['project', 'list'], { DATABASE_URL: missing.href }),
      /^error: The database refuses the connection: database "missing" does not exist\. Create .*, or correct its name in DATABASE_URL\.$/,
    )
  })

  test('a server that is no Postgres is told in a line', async ({ cli }) => {
    const server = createServer((socket) => socket.end())
    const port = await listen(server)
    const env = { DATABASE_URL: `postgres://a@127.0.0.1:${port}/b` }
    const line = await cli.refusal(['project', 'list'], env).finally(() => server.close())
    assert.match(line, /^error: The database does not answer: /)
  })

  test('bad settings are told in a line', async ({ cli }) => {
    const env = { DATABASE_URL: 'mysql://a', PORT: 'x' }
    const line = await cli.refusal(['project', 'list'], env)
    assert.match(line, /^error: The configuration is not valid: PORT: .*; DATABASE_URL: /)
  })
})
