import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { hashKey } from '../../../src/admission/access.ts'
import { underKey } from '../../../src/admission/idempotency.ts'
import { type Ctx, createCtx } from '../../../src/ctx.ts'
import { trackInput } from '../../../src/features/events/track.input.ts'
import { trackEvent } from '../../../src/features/events/track.ts'
import { newId } from '../../../src/lib/ids.ts'
import type { JsonObject } from '../../../src/lib/json.ts'
import { applyData, dataInput } from '../../support/data-model.ts'
import { scenario } from '../../support/scenario.ts'
import { runs } from '../../support/seeded.ts'
import { type Service, startService } from '../../support/service.ts'

/** One call, as callers write it. */
type Call = {
  who: number
  event: string
  subscribed: boolean | null | undefined
  data: JsonObject | undefined
  idempotent: boolean
}

const call: fc.Arbitrary<Call> = fc.record({
  who: fc.nat(2),
  event: fc.constantFrom('opened', 'bought', '鍵', 'e'.repeat(255)),
  subscribed: fc.constantFrom(undefined, undefined, null, true, false),
  data: fc.option(dataInput, { nil: undefined }),
  idempotent: fc.boolean(),
})

const sameJson = (one: unknown, other: unknown): boolean => {
  try {
    assert.equal(one, other)
    return true
  } catch {
    return false
  }
}

/** Tracking with a simple statement for each step: what the one statement of the hot path has to mean. */
async function naiveTrack(
  { sql }: Service,
  projectId: string,
  email: string,
  call: Call,
  now: Date,
): Promise<void> {
  const subscribed = call.subscribed ?? undefined
  const [known] = await sql<{ id: string; subscribed: boolean; data: JsonObject }>(
    'select id, subscribed, data from contacts where project_id = $1 and email = $2',
    [projectId, email],
  )
  const { contact, event } = applyData(known?.data ?? {}, call.data ?? {})
  const record = async (contactId: string, name: string, data: JsonObject) => {
    const id = newId(now)
    await sql(
      'insert into events (project_id, id, contact_id, name, data, created_at) values ($1, $2, $3, $4, $5, $6)',
      [projectId, id, contactId, name, JSON.stringify(data), now],
    )
    return id
  }
  const contactId = known?.id ?? newId(now)
  if (!known) {
    await sql(
      `insert into contacts (project_id, id, email, subscribed, data, created_at, updated_at)
       values ($1, $2, $3, $4, $5, $6, $6)`,
      [projectId, contactId, email, subscribed ?? true, JSON.stringify(contact), now],
    )
  } else if (!sameJson(known.data, contact) || (subscribed ?? known.subscribed) !== known.subscribed) {
    await sql('update contacts set data = $3, updated_at = $4 where project_id = $1 and id = $2', [
      projectId,
      contactId,
      JSON.stringify(contact),
      now,
    ])
    if (subscribed !== undefined && subscribed !== known.subscribed) {
      const name = subscribed ? 'contact.subscribed' : 'contact.unsubscribed'
      const eventId = await record(contactId, name, { source: 'track' })
      await sql(
        'update contacts set subscribed = $3, subscription_event_id = $4 where project_id = $1 and id = $2',
        [projectId, contactId, subscribed, eventId],
      )
    }
  }
  await record(contactId, call.event, event)
}

/** Contacts and events of some addresses, without the ids that were made for them. */
async function stateOf({ sql }: Service, projectId: string, emails: string[]) {
  const contacts = await sql(
    `select c.email, c.subscribed, c.data::text, c.created_at, c.updated_at,
       e.name as subscription, e.created_at as subscribed_at
     from contacts c left join events e on e.project_id = c.project_id and e.id = c.subscription_event_id
     where c.project_id = $1 and c.email = any($2) order by c.email`,
    [projectId, emails],
  )
  const events = await sql(
    `select c.email, e.name, e.data::text, e.email_id, e.created_at
     from events e join contacts c on c.project_id = e.project_id and c.id = e.contact_id
     where e.project_id = $1 and c.email = any($2) order by e.created_at, e.name`,
    [projectId, emails],
  )
  return { contacts, events }
}

/** The hot path, at a time that is given. */
async function hotTrack(
  ctx: Ctx,
  email: string,
  call: Call,
  now: Date,
  idempotencyKey: string,
): Promise<void> {
  const { event, subscribed, data } = call
  const input = trackInput.parse(JSON.parse(JSON.stringify({ email, event, subscribed, data })))
  const at: Ctx = { ...ctx, now: () => now }
  if (!call.idempotent) await trackEvent(at, input)
  else {
    const request = { key: idempotencyKey, request: 'POST /v1/track', replay: false }
    const readArgs = async () => ({ input })
    await underKey(at, request, readArgs, (args, held) => trackEvent(held, args.input))
  }
}

scenario('The one statement that tracks', startService, (test) => {
  test('means the same as a simple statement for each step', async (service) => {
    const [hot, naive] = [await service.newProject(), await service.newProject()]
    const { services } = service.app
    const actor = await services.keyRing.lookUp('public', hashKey(hot.public))
    assert.ok(actor)
    const ctx = createCtx(services, actor, 'test')
    let sequence = 0
    let time = Date.parse('2026-03-04T05:06:07Z')
    const run = async (calls: Call[]) => {
      sequence += 1
      const emails = [0, 1, 2].map((who) => `person-${who}-of-${sequence}@example.org`)
      for (const [index, call] of calls.entries()) {
        time += 1_000
        const now = new Date(time)
        const email = emails[call.who] ?? ''
        await hotTrack(ctx, email, call, now, `${sequence}-${index}`)
        await naiveTrack(service, naive.id, email, call, now)
      }
      assert.equal(await stateOf(service, hot.id, emails), await stateOf(service, naive.id, emails))
    }
    await fc.assert(fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 8 }), run), {
      numRuns: runs(250),
    })
    assert.ok(sequence >= runs(250))
  })
})
