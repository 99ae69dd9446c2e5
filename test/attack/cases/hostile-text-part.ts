import { setTimeout as pause } from 'node:timers/promises'
import type { Attack, Target } from '../define-attack.ts'

const RECIPIENTS = 150
const LOOK_EVERY_MS = 250

/** Sends to many and watches until the mail has left. */
async function deliver({ url, unlimited, signal }: Target, bodies: string[]): Promise<string> {
  const headers = { authorization: `Bearer ${unlimited.secret}`, 'content-type': 'application/json' }
  const from = `x@${unlimited.domain}`
  const post = async (path: string, body: object) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return response.text()
  }
  const began = performance.now()
  const seconds = () => `${((performance.now() - began) / 1_000).toFixed(1)} s`
  let last = ''
  for (const [index, body] of bodies.entries()) {
    const to = Array.from({ length: RECIPIENTS / bodies.length }, (_, n) => `a${n}.${index}@example.org`)
    const answer = await post('/v1/send', { to, from, subject: 'x', body })
    last = [...answer.matchAll(/"email":"([\da-f-]{36})"/g)].at(-1)?.[1] ?? last
    if (signal.aborted) return `${index + 1} requests were taken in ${seconds()}`
  }
  const query = `{ email(id: "${last}") { status } }`
  while (!signal.aborted) {
    if ((await post('/graphql', { query })).includes('"SENT"'))
      return `${RECIPIENTS} messages left in ${seconds()}`
    await pause(LOOK_EVERY_MS)
  }
  return `${RECIPIENTS} messages had not left after ${seconds()}`
}

export const unmatchedEndTags: Attack = {
  name: 'text part: 127 KB of <b>…</i> to 150 recipients',
  before: '/health/live p50 290 to 780 ms for 40 s',
  run: (target) => deliver(target, ['<b>…</i>'.repeat(15_800)]),
}

export const manyElements: Attack = {
  name: 'text part: 20,000 × <b> in 150 different bodies',
  before: '0.83 s a message',
  run: (target) =>
    deliver(
      target,
      Array.from({ length: RECIPIENTS }, (_, index) => `${index}${'<b>x</b>'.repeat(15_800)}`),
    ),
}
