import pg from 'pg'
import * as assert from 'uvu/assert'
import { query } from '../support/query.ts'
import { scenario } from '../support/scenario.ts'
import { until } from '../support/service.ts'
import { ownPort } from '../support/service-process.ts'
import { type Talk, talk } from '../support/smtp-talk.ts'
import { startKillable } from './killable-service.ts'

async function start() {
  const port = await ownPort()
  const env = { ROLES: 'http,worker,smtp', SMTP_DOOR_PORT: String(port) }
  return { ...(await startKillable({ env })), port }
}

type Context = Awaited<ReturnType<typeof start>>

async function loggedIn({ port, project }: Context): Promise<Talk> {
  const client = await talk(port)
  await client.ask('EHLO x.example')
  const login = Buffer.from(`\0x\0${project.secret}`).toString('base64')
  assert.match(await client.ask(`AUTH PLAIN ${login}`), /^235/)
  return client
}

const LETTERS = { unfinished: '', keyed: 'X-Idempotency-Key: letter-1\r\n' }

/** Hands in a letter and returns the answer, or what came when the connection ended. */
async function handIn(context: Context, name: keyof typeof LETTERS): Promise<string> {
  const client = await loggedIn(context)
  const from = `a@${context.project.domain}`
  const letter = `From: ${from}\r\nSubject: ${name}\r\n${LETTERS[name]}\r\nHello`
  const answer = await client.send(from, ['ada@example.org'], letter)
  client.close()
  return answer
}

async function beginLetter(context: Context, name: string): Promise<Talk> {
  const client = await loggedIn(context)
  const from = `a@${context.project.domain}`
  for (const line of [`MAIL FROM:<${from}>`, 'RCPT TO:<ada@example.org>', 'DATA']) await client.ask(line)
  client.write(`From: ${from}\r\nSubject: ${name}\r\n`)
  return client
}

async function subjects({ databaseUrl }: Context): Promise<string[]> {
  const rows = await query<{ subject: string }>(databaseUrl, 'select subject from emails order by subject')
  return rows.map(({ subject }) => subject)
}

/** An advisory lock that each insert waits for, however long that takes; the time-outs of the service would end another. */
const GATE = 4_711

/** No email is written until it is let go. */
async function holdEmails({ databaseUrl }: Context) {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => undefined)
  await client.connect()
  await client.query(`
    create function wait_at_gate() returns trigger language plpgsql as $$ begin
      perform set_config('lock_timeout', '0', true), pg_advisory_xact_lock_shared(${GATE});
      return new;
    end $$;
    create trigger gate before insert on emails for each row execute function wait_at_gate();
    select pg_advisory_lock(${GATE})`)
  return { letGo: () => client.end() }
}

const waiting = ({ databaseUrl }: Context) =>
  query(databaseUrl, 'select from pg_locks where not granted and objid = $1', [GATE])

scenario('A service that is killed between DATA and its answer', start, (test) => {
  test('loses nothing: who got no 250 sends again, which a key makes one letter', async (context) => {
    const { boot, kill, sink } = context
    const service = await boot()
    const unfinished = await beginLetter(context, 'unfinished')
    const held = await holdEmails(context)
    const answer = handIn(context, 'keyed')
    await until('it to be at the database', async () => (await waiting(context)).length === 1)
    // The database commits, and nobody is there to say so.
    service.signal('SIGSTOP')
    await held.letGo()
    await until('it to be written', async () => (await subjects(context)).length === 1)
    await kill()
    assert.not.match(await answer, /^250/)
    assert.is(await unfinished.reply(), 'closed')

    await boot()
    assert.equal(await subjects(context), ['keyed'])
    for (const name of ['unfinished', 'keyed'] as const) {
      assert.match(await handIn(context, name), /^250 2\.0\.0 Accepted as [0-9a-f-]{36}/)
    }
    assert.equal(await subjects(context), ['keyed', 'unfinished'])
    await until('both to arrive', () => sink.arrivals.length === 2)
  })
})
