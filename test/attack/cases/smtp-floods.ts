import { setTimeout as pause } from 'node:timers/promises'
import { type Talk, talk } from '../../support/smtp-talk.ts'
import type { Attack, Target } from '../define-attack.ts'

const SUBMISSION_PORT = 42_587
const INBOUND_PORT = 42_525
const CONNECTIONS = 1_000
const ATTACK_MS = 22_000
/** A thousand connections at once fill the queue of those that wait to be accepted. */
const LET_OTHERS_IN_MS = 2_000
const MEGABYTE = 1024 * 1024

const attackers = { slow: '127.0.0.66', guesser: '127.0.0.67', tenant: '127.0.0.68', stranger: '127.0.0.69' }

type Seen = { closed: number; guesses: number; refusedGuesses: number; accepted: number; refused: number }

/** Connections that say a byte now and then. */
async function dawdle(seen: Seen, isOver: () => boolean): Promise<void> {
  await pause(LET_OTHERS_IN_MS)
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, () =>
      Promise.race([talk(SUBMISSION_PORT, attackers.slow), pause(5_000, null)]),
    ),
  )
  while (!isOver()) {
    for (const client of clients) client?.write('E')
    await pause(500)
  }
  for (const client of clients) {
    if (client === null || client.isOver) seen.closed += 1
    client?.close()
  }
}

async function guess(seen: Seen, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const client = await talk(SUBMISSION_PORT, attackers.guesser)
    await client.ask('EHLO x.example')
    for (let n = 0; n < 7 && !isOver(); n += 1) {
      const key = `sk_${seen.guesses.toString(16).padStart(64, '0')}`
      const answer = await client.ask(`AUTH PLAIN ${Buffer.from(`\0x\0${key}`).toString('base64')}`)
      if (client.isOver) break
      seen.guesses += 1
      if (answer.startsWith('451')) seen.refusedGuesses += 1
    }
    client.close()
  }
}

const NESTED = Array.from(
  { length: 5_000 },
  (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}`,
).join('\r\n')
const WIDE = `Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\nContent-Type: text/html\r\n\r\n<p>\r\n'.repeat(20_000)}--b--`

/** Messages that cost as much as they can, after `From`. */
const bombs = (from: string): Buffer[] =>
  [
    `From: ${from}\r\n${NESTED}`,
    `From: ${from}\r\n${WIDE}`,
    `From: ${from}\r\nTo: ${'"a" <a@b.co>, '.repeat(4_000)}x@y.zz\r\n\r\nx`,
    `From: ${from}\r\n${'X-A: b\r\n'.repeat(100_000)}\r\nx`,
    `From: ${from}\r\nX-Long: ${'('.repeat(8 * MEGABYTE)}`,
    `From: ${from}\r\nContent-Type: text/html\r\n\r\n${'<b>'.repeat(MEGABYTE)}`,
    `From: ${from}\r\nContent-Type: application/x\r\nContent-Transfer-Encoding: base64\r\n\r\n${'QUJD'.repeat(2 * MEGABYTE)}`,
  ].map((text) => Buffer.from(text))

async function flood(
  open: () => Promise<Talk | null>,
  given: Sender,
  seen: Seen,
  isOver: () => boolean,
): Promise<void> {
  let client: Talk | null = null
  for (let n = given.first; !isOver(); n += 1) {
    if (client === null || client.isOver) client = await open()
    if (client === null) return
    const message = given.messages[n % given.messages.length] ?? Buffer.alloc(0)
    const answer = await Promise.race([client.send(given.from, [given.to], message), pause(10_000, 'closed')])
    if (answer.startsWith('250')) seen.accepted += 1
    else {
      seen.refused += 1
      client.close()
      client = null
    }
  }
  client?.close()
}

type Sender = { from: string; to: string; messages: Buffer[]; first: number }

async function run({ unlimited, bystander }: Target): Promise<string> {
  const seen = { closed: 0, guesses: 0, refusedGuesses: 0, accepted: 0, refused: 0 }
  const asTenant = async () => {
    const client = await talk(SUBMISSION_PORT)
    await client.ask('EHLO x.example')
    const login = Buffer.from(`\0x\0${unlimited.secret}`).toString('base64')
    return (await client.ask(`AUTH PLAIN ${login}`)).startsWith('235') ? client : null
  }
  const asStranger = async () => {
    const client = await talk(INBOUND_PORT, attackers.stranger)
    return (await client.ask('EHLO x.example')).startsWith('250') ? client : null
  }
  const from = `a@${unlimited.domain}`
  const tenant = { from, to: 'b@example.org', messages: bombs(from) }
  const stranger = { from: 'a@b.co', to: `x@${bystander.domain}`, messages: bombs('a@b.co') }
  const endsAt = performance.now() + ATTACK_MS
  const isOver = () => performance.now() > endsAt
  const all = Promise.all([
    dawdle(seen, isOver),
    guess(seen, isOver),
    ...Array.from({ length: 4 }, (_, first) => flood(asTenant, { ...tenant, first }, seen, isOver)),
    ...Array.from({ length: 4 }, (_, first) => flood(asStranger, { ...stranger, first }, seen, isOver)),
  ])
  await Promise.race([all, pause(ATTACK_MS + 4_000)])
  return `${seen.closed} of ${CONNECTIONS} slow connections closed, ${seen.refusedGuesses} of ${seen.guesses} guesses not looked up, ${seen.refused} of ${seen.refused + seen.accepted} bombs refused`
}

export const smtpFloods: Attack = {
  name: 'SMTP: slow connections, guesses, bombs',
  before: 'new',
  env: {
    SMTP_DOOR_PORT: String(SUBMISSION_PORT),
    SMTP_DOOR_INBOUND_PORT: String(INBOUND_PORT),
    TRUSTED_PROXIES: '192.0.2.1',
  },
  run,
}
