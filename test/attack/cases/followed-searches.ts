import { callerOf } from '../../support/service.ts'
import type { Attack } from '../define-attack.ts'

const SEGMENTS = 150
const CHANGES = 5

/** Filters that search all of a text in vain, each for another part. */
const searching = (segment: number) =>
  Array.from({ length: 50 }, (_, index) => ({
    ...{ field: 'data.text', operator: 'notContains', value: `${'a'.repeat(300)}${segment}.${index}` },
  }))

export const followedSearches: Attack = {
  name: 'changes of a contact whose long text every tracked segment searches',
  before: 'all segments of a contact were matched at once, however long that took',
  run: async ({ url, unlimited, signal }) => {
    const caller = callerOf(url, unlimited)
    for (let segment = 0; segment < SEGMENTS; segment += 1) {
      const condition = { logic: 'AND', groups: [{ filters: searching(segment) }] }
      const fields = { name: `Searching ${segment}`, trackMembership: true, condition }
      const { status, text } = await caller.post('/segments', fields)
      if (status !== 201) throw new Error(text)
    }
    const text = 'a'.repeat(60_000)
    const { body } = await caller.post('/contacts', { email: 'ada@example.org', data: { text } })
    const members = async (): Promise<number> => {
      const { body: listed } = await caller.get('/segments')
      return listed.filter(({ memberCount }: { memberCount: number }) => memberCount === 1).length
    }
    for (let change = 0; change < CHANGES && !signal.aborted; change += 1) {
      await caller.patch(`/contacts/${body.id}`, { data: { text: change % 2 === 0 ? `${text}!` : text } })
      await new Promise((resolve) => setTimeout(resolve, 2_000))
    }
    return `${await members()} of ${SEGMENTS} segments have the contact`
  },
}
