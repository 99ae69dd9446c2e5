import { NO_SUCH_SEGMENT } from './fields.rules.ts'
import { type FilterTree, filtersOf, type Problem, type Segments } from './tree.rules.ts'

/**
 * Most filters of a tree together with those of the segments that it names; counted each time that it names
 * them.
 */
const MAX_RESOLVED_FILTERS = 500
/** Segments that are asked for by segments. */
export const MAX_SEGMENT_CHAIN = 10

/** Size of a tree with its segments put in: the number of its filters, and how deep segments are nested. */
type Extent = { filters: number; chain: number }

/** Why a tree cannot be resolved. */
type Obstacle = { code: 'custom' | 'too_big'; message: string }

/**
 * Problems with the segments that a tree names: unknown ones, a circle, too many. Each problem is reported at
 * the filter of this tree that leads there. `self` is the segment whose condition the tree is.
 */
export function segmentProblems(
  tree: FilterTree,
  segments: Segments,
  root: string,
  self: string | null,
): Problem[] {
  const known = new Map<string, Extent | Obstacle>()
  const open = new Set(self === null ? [] : [self])
  const problems: Problem[] = []
  let filters = 0
  for (const { filter, path } of filtersOf(tree, root)) {
    filters += 1
    if (filter.test.on !== 'segment') continue
    const found = extentOfSegment(filter.test.id, { segments, known, open })
    if ('code' in found) problems.push({ field: `${path}.field`, ...found, received: 'string' })
    else filters += found.filters
  }
  if (problems.length === 0 && filters > MAX_RESOLVED_FILTERS) {
    problems.push({ field: root, ...TOO_MANY, received: 'object' })
  }
  return problems
}

type Search = { segments: Segments; known: Map<string, Extent | Obstacle>; open: Set<string> }

/** Looks at each segment once, however often it is named. */
function extentOfSegment(id: string, search: Search): Extent | Obstacle {
  const { segments, known, open } = search
  if (open.has(id)) return CYCLE
  const seen = known.get(id)
  if (seen) return seen
  if (open.size > MAX_SEGMENT_CHAIN) return TOO_LONG
  const source = segments.get(id)
  if (!source) return { code: 'custom', message: NO_SUCH_SEGMENT }
  open.add(id)
  const found = source.members === 'stored' ? { filters: 0, chain: 1 } : extentOf(source.condition, search)
  open.delete(id)
  known.set(id, found)
  return found
}

function extentOf(tree: FilterTree, search: Search): Extent | Obstacle {
  const extent: Extent = { filters: 0, chain: 1 }
  for (const { filter } of filtersOf(tree)) {
    extent.filters += 1
    if (filter.test.on !== 'segment') continue
    const inner = extentOfSegment(filter.test.id, search)
    if ('code' in inner) return inner
    extent.filters += inner.filters
    extent.chain = Math.max(extent.chain, inner.chain + 1)
  }
  if (extent.chain > MAX_SEGMENT_CHAIN) return TOO_LONG
  return extent.filters > MAX_RESOLVED_FILTERS ? TOO_MANY : extent
}

const CYCLE: Obstacle = {
  code: 'custom',
  message: 'leads back to the segment itself, or to one that asks for itself',
}
const TOO_LONG: Obstacle = {
  code: 'too_big',
  message: `leads through more than ${MAX_SEGMENT_CHAIN} segments, one inside the other`,
}
const TOO_MANY: Obstacle = {
  code: 'too_big',
  message: `has more than ${MAX_RESOLVED_FILTERS} filters together with those of the segments that it names`,
}
