import { query } from '../../support/query.ts'
import type { Attack, Target } from '../define-attack.ts'

const LASTING_MS = 20_000
const AT_ONCE = 64

/** A message of the tenant that is tracked: its pixel and a link, as paths. */
async function trackedMail({ url, databaseUrl, unlimited }: Target): Promise<string[]> {
  await query(databaseUrl, `update projects set tracking = 'ENABLED' where id = $1`, [unlimited.id])
  const answer = await fetch(`${url}/v1/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${unlimited.secret}` },
    body: JSON.stringify({
      to: 'reader@example.org',
      from: `a@${unlimited.domain}`,
      subject: 'x',
      body: '<a href="https://shop.example/">x</a>',
    }),
  })
  const { data } = await answer.json()
  const [row] = await query<{ html: string }>(
    databaseUrl,
    'select html from email_contents where email_id = $1',
    [data.emails[0].email],
  )
  return [...String(row?.html).matchAll(/"[^"]*(\/t\/[oc]\/[^"]+)"/g)].map(([, path = '']) => path)
}

/** A reader asks for the pixel and the link of one message over and over, under names of machines too, and for forged ones. */
export const trackingFlood: Attack = {
  name: 'opens and clicks of one message without end',
  before: 'every one of them would be a row, an event and a new version of the message',
  run: async (target) => {
    const { url, databaseUrl, signal } = target
    const paths = await trackedMail(target)
    const forged = paths.map((path) => path.replace(/^(\/t\/.\/)../, '$1zz'))
    const asked = [...paths, ...forged]
    const until = performance.now() + LASTING_MS
    let answered = 0
    const ask = async (index: number) => {
      for (let next = index; performance.now() < until && !signal.aborted; next += 1) {
        const headers = { 'user-agent': next % 2 === 0 ? 'Mozilla/5.0 (X11; Linux x86_64)' : 'curl/8' }
        const path = asked[next % asked.length]
        const answer = await fetch(`${url}${path}`, { headers, redirect: 'manual', signal }).catch(() => null)
        await answer?.arrayBuffer().catch(() => null)
        if (answer) answered += 1
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => ask(index)))
    const [found] = await query<{ waiting: number; events: number }>(
      databaseUrl,
      `select (select count(*) from tracking_hits)::int as waiting,
         (select count(*) from events where name in ('email.open', 'email.click'))::int as events`,
    )
    const { waiting, events } = found ?? { waiting: 0, events: 0 }
    if (waiting > 100 + AT_ONCE || events > 1_000) throw new Error(`${waiting} wait, ${events} events`)
    return `${answered} answered; ${waiting} wait, ${events} events`
  },
}
