import { setTimeout as pause } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { recount } from '../features/campaigns/recount.ts'
import type { MailSinkOptions } from '../support/mail-sink.ts'
import { query } from '../support/query.ts'
import { scenario } from '../support/scenario.ts'
import { type Random, seeded } from '../support/seeded.ts'
import { type Body, callerOf, until } from '../support/service.ts'
import { type KillableService, startKillable } from './killable-service.ts'

const CONTACTS = 300
const UNSUBSCRIBED = 30
const KILLS = process.env.DEEP ? 10 : 3
const HOLD_MS = 20
/** For how long the service waits for an answer, which otherwise takes a fraction of it on a busy machine, too. */
const PATIENCE_MS = 4_000
const RECOVERY_MS = 90_000

type Answer = ReturnType<NonNullable<MailSinkOptions['refuse']>>

const GONE: Answer = { at: 'RCPT', code: 550, text: 'no such user' }
const SPAM: Answer = { at: 'DATA', code: 554, text: 'looks like spam' }
const GREY: Answer = { at: 'RCPT', code: 450, text: 'greylisted' }
const BUSY: Answer = { at: 'DATA', code: 451, text: 'try again' }
const FINE = null

/** What the mail server answers to the attempts of a recipient, the last one to all that follow; and of 100 how many. */
const FATES: { share: number; answers: Answer[] }[] = [
  { share: 5, answers: [GREY, FINE] },
  { share: 5, answers: [BUSY, FINE] },
  { share: 3, answers: [GREY, BUSY, FINE] },
  { share: 1, answers: ['silence', FINE] },
  { share: 1, answers: [BUSY, 'silence', FINE] },
  { share: 5, answers: [GONE] },
  { share: 3, answers: [SPAM] },
  { share: 3, answers: [GREY, GONE] },
  { share: 74, answers: [FINE] },
]

function fateFrom(random: Random): Answer[] {
  let place = random.between(1, 100)
  for (const { share, answers } of FATES) {
    if (place <= share) return answers
    place -= share
  }
  throw new Error('The shares do not come to 100')
}

const addressOf = (number: number) => `r${number}@receiver.example`

async function start() {
  const fates = new Map<string, Answer[]>()
  const refuse = (to: string, attempt: number): Answer => {
    const answers = fates.get(to) ?? [FINE]
    return answers[Math.min(attempt, answers.length) - 1] ?? FINE
  }
  const service = await startKillable({
    sink: { holdMs: HOLD_MS, refuse },
    smtp: `?socketTimeout=${PATIENCE_MS}`,
    env: { SMTP_CONNECTIONS: '12' },
  })
  await query(
    service.databaseUrl,
    `insert into contacts (project_id, id, email, subscribed, created_at, updated_at)
     select $1, gen_random_uuid(), 'r' || n || '@receiver.example', n > $2, now(), now()
     from generate_series(1, $3::int) as n`,
    [service.project.id, UNSUBSCRIBED, CONTACTS],
  )
  return { ...service, fates }
}

type Context = Awaited<ReturnType<typeof start>>

/** Starts a campaign to all contacts; its id. */
async function startCampaign({ project }: KillableService, url: string): Promise<string> {
  const caller = callerOf(url, project)
  const created = await caller.post('/campaigns', {
    name: 'Chaos',
    subject: 'Hello',
    body: '<p>Hello {{email}}</p>',
    from: `news@${project.domain}`,
    audienceType: 'ALL',
  })
  assert.is(created.status, 201, created.text)
  const { id } = created.body.data
  const sent = await caller.post(`/campaigns/${id}/send`, {})
  assert.is(sent.status, 200, sent.text)
  return id
}

/** The recipients whose messages the database takes for being handed over at this moment. */
const inFlight = async ({ databaseUrl }: KillableService): Promise<string[]> =>
  (
    await query<{ to: string }>(
      databaseUrl,
      `select e.to_email as to from deliveries d join emails e on e.project_id = d.project_id and e.id = d.email_id
       where d.taken_by is not null`,
    )
  ).map(({ to }) => to)

