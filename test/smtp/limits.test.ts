import * as assert from 'uvu/assert'
import { MessageRoom } from '../../src/smtp/message-room.ts'
import { member } from '../support/browser-session.ts'
import { MINUTE } from '../support/clock.ts'
import { hold } from '../support/held-lock.ts'
import { nothingShared, scenario } from '../support/scenario.ts'
import { talk } from '../support/smtp-talk.ts'
import { type Door, startDoor } from './smtp-support.ts'

const PLAIN = { SMTP_DOOR_CERT_FILE: '', SMTP_DOOR_KEY_FILE: '', SMTP_DOOR_TLS_PORT: '' }

const logIn = (key: string): string => `AUTH PLAIN ${Buffer.from(`\0x\0${key}`).toString('base64')}\r\n`

async function loggedIn({ ports, project }: Door, key = project.secret) {
  const client = await talk(ports.submission)
  await client.ask('EHLO x.example')
  const answer = await client.ask(logIn(key).trim())
  return { client, answer }
}

/** In one session: a message, the change, and messages before and after the process has forgotten the key. */
async function refusesAfter(door: Door, change: () => Promise<unknown>, refusal: RegExp): Promise<void> {
  const { client, answer } = await loggedIn(door)
  assert.match(answer, /^235/)
  const from = `a@${door.project.domain}`
  const send = () => client.send(from, ['r@example.org'], `From: ${from}\r\n\r\nx`)
  assert.match(await send(), /^250 2\.0\.0 Accepted/)
  await change()
  assert.match(await send(), refusal)
  door.clock.advance(6_000)
  assert.match(await client.ask(`MAIL FROM:<${from}>`), refusal)
  client.close()
  const stored = await door.sql('select 1 from emails where project_id = $1', [door.project.id])
  assert.is(stored.length, 1)
}

const CREATE_KEY = `mutation ($id: ID!) {
  createApiKey(projectId: $id, input: { name: "door", scope: SEND }) { key apiKey { id } } }`
const REVOKE_KEY = 'mutation ($id: ID!, $key: ID!) { revokeApiKey(projectId: $id, id: $key) { id } }'

