import { validationError } from '../../errors.ts'
import type { FilterTree, Problem } from '../tree.rules.ts'
import { readSingle, readTree } from './parse.rules.ts'

/**
 * Reads a filter tree, as a request or a row holds it. Throws VALIDATION_ERROR with one entry per bad node, its
 * path dotted and below `root` (`condition.groups.0.filters.2.operator`). Whether the segments exist is seen by
 * `resolveTree`. With `context`, `event.<path>` may also ask for a value of the event that a workflow runs for;
 * such a tree can be matched, not compiled.
 */
export const parseTree = (json: unknown, root: string, { context = false } = {}): FilterTree =>
  valid(readTree(json, root, { context }))

/** The same for one filter without a tree around it, as a workflow condition may have it. */
export const parseFilter = (json: unknown, root: string, { context = false } = {}): FilterTree =>
  valid(readSingle(json, root, { context }))

function valid(read: FilterTree | Problem[]): FilterTree {
  if (Array.isArray(read)) throw validationError(read)
  return read
}
