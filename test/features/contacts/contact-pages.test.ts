import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { createContactInput } from '../../../src/features/contacts/contacts.input.ts'
import { createContact } from '../../../src/features/contacts/contacts.ts'
import { scenario } from '../../support/scenario.ts'
import { runs } from '../../support/seeded.ts'
import { type Body, type Project, type Service, startService } from '../../support/service.ts'

/** What happens between two pages. `of` picks one of the contacts that there are. */
type Change =
  | { kind: 'insert'; name: string; ms: number; subscribed: boolean }
  | { kind: 'delete'; of: number }
  | { kind: 'rename'; of: number; name: string }
  | { kind: 'flip'; of: number }

type Walk = {
  atFirst: Extract<Change, { kind: 'insert' }>[]
  /** The changes before the second page, before the third, … */
  between: Change[][]
  query: { limit: number; sort?: string; dir?: string; search?: string; subscribed?: boolean }
}

/** Few of each, so that contacts are of one moment and searches find some. */
const name = fc.string({
  unit: fc.constantFrom('a', 'b', 'B', '_', '%', '.', '-', '0'),
  minLength: 1,
  maxLength: 6,
})
const insert = fc.record({
  kind: fc.constant('insert' as const),
  name,
  ms: fc.nat(3),
  subscribed: fc.boolean(),
})
const change: fc.Arbitrary<Change> = fc.oneof(
  insert,
  insert,
  fc.record({ kind: fc.constant('delete' as const), of: fc.nat(50) }),
  fc.record({ kind: fc.constant('rename' as const), of: fc.nat(50), name }),
  fc.record({ kind: fc.constant('flip' as const), of: fc.nat(50) }),
)
const walk: fc.Arbitrary<Walk> = fc.record({
  atFirst: fc.array(insert, { maxLength: 25 }),
  between: fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 6 }),
  query: fc.record(
    {
      limit: fc.integer({ min: 1, max: 8 }),
      sort: fc.constantFrom('createdAt', 'email'),
      dir: fc.constantFrom('asc', 'desc'),
      search: fc.constantFrom('a', 'A', 'b_', '%', 'example'),
      subscribed: fc.boolean(),
    },
    { requiredKeys: ['limit'] },
  ),
})

const EPOCH = Date.parse('2026-03-04T05:06:07Z')

type Item = { id: string; email: string; subscribed: boolean; createdAt: string }

/** A list that changes while it is read, and which contacts have not changed in it. */
class ChangingList {
  #sequence = 0
  readonly service: Service
  readonly project: Project
  readonly touched = new Set<string>()

  constructor(service: Service, project: Project) {
    this.service = service
    this.project = project
  }