/** Nobody waits here for the minutes after which messages and campaigns are looked at again. */
async function hurry({ databaseUrl }: KillableService): Promise<void> {
  await query(
    databaseUrl,
    "update deliveries set due_at = now() where taken_by is null and due_at between now() and now() + interval '1 day'",
  )
  await query(databaseUrl, 'update campaigns set next_at = now() where next_at > now()')
}

async function assertAddsUp({ databaseUrl }: KillableService, id: string): Promise<void> {
  const { told, found } = await recount(databaseUrl, id)
  assert.equal(told, found)
}

/** Kills the worker and restarts the database while the campaign runs; returns whose messages were in flight then. */
async function disturb(context: Context, id: string, random: Random): Promise<string[]> {
  const { sink } = context
  const disturbed: string[] = []
  const outage = random.between(1, KILLS)
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const wanted = Math.floor((kill / (KILLS + 1)) * CONTACTS * 0.7)
    await until(`${wanted} arrivals`, () => sink.arrivals.length >= wanted)
    if (kill === outage) {
      await context.restartDatabase()
      disturbed.push(...(await inFlight(context)))
    }
    await pause(random.between(0, 50))
    await context.kill()
    disturbed.push(...(await inFlight(context)))
    await assertAddsUp(context, id)
    await context.boot()
  }
  return disturbed
}

/** Waits until the campaign is SENT, and returns its numbers. */
const ended = (context: Context, url: string, id: string): Promise<Body> =>
  until(
    'every recipient is in a final state',
    async () => {
      await pause(250)
      await hurry(context)
      await assertAddsUp(context, id)
      const { body } = await callerOf(url, context.project).get(`/campaigns/${id}/stats`)
      return body?.data?.status === 'SENT' && body.data
    },
    RECOVERY_MS,
  )

const times = (all: string[], one: string) => all.filter((other) => other === one).length

scenario(
  'A campaign whose worker is killed, whose database restarts and whose mail server has moods',
  start,
  (test) => {
    test('reaches everybody, nobody more often than it was in flight at such a moment, and ends', (context) =>
      seeded(async (random) => {
        const { sink, fates, databaseUrl } = context
        for (let number = 1; number <= CONTACTS; number += 1) fates.set(addressOf(number), fateFrom(random))
        const { url } = await context.boot()
        const id = await startCampaign(context, url)
        const disturbed = await disturb(context, id, random)
        const counts = await ended(context, url, id)
        const ledger = await query<{
          status: string
          email: string
          subscribed: boolean
          error: string | null
        }>(
          databaseUrl,
          `select r.status, c.email, c.subscribed, e.error from campaign_recipients r
         join contacts c on c.project_id = r.project_id and c.id = r.contact_id
         left join emails e on e.project_id = r.project_id and e.id = r.email_id where r.campaign_id = $1`,
          [id],
        )
        assert.is(ledger.length, CONTACTS)
        const arrived = sink.counts()
        const unanswered = sink.unanswered.map(({ to }) => to)
        for (const { status, email, subscribed, error } of ledger) {
          const isTaken = fates.get(email)?.at(-1) === FINE
          assert.is(status, !subscribed ? 'SKIPPED' : isTaken ? 'SENT' : 'FAILED', email)
          assert.is(arrived.has(email), status === 'SENT', email)
          const most = 1 + times(unanswered, email) + times(disturbed, email)
          const copies = arrived.get(email) ?? 0
          assert.ok(copies <= most, `${email} has ${copies} of ${most}`)
          if (copies > 1) assert.match(error ?? '', 'may have arrived twice', email)
        }
        const numberOf = (status: string) => ledger.filter((one) => one.status === status).length
        assert.equal(
          [counts.sentCount, counts.failedCount, counts.skippedCount, counts.totalRecipients],
          [numberOf('SENT'), numberOf('FAILED'), numberOf('SKIPPED'), CONTACTS],
        )
        const repeated = [...arrived.values()].filter((count) => count > 1).length
        console.log(`${disturbed.length} in flight, ${unanswered.length} unanswered, ${repeated} repeated`)
      }))
  },
)
