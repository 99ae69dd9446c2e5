import { validationError } from '../errors.ts'
import { segmentProblems } from './resolve.rules.ts'
import type { Audience, FilterTree, Segments } from './tree.rules.ts'

/**
 * Joins a tree with the segments that it names, so that it can be compiled and matched. `segments` has to hold
 * those of other segments' conditions too. Throws VALIDATION_ERROR, with the path below `root` of the filter of
 * this tree that is the reason, for an unknown segment, a cycle of segments (`self` is the segment whose
 * condition the tree is), and when it grows beyond what one statement should ask.
 */
export function resolveTree(
  tree: FilterTree,
  segments: Segments,
  root: string,
  self: string | null = null,
): Audience {
  const problems = segmentProblems(tree, segments, root, self)
  if (problems.length > 0) throw validationError(problems)
  return { tree, segments }
}
