import type { Attack, Target } from '../define-attack.ts'

const SEGMENTS = 9
const FILTERS = 100
const CLIENTS = 6
const LASTS_MS = 15_000

async function call({ url, tenant }: Target, path: string, body: object) {
  const headers = { authorization: `Bearer ${tenant.secret}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: response.status, answer: JSON.parse(await response.text()) }
}

const allOf = (...filters: object[]) => ({ logic: 'AND', groups: [{ filters }] })

/** A segment of contacts that have had each of a hundred events. */
async function newSegment(target: Target, n: number): Promise<string> {
  const filters = Array.from({ length: FILTERS }, (_, index) => ({
    ...{ field: `event.e${n}-${index}`, operator: 'triggeredOlderThan', value: 30, unit: 'days' },
  }))
  const { answer } = await call(target, '/segments', { name: `Part ${n}`, condition: allOf(...filters) })
  return answer.id
}

const PREVIEW = 'query ($input: PreviewAudienceInput!) { previewAudience(input: $input) { receiving } }'
const LIST = 'query ($filter: JSONObject) { contacts(filter: $filter) { data { id } } }'

/** What asks for a condition, by every door. */
const DOORS: ((target: Target, condition: object) => Promise<string>)[] = [
  async (target, condition) =>
    asked(await call(target, '/graphql', graphql(PREVIEW, { input: { condition } }))),
  async (target, condition) => asked(await call(target, '/graphql', graphql(LIST, { filter: condition }))),
  async (target, condition) => asked(await call(target, '/segments', { name: 'All', condition })),
  async (target, condition) => asked(await call(target, '/contacts/bulk-subscribe', { filter: condition })),
]

const graphql = (query: string, variables: object) => ({ query, variables })

/** The status of an answer, also of one by GraphQL. */
const asked = ({ status, answer }: Awaited<ReturnType<typeof call>>): string =>
  String(answer.errors?.[0]?.extensions?.statusCode ?? status)

export const segmentTree: Attack = {
  name: 'segments: nine of a hundred event filters, all of which have to be true',
  before: '6.7 s and 0.8 GB in the planner',
  run: async (target) => {
    const ids = []
    for (let n = 0; n < SEGMENTS; n += 1) ids.push(await newSegment(target, n))
    const memberOf = ids.map((id) => ({ field: `segment.${id}`, operator: 'memberOfSegment' }))
    const nine = await Promise.all(DOORS.map((door) => door(target, allOf(...memberOf))))
    // The most that one condition may come to: 4 × 101 filters.
    const most = allOf(...memberOf.slice(0, 4))
    const until = performance.now() + LASTS_MS
    const statuses: string[] = []
    const client = async (first: number) => {
      for (let n = first; performance.now() < until; n += 1) {
        const door = DOORS[n % DOORS.length]
        if (door) statuses.push(await door(target, most))
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)))
    const counts = [...Map.groupBy(statuses, (status) => status)].map(
      ([status, all]) => `${all.length} × ${status}`,
    )
    return `nine: ${nine.join(', ')}; four of them: ${counts.toSorted().join(', ')}`
  },
}
