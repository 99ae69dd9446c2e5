import type { Attack, Target } from '../define-attack.ts'

const CLIENTS = 16
/** Of one request, about the most that it may set. */
const FIELDS = 4_500
/** Requests that each set new fields: 300,000 in all. */
const FIELD_REQUESTS = 67
const LASTS_MS = 15_000

type Seen = { asked: number; refused: number }

async function track({ url, unlimited }: Target, body: object, seen: Seen): Promise<void> {
  const headers = { authorization: `Bearer ${unlimited.public}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/v1/track`, { method: 'POST', headers, body: JSON.stringify(body) })
  await response.arrayBuffer()
  seen.asked += 1
  if (response.status === 422) seen.refused += 1
}

/** Clients that make one request after the other, as long as there is another one. */
async function clients(count: number, isMore: (n: number) => boolean, request: (n: number) => Promise<void>) {
  let n = 0
  const client = async () => {
    while (isMore(n)) await request(n++)
  }
  await Promise.all(Array.from({ length: count }, client))
}

const fieldsOf = (n: number) =>
  Object.fromEntries(Array.from({ length: FIELDS }, (_, index) => [`f${n * FIELDS + index}`, 1]))

async function listed({ url, unlimited }: Target): Promise<string> {
  const began = performance.now()
  const response = await fetch(`${url}/events/names`, {
    headers: { authorization: `Bearer ${unlimited.secret}` },
  })
  const { eventNames }: { eventNames: string[] } = JSON.parse(await response.text())
  return `GET /events/names: ${eventNames.length} in ${Math.round(performance.now() - began)} ms`
}

export const nameFlood: Attack = {
  name: 'names: tracks that each make a new event name, or thousands of fields',
  before: '300,000 names, /events/names of 64 MB',
  run: async (target) => {
    const events: Seen = { asked: 0, refused: 0 }
    const fields: Seen = { asked: 0, refused: 0 }
    await clients(
      2,
      (n) => n < FIELD_REQUESTS,
      (n) => track(target, { email: `${n}@example.org`, event: 'seen', data: fieldsOf(n) }, fields),
    )
    const until = performance.now() + LASTS_MS
    await clients(
      CLIENTS,
      () => performance.now() < until,
      (n) => track(target, { email: 'flood@example.org', event: `event ${n}` }, events),
    )
    return `${events.asked} event names, ${events.refused} refused; ${fields.asked * FIELDS} fields, those of ${fields.refused} of ${fields.asked} requests refused; ${await listed(target)}`
  },
}