scenario(
  'An SMTP port without a certificate',
  () =>
    startDoor({
      ...PLAIN,
      MAX_MESSAGE_MB: '1',
      STRANGER_RATE_LIMIT_PER_MINUTE: '5',
      RATE_LIMIT_PER_MINUTE: '4',
    }),
  (test) => {
    test('takes keys from this machine, and refuses what is too large', async (door) => {
      const { client, answer } = await loggedIn(door)
      assert.match(answer, /^235/)
      const from = `a@${door.project.domain}`
      assert.match(await client.ask(`MAIL FROM:<${from}> SIZE=2000000`), /^552/)
      const letter = `From: ${from}\r\nSubject: x\r\n\r\n${'x'.repeat(1_100_000)}`
      assert.match(await client.send(from, ['big@example.org'], letter), /^552 5\.3\.4/)
      assert.match(await client.send(from, ['small@example.org'], `From: ${from}\r\n\r\nx`), /^250 2\.0\.0/)
      client.close()
    })

    test('forgets clients that hang up while their key is looked up', async (door) => {
      const { secret } = await door.newProject()
      const hangUp = async () => {
        const held = await hold(door.databaseUrl, 'lock table projects in access exclusive mode')
        try {
          const clients = await Promise.all(Array.from({ length: 5 }, () => talk(door.ports.submission)))
          for (const client of clients) await client.ask('EHLO x.example')
          for (const client of clients) client.write(logIn(secret))
          await held.waiters(clients.length)
          for (const client of clients) client.close()
          // The server has seen the ends of the others when it answers this one.
          const last = await talk(door.ports.submission)
          await last.ask('EHLO x.example')
          last.close()
        } finally {
          await held.release()
        }
        // A key that was looked up is remembered for five seconds.
        door.clock.advance(6_000)
      }
      // More than a project may have open.
      for (let hung = 0; hung <= 100; hung += 5) await hangUp()
      const { client, answer } = await loggedIn(door, secret)
      assert.match(answer, /^235/, 'none of them counts for the project')
      client.close()
    })

    test('takes no keys where mail of other servers comes in', async (door) => {
      const client = await talk(door.ports.inbound)
      const offered = await client.ask('EHLO x.example')
      assert.not.match(offered, 'AUTH')
      assert.not.match(offered, 'STARTTLS')
      assert.match(await client.ask(logIn(door.project.secret).trim()), /^5/)
      client.close()
    })

    test('counts a message as a request', async (door) => {
      const { client } = await loggedIn(door)
      const from = `a@${door.project.domain}`
      const answers: string[] = []
      for (let n = 0; n < 5; n += 1)
        answers.push(await client.send(from, ['r@example.org'], `From: ${from}\r\n\r\nx`))
      assert.match(answers.at(-1) ?? '', /^451 4\.7\.1 More than 4 requests/)
      client.close()
    })

    test('lets nobody guess keys without end', async (door) => {
      const answers: string[] = []
      for (let n = 0; n < 8; n += 1) {
        const { client, answer } = await loggedIn(door, `sk_${String(n).padStart(64, '0')}`)
        answers.push(answer.slice(0, 9))
        client.close()
      }
      assert.is(answers.filter((answer) => answer === '535 5.7.8').length, 5)
      assert.is(answers.filter((answer) => answer === '451 4.7.1').length, 3)
      // Who has shown its key before is not in the way.
      const { client, answer } = await loggedIn(door)
      assert.match(answer, /^235/)
      client.close()
    })

    test('refuses the next message of a session whose key was revoked meanwhile', async (door) => {
      // The guesses of the test before are forgotten.
      door.clock.advance(MINUTE)
      const project = await door.newProject()
      const admin = await member(door, 'ADMIN', project)
      const made = await admin.graphql(CREATE_KEY, { id: project.id })
      const { key, apiKey } = made.body.data.createApiKey
      const revoke = () => admin.graphql(REVOKE_KEY, { id: project.id, key: apiKey.id })
      await refusesAfter({ ...door, project: { ...project, secret: key } }, revoke, /^535 5\.7\.8 /)
    })

    test('refuses the next message of a session whose project was disabled meanwhile', async (door) => {
      const project = await door.newProject()
      const disable = () => door.sql('update projects set disabled = true where id = $1', [project.id])
      await refusesAfter({ ...door, project }, disable, /^550 5\.7\.1 /)
    })

    test('answers what it has received when it stops, and says goodbye to the others', async () => {
      const other = await startDoor(PLAIN)
      const idle = (await loggedIn(other)).client
      const busy = (await loggedIn(other)).client
      const from = `a@${other.project.domain}`
      await busy.ask(`MAIL FROM:<${from}>`)
      await busy.ask('RCPT TO:<last@example.org>')
      await busy.ask('DATA')
      busy.write(`From: ${from}\r\nSubject: last\r\n\r\nx`)
      const stopping = other.app.stop()
      assert.match(await idle.reply(), /^421 4\.3\.2/)
      assert.match(await busy.ask('\r\n.'), /^250 2\.0\.0 Accepted/)
      assert.match(await busy.reply(), /^421 4\.3\.2|closed/)
      await stopping
      const rows = await other.sql("select 1 from emails where subject = 'last'")
      assert.is(rows.length, 1)
      await other.stop()
    })
  },
)

scenario('The room for messages', nothingShared, (test) => {
  const megabytes = (count: number) => Array.from({ length: count }, () => Buffer.alloc(1024 * 1024))
  async function* streamOf(chunks: Buffer[]) {
    yield* chunks
  }

  test('is refused to who would take the share of others, and given back', async () => {
    const room = new MessageRoom(40 * 1024 * 1024)
    const receive = (owner: string, count: number) =>
      room.receive(streamOf(megabytes(count)), owner, () => {})
    const first = await receive('a', 40)
    const code = (error: { code?: string }) => error.code
    assert.is(await receive('a', 10).then(() => 'taken', code), 'SERVICE_UNAVAILABLE')
    const second = await receive('b', 20)
    assert.is(await receive('c', 20).then(() => 'taken', code), 'SERVICE_UNAVAILABLE')
    first.giveBack()
    assert.is(await room.use(second, 'b', async (raw) => raw.length), 20 * 1024 * 1024)
    assert.is(await receive('c', 41).then(() => 'taken', code), 'PAYLOAD_TOO_LARGE')
    assert.is((await receive('c', 40)).bytes, 40 * 1024 * 1024)
  })

  test('hangs up on who does not stop sending', async () => {
    const room = new MessageRoom(1024 * 1024)
    let hungUp = 0
    await room
      .receive(streamOf(megabytes(20)), 'a', () => {
        hungUp += 1
      })
      .catch(() => {})
    assert.ok(hungUp > 0)
  })
})
