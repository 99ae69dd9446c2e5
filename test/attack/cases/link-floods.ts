import { randomBytes } from 'node:crypto'
import { query } from '../../support/query.ts'
import type { Attack, Target } from '../define-attack.ts'

const LASTING_MS = 15_000
const CLIENTS = 16

/** Follows links one after the other, and tells how many requests had which status. */
async function followLinks({ url, signal }: Target, pathOf: (n: number) => string): Promise<string> {
  const statuses = new Map<number, number>()
  const until = performance.now() + LASTING_MS
  let n = 0
  const client = async () => {
    while (performance.now() < until && !signal.aborted) {
      const { status, body } = await fetch(`${url}${pathOf(n++)}`, { method: 'POST', signal })
      await body?.cancel()
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')
}

/** The token of a link in a message that the tenant has sent to itself. */
async function ownLink({ url, databaseUrl, unlimited }: Target): Promise<string> {
  const message = {
    to: 'me@example.org',
    from: `me@${unlimited.domain}`,
    subject: 'To me',
    body: '{{unsubscribeUrl}}',
    subscribed: true,
  }
  const answer = await fetch(`${url}/v1/send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${unlimited.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(message),
  })
  const { data }: { data: { emails: { email: string }[] } } = JSON.parse(await answer.text())
  const id = data.emails[0]?.email
  const text = 'select html from email_contents where email_id = $1'
  const [content] = await query<{ html: string }>(databaseUrl, text, [id])
  return content?.html.split('/').at(-1) ?? ''
}

export const forgedLinks: Attack = {
  name: 'links: forged ones',
  before: 'a statement each, without end',
  run: (target) => followLinks(target, () => `/unsubscribe/${randomBytes(64).toString('base64url')}`),
}

export const toggledSubscription: Attack = {
  name: 'links: one that unsubscribes, and subscribes again',
  before: 'an event each, without end',
  run: async (target) => {
    const token = await ownLink(target)
    const seen = await followLinks(target, (n) => `/${n % 2 ? 'subscribe' : 'unsubscribe'}/${token}`)
    const [events] = await query<{ count: number }>(
      target.databaseUrl,
      'select count(*)::int as count from events where project_id = $1',
      [target.unlimited.id],
    )
    return `${seen}; ${events?.count} events`
  },
}
