import type { Attack, Target } from '../define-attack.ts'

const SENDS = 40
const BODY_BYTES = 30 * 1024 * 1024

/** What came of sends of 30 MB at once: how many had each status. */
async function sendAll({ url, unlimited, signal }: Target, text: string): Promise<Map<string, number>> {
  const body = Buffer.from(
    JSON.stringify({
      to: 'large@example.org',
      from: `large@${unlimited.domain}`,
      subject: 'Large',
      body: text,
    }),
  )
  const headers = { authorization: `Bearer ${unlimited.secret}`, 'content-type': 'application/json' }
  const statuses = new Map<string, number>()
  const send = async () => {
    const answer = await fetch(`${url}/v1/send`, { method: 'POST', headers, body, signal }).catch(() => null)
    await answer?.arrayBuffer().catch(() => null)
    const status = String(answer?.status ?? 'no answer')
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  await Promise.all(Array.from({ length: SENDS }, send))
  return statuses
}

const told = (statuses: Map<string, number>): string =>
  [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')

export const largeSends: Attack = {
  name: '40 sends of 30 MB at once',
  before: '2 GB, 503 for 23 of them',
  run: async (target) => told(await sendAll(target, 'x'.repeat(BODY_BYTES))),
}

/** Text that is not Latin-1 takes two bytes a character in memory. */
export const largeWideSends: Attack = {
  name: '40 sends of 30 MB at once, of wide characters',
  before: '2 GB, 503 for most of them',
  run: async (target) => told(await sendAll(target, `\u{1f600}${'x'.repeat(BODY_BYTES)}`)),
}
