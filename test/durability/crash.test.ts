import { setTimeout as pause } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { sendBody } from '../support/mailing.ts'
import { emailStates, query, unfinished } from '../support/query.ts'
import { scenario } from '../support/scenario.ts'
import { type Random, seeded } from '../support/seeded.ts'
import { callerOf, type Project, until } from '../support/service.ts'
import { type KillableService, startKillable } from './killable-service.ts'

const SENDS = 300
const KILLS = process.env.DEEP ? 5 : 3
const SENDS_A_LIFE = SENDS / (KILLS + 1)
const CLIENTS = 4
const HOLD_MS = 30
/** The lease of a claim is 30 s; then others look for it every 5 s. */
const RECOVERY_MS = 60_000

/** What the client knows about its sends. */
type Ledger = { answered: Map<string, string>; unanswered: Set<string>; posted: number; budget: number }

const start = () => startKillable({ sink: { holdMs: HOLD_MS }, embedded: true })

/** Posts until all sends are used up; what was answered, or may have been taken, is never posted again. */
async function client(url: string, project: Project, ledger: Ledger, random: Random): Promise<void> {
  while (ledger.posted < SENDS) {
    if (ledger.posted >= ledger.budget) {
      await pause(10)
      continue
    }
    ledger.posted += 1
    await postOne(url, project, `r${ledger.posted}@receiver.example`, ledger)
    await pause(random.between(0, 15))
  }
}

async function postOne(url: string, project: Project, to: string, ledger: Ledger): Promise<void> {
  const body = sendBody(project, { to })
  for (;;) {
    try {
      const answer = await callerOf(url, project).post('/v1/send', body)
      if (answer.status === 200) ledger.answered.set(to, answer.body.data.emails[0].email)
      else {
        assert.is(answer.status, 503, answer.text)
        ledger.unanswered.add(to)
      }
      return
    } catch (error) {
      if (!isRefusedConnection(error)) {
        if (error instanceof assert.Assertion) throw error
        ledger.unanswered.add(to)
        return
      }
      // Nobody listens, so nothing has been posted.
      await pause(20)
    }
  }
}

const isRefusedConnection = (error: unknown): boolean =>
  error instanceof Error &&
  error.cause instanceof Error &&
  'code' in error.cause &&
  error.cause.code === 'ECONNREFUSED'

/** Lets the client post, and kills the service at some moment of that. */
async function oneLife(
  { kill, databaseUrl, project }: KillableService,
  ledger: Ledger,
  random: Random,
): Promise<void> {
  const before = ledger.answered.size
  ledger.budget += SENDS_A_LIFE
  const wanted = random.between(5, SENDS_A_LIFE - 10)
  await until(`${wanted} answers`, () => ledger.answered.size - before >= wanted)
  await pause(random.between(0, 60))
  // What one crash has left may be sent again; a second crash in the middle of that would make it three times.
  await until('no repeat under way', async () => {
    const repeats = await query(
      databaseUrl,
      'select from deliveries where project_id = $1 and taken_by is not null and attempts > 1',
      [project.id],
    )
    return repeats.length === 0
  })
  await kill()
}

scenario('Crash safety', start, (test) => {
  test('what was answered arrives, at most once more, however often the service is killed', (context) =>
    seeded(async (random) => {
      const { sink, project, databaseUrl } = context
      const ledger: Ledger = { answered: new Map(), unanswered: new Set(), posted: 0, budget: 0 }
      const { url } = await context.boot()
      const clients = Promise.all(Array.from({ length: CLIENTS }, () => client(url, project, ledger, random)))
      const withDatabase = random.between(1, KILLS)
      for (let kill = 1; kill <= KILLS; kill += 1) {
        await oneLife(context, ledger, random)
        // Once the database goes down in the same moment, as when the machine stops.
        if (kill === withDatabase) context.killDatabase()
        await context.boot()
      }
      ledger.budget = SENDS
      await clients
      await until(
        'every email is final',
        async () => {
          await pause(250)
          return (await unfinished(databaseUrl, project.id)) === 0
        },
        RECOVERY_MS,
      )
      const counts = sink.counts()
      const missing = [...ledger.answered.keys()].filter((to) => !counts.has(to))
      const tooOften = [...counts].filter(([, count]) => count > 2)
      const repeated = [...counts].filter(([, count]) => count === 2)
      console.log(
        `answered ${ledger.answered.size}, unanswered ${ledger.unanswered.size}, repeated ${repeated.length}`,
      )
      assert.equal(missing, [], 'answered, but never arrived')
      assert.equal(tooOften, [], 'arrived more than twice')
      assert.is(ledger.answered.size + ledger.unanswered.size, SENDS)
      const states = await emailStates(databaseUrl, project.id)
      const stored = new Set(states.map(({ id }) => id))
      assert.ok(
        [...ledger.answered.values()].every((id) => stored.has(id)),
        'an answered email has no row',
      )
      assert.equal(
        states.filter(({ status, sentEvents }) => status !== 'SENT' || sentEvents !== 1),
        [],
      )
    }))
})