  /** Unique, whatever the name: SMTP names may not begin or end with a dot. */
  #address(part: string): string {
    this.#sequence += 1
    return `x${part.replaceAll(/\.+/g, '.')}x${this.#sequence}@example.org`
  }

  all(): Promise<Item[]> {
    return this.service.sql<Item>(
      'select id, email, subscribed, created_at as "createdAt" from contacts where project_id = $1 order by id',
      [this.project.id],
    )
  }

  async apply(given: Change): Promise<void> {
    const ctx = this.service.ctx(this.project.id)
    if (given.kind === 'insert') {
      const { ms, subscribed } = given
      const at = { ...ctx, now: () => new Date(EPOCH + ms) }
      const input = createContactInput.parse({ email: this.#address(given.name), subscribed })
      const { id } = await createContact(at, input)
      this.touched.add(id)
      return
    }
    const contacts = await this.all()
    const contact = contacts[given.of % Math.max(contacts.length, 1)]
    if (!contact) return
    this.touched.add(contact.id)
    const body =
      given.kind === 'flip' ? { subscribed: !contact.subscribed } : { email: this.#addressOf(given) }
    const method = given.kind === 'delete' ? 'DELETE' : 'PATCH'
    const caller = this.service.as(this.project)
    const answer = await caller.call(method, `/contacts/${contact.id}`, method === 'PATCH' ? body : undefined)
    assert.ok(answer.status < 300, answer.text)
  }

  #addressOf(given: Change): string {
    return this.#address('name' in given ? given.name : '')
  }

  async page(query: Walk['query'], cursor: string | null): Promise<Body> {
    const parameters = new URLSearchParams(
      Object.entries({ ...query, ...(cursor !== null && { cursor }) }).map(([key, value]) => [
        key,
        String(value),
      ]),
    )
    const answer = await this.service.as(this.project).get(`/contacts?${parameters}`)
    assert.is(answer.status, 200, answer.text)
    return answer.body
  }
}

const matches = ({ search, subscribed }: Walk['query'], item: Item): boolean =>
  (search === undefined || item.email.includes(search.toLowerCase())) &&
  (subscribed === undefined || item.subscribed === subscribed)

/** The order of the items as the database would have it. */
async function inOrder({ sql }: Service, items: Item[], { sort, dir }: Walk['query']): Promise<string[]> {
  const direction = dir === 'asc' ? 'asc' : 'desc'
  const by = sort === 'email' ? `email ${direction}` : `at ${direction}, id ${direction}`
  const rows = await sql<{ id: string }>(
    `select id from unnest($1::uuid[], $2::text[], $3::timestamptz[]) as item (id, email, at) order by ${by}`,
    [items.map(({ id }) => id), items.map(({ email }) => email), items.map(({ createdAt }) => createdAt)],
  )
  return rows.map(({ id }) => id)
}

/** There are not as many contacts. */
const MOST_PAGES = 100

/** Reads all pages, with what happens between them, and returns what was on them. */
async function read(list: ChangingList, { between, query }: Walk): Promise<Item[]> {
  const items: Item[] = []
  let page = await list.page(query, null)
  assert.is(
    page.total,
    (await list.all()).filter((item) => matches(query, item)).length,
    'total of the first page',
  )
  for (let turn = 0; turn < MOST_PAGES; turn += 1) {
    assert.ok(
      page.data.every((item: Item) => matches(query, item)),
      'a page has only what was asked for',
    )
    assert.is(page.hasMore, page.cursor !== null)
    if (page.hasMore) assert.is(page.data.length, query.limit)
    else assert.ok(page.data.length <= query.limit)
    items.push(...page.data)
    if (page.cursor === null) return items
    for (const next of between[turn] ?? []) await list.apply(next)
    page = await list.page(query, page.cursor)
    assert.is(page.total, 0, 'total of a later page')
  }
  throw new Error('the pages do not end')
}

async function check(service: Service, project: Project, given: Walk): Promise<void> {
  const list = new ChangingList(service, project)
  for (const next of given.atFirst) await list.apply(next)
  list.touched.clear()
  const before = (await list.all()).filter((item) => matches(given.query, item))
  const items = await read(list, given)
  const seen = items.map(({ id }) => id)
  const emails = items.map(({ email }) => email)
  assert.is(new Set(emails).size, emails.length, 'no address is seen twice')
  // Who gets another address while the list is sorted by it moves in the list, as if deleted and made anew.
  const settled = given.query.sort === 'email' ? seen.filter((id) => !list.touched.has(id)) : seen
  assert.is(new Set(settled).size, settled.length, 'nobody is seen twice')
  const missed = before.filter(({ id }) => !list.touched.has(id) && !seen.includes(id))
  assert.equal(missed, [], 'nobody who was there throughout is missed')
  if (new Set(seen).size === seen.length) assert.equal(seen, await inOrder(service, items, given.query))
}

scenario(
  'Pages of contacts',
  () => startService({ ROLES: 'http' }),
  (test) => {
    test('show everybody once, whatever happens between them', async (service) => {
      await fc.assert(
        fc.asyncProperty(walk, async (given) => {
          await check(service, await service.newProject(), given)
        }),
        { numRuns: runs(120) },
      )
    })

    test('show everybody once when all are of one moment', async (service) => {
      for (const sort of ['createdAt', 'email']) {
        for (const dir of ['asc', 'desc']) {
          const atFirst = Array.from({ length: 30 }, (_, index) => ({
            kind: 'insert' as const,
            name: `n${index}`,
            ms: 0,
            subscribed: true,
          }))
          const given = { atFirst, between: [], query: { limit: 7, sort, dir } }
          const project = await service.newProject()
          await check(service, project, given)
          const list = new ChangingList(service, project)
          assert.is((await read(list, given)).length, 30)
        }
      }
    })
  },
)
