import type { JsonValue } from '../lib/json.ts'
import type { DataTest } from './data-test.rules.ts'
import type { TimeTest, Unit, Window } from './dates.rules.ts'

export const LOGICS = ['AND', 'OR'] as const
export type Logic = (typeof LOGICS)[number]

export const OPERATORS = [
  'equals',
  'notEquals',
  'contains',
  'notContains',
  'greaterThan',
  'greaterThanOrEqual',
  'lessThan',
  'lessThanOrEqual',
  'within',
  'olderThan',
  'exists',
  'notExists',
  'triggered',
  'triggeredWithin',
  'triggeredOlderThan',
  'notTriggered',
  'notTriggeredWithin',
  'memberOfSegment',
  'notMemberOfSegment',
] as const
export type Operator = (typeof OPERATORS)[number]

/** A filter as it was written, without what its operator has no use for. */
export type FilterSource = {
  field: string
  operator: Operator
  value?: string | number | boolean
  unit?: Unit
}

/**
 * The question of a filter, always in the positive; `negated` of the filter turns it around. So "is not" is
 * exactly the opposite of "is", for contacts without the key as well.
 */
export type Test =
  | { on: 'email'; is: 'equal' | 'containing'; text: string }
  | { on: 'subscribed'; value: boolean }
  | { on: 'createdAt' | 'updatedAt'; is: TimeTest }
  | { on: 'data'; path: string[]; is: DataTest }
  /** A value of the event that a workflow runs for; only in memory. */
  | { on: 'context'; path: string[]; is: DataTest }
  | { on: 'event'; name: string; byPersons: boolean; last: EventTest }
  | { on: 'segment'; id: string }

/** About the last event of a name: there is one; it is inside the window; it is before the window. */
export type EventTest = { is: 'any' } | { is: 'within' | 'olderThan'; window: Window }

export type Filter = { source: FilterSource; negated: boolean; test: Test }
/** Everything in a group has to be true. */
export type Group = { filters: Filter[]; conditions: FilterTree | null }
/** A checked tree; only `parseTree` creates it. `logic` joins the groups. */
export type FilterTree = { logic: Logic; groups: Group[] }

export type FilterTreeJson = {
  logic: Logic
  groups: { filters: FilterSource[]; conditions?: FilterTreeJson }[]
}

/**
 * The tree as JSON, to be stored and shown: the given fields, without unknown keys. Parsing it returns the
 * same tree.
 */
export function toJson(tree: FilterTree): FilterTreeJson {
  return {
    logic: tree.logic,
    groups: tree.groups.map(({ filters, conditions }) => ({
      filters: filters.map(({ source }) => source),
      ...(conditions && { conditions: toJson(conditions) }),
    })),
  }
}

/** Every filter of a tree, with its dotted path below `root`. Inlined segments are not entered. */
export function* filtersOf(tree: FilterTree, root = ''): Generator<{ filter: Filter; path: string }> {
  const start = root === '' ? '' : `${root}.`
  for (const [index, { filters, conditions }] of tree.groups.entries()) {
    const group = `${start}groups.${index}`
    for (const [position, filter] of filters.entries()) {
      yield { filter, path: `${group}.filters.${position}` }
    }
    if (conditions) yield* filtersOf(conditions, `${group}.conditions`)
  }
}

/** Where the members of a segment are: in the table of members, or wherever its condition is true. */
export type SegmentSource = { members: 'stored' } | { members: 'computed'; condition: FilterTree }
export type Segments = ReadonlyMap<string, SegmentSource>

/**
 * A tree together with the segments that it names, directly or through other segments. Only `resolveTree`
 * creates it, after checking that all are known, that there is no circle, and that it stays within the
 * limits.
 */
export type Audience = { tree: FilterTree; segments: Segments }

/** The source of a segment of an audience. */
export function segmentOf({ segments }: Audience, id: string): SegmentSource {
  const source = segments.get(id)
  if (!source) throw new Error(`Segment ${id} was not resolved`)
  return source
}

/** A problem of one node, in the shape of a field error. */
export type Problem = { field: string; message: string; code: string; received?: string }

/** The value of a nested key, through objects only: lists have no keys. Keys such as `__proto__` are like any other. */
export function valueAt(data: JsonValue, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = data
  for (const key of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    if (!Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}
