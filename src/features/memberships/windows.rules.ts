import { millisecondsOf, type Window } from '../../audience/dates.rules.ts'
import { type Filter, type FilterTree, filtersOf, type Test } from '../../audience/tree.rules.ts'

/** Times between which something must have been so that a window has passed for it. */
export type Passed = { since: Date; before: Date }

const shifted = (time: Date, window: Window): number => time.getTime() - millisecondsOf(window)

/**
 * The span that has left a window between two looks: it began after `from` minus its length, and by `to`
 * minus its length.
 */
const passed = (window: Window, from: Date, to: Date): Passed => ({
  since: new Date(shifted(from, window)),
  before: new Date(shifted(to, window)),
})

export type Boundaries = {
  events: (Passed & { name: string })[]
  created: Passed[]
  /**
   * The filters that all contacts have to be searched for, and the keys that change for those contacts; null:
   * none.
   */
  search: { tree: FilterTree; keys: string[] } | null
}

/** The parts of the conditions whose windows have passed between `from` and `to`. */
export function boundariesOf(trees: FilterTree[], from: Date, to: Date): Boundaries {
  const boundaries: Boundaries = { events: [], created: [], search: null }
  const [filters, keys] = [new Map<string, Filter>(), new Set<string>()]
  const seen = new Set<string>()
  for (const tree of trees) {
    for (const { filter } of filtersOf(tree)) {
      const { test } = filter
      const window = windowOf(test)
      const key = JSON.stringify(test)
      if (!window || seen.has(key)) continue
      seen.add(key)
      const span = passed(window, from, to)
      if (test.on === 'event') boundaries.events.push({ name: test.name, ...span })
      else if (test.on === 'createdAt') boundaries.created.push(span)
      else {
        filters.set(key, { ...filter, negated: false, test: insideSpan(test, span) })
        keys.add(test.on === 'data' ? `data.${test.path[0]}` : test.on)
      }
    }
  }
  if (filters.size === 0) return boundaries
  const groups = [...filters.values()].map((filter) => ({ filters: [filter], conditions: null }))
  return { ...boundaries, search: { tree: { logic: 'OR', groups }, keys: [...keys] } }
}

function windowOf(test: Test): Window | null {
  if (test.on === 'event') return test.last.is === 'any' ? null : test.last.window
  if (test.on === 'createdAt' || test.on === 'updatedAt') return test.is.is === 'span' ? null : test.is.window
  if (test.on !== 'data' || test.is.is !== 'date' || test.is.test.is === 'span') return null
  return test.is.test.window
}

/** The same question about the span instead of a window. */
function insideSpan(test: Test, { since, before }: Passed): Test {
  const is = { is: 'span', span: { from: since.getTime(), before: before.getTime() } } as const
  if (test.on === 'data') return { ...test, is: { is: 'date', test: is } }
  return { on: 'updatedAt', is }
}
