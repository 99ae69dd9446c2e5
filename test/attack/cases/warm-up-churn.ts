import { query } from '../../support/query.ts'
import { callerOf } from '../../support/service.ts'
import type { Attack, Target } from '../define-attack.ts'

const MESSAGES = 20_000
/** Rows that are prepared in one statement. */
const AT_ONCE = 2_000
const LASTING_MS = 20_000

/** Mail of workflows that the warm-up of its domain has put off to the next day. Returns the id of the domain. */
async function holdBack({ url, databaseUrl, unlimited }: Target): Promise<string> {
  const { id, domain } = unlimited
  const from = `hello@${domain}`
  const mail = { to: 'held@example.org', from, subject: 'Held', body: '<p>Held back</p>' }
  const { body } = await callerOf(url, unlimited).post('/v1/send', mail)
  const email: string = body.data.emails[0].email
  for (let first = 0; first < MESSAGES; first += AT_ONCE) {
    await query(
      databaseUrl,
      `with copies as (
         insert into emails select (jsonb_populate_record(e, jsonb_build_object('id', gen_random_uuid(), 'status', 'PENDING',
           'message_id', '<' || n || '@${domain}>'))).* from emails e, generate_series($3::int, $3::int + $4::int - 1) n
         where e.project_id = $1 and e.id = $2 returning project_id, id
       ),
       contents as (
         insert into email_contents select (jsonb_populate_record(c, jsonb_build_object('email_id', copies.id))).*
         from email_contents c, copies where c.project_id = $1 and c.email_id = $2
       )
       insert into deliveries (project_id, email_id, priority, size, due_at)
       select project_id, id, 1, 1000, now() + interval '1 day' from copies`,
      [id, email, first, AT_ONCE],
    )
  }
  await query(
    databaseUrl,
    'insert into warm_up_days (project_id, domain, day, sent) values ($1, $2, now(), 9)',
    [id, domain],
  )
  const [row] = await query<{ id: string }>(databaseUrl, 'select id from domains where domain = $1', [domain])
  return row?.id ?? ''
}

export const warmUpChurn: Attack = {
  name: 'a warm-up that is changed again and again while 20,000 messages wait for it',
  before: 'each change brings all of them forward, and delivery puts them off again',
  run: async (target) => {
    const domainId = await holdBack(target)
    const statuses = new Map<string, number>()
    let longestMs = 0
    const until = performance.now() + LASTING_MS
    for (let limit = 1; performance.now() < until && !target.signal.aborted; limit = 3 - limit) {
      const began = performance.now()
      const { body } = await callerOf(target.url, target.unlimited).graphql(
        'mutation ($domainId: ID!, $limits: [Int!]!) { setWarmUp(domainId: $domainId, input: { dailyLimits: $limits }) { id } }',
        { domainId, limits: [limit, 5] },
      )
      longestMs = Math.max(longestMs, performance.now() - began)
      const status = body.errors?.[0]?.extensions?.code ?? 'done'
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    const seen = [...statuses].map(([status, count]) => `${count} × ${status}`)
    return `${seen.join(', ')}, at most ${Math.round(longestMs)} ms`
  },
}
