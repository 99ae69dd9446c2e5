import { type Filter, type FilterTree, type Group, LOGICS, type Problem } from '../tree.rules.ts'
import { type FilterOptions, readFilter } from './parse-filter.rules.ts'
import { joined, type Node, partOf, readNode, readWord, refuse } from './read-node.rules.ts'

const MAX_DEPTH = 10
const MAX_FILTERS = 100
/** Every filter may have a group of its own on every level. */
const MAX_GROUPS = MAX_FILTERS * MAX_DEPTH

/** Counts the nodes read so far; no more are read than a tree may have, however large the input is. */
type Reader = {
  root: string
  problems: Problem[]
  groups: number
  filters: number
  tooLarge: boolean
  options: FilterOptions
}

/** Reads a tree from JSON: the tree, or everything that is wrong with it, each with its dotted path below `root`. */
export function readTree(json: unknown, root: string, options: FilterOptions): FilterTree | Problem[] {
  const reader: Reader = { root, problems: [], groups: 0, filters: 0, tooLarge: false, options }
  const tree = treeAt(reader, json, root, 1)
  return reader.problems.length === 0 && tree ? tree : reader.problems
}

function treeAt(reader: Reader, json: unknown, path: string, depth: number): FilterTree | null {
  const node = readNode(json, path, reader.problems)
  if (!node) return null
  if (depth > MAX_DEPTH) {
    const message = `must not be nested more than ${MAX_DEPTH} deep`
    reader.problems.push({ field: path, message, code: 'too_big', received: 'object' })
    return null
  }
  const logic = readWord(node, 'logic', LOGICS)
  const list = readGroups(node)
  reader.groups += list.length
  const groups = list
    .map((group, index) => groupAt(reader, group, `${joined(path, 'groups')}.${index}`, depth))
    .filter((group) => group !== null)
  return logic && { logic, groups }
}

function readGroups(node: Node): unknown[] {
  const groups = partOf(node, 'groups')
  if (groups === undefined) refuse(node, 'groups', 'required', 'is required')
  else if (!Array.isArray(groups)) refuse(node, 'groups', 'invalid_type', 'must be a list')
  else if (groups.length === 0) refuse(node, 'groups', 'too_small', 'must have at least one group')
  else if (groups.length > MAX_FILTERS) {
    refuse(node, 'groups', 'too_big', `must have at most ${MAX_FILTERS} groups`)
  } else return groups
  return []
}

function groupAt(reader: Reader, json: unknown, path: string, depth: number): Group | null {
  const node = readNode(json, path, reader.problems)
  if (!node) return null
  const nested = partOf(node, 'conditions') ?? undefined
  const list = readFilters(node, nested !== undefined)
  reader.filters += list.length
  if (isTooLarge(reader)) return null
  const filters = list
    .map((filter, index) => filterAt(reader, filter, `${path}.filters.${index}`))
    .filter((filter) => filter !== null)
  const conditions = nested === undefined ? null : treeAt(reader, nested, `${path}.conditions`, depth + 1)
  return { filters, conditions }
}

/** null means the same as leaving the list out. */
function readFilters(node: Node, mayBeEmpty: boolean): unknown[] {
  const filters = partOf(node, 'filters') ?? undefined
  if (filters === undefined) {
    if (!mayBeEmpty) refuse(node, 'filters', 'required', 'is required without conditions')
  } else if (!Array.isArray(filters)) refuse(node, 'filters', 'invalid_type', 'must be a list')
  else if (filters.length === 0 && !mayBeEmpty) {
    refuse(node, 'filters', 'too_small', 'must have at least one filter without conditions')
  } else if (filters.length > MAX_FILTERS) {
    refuse(node, 'filters', 'too_big', `must have at most ${MAX_FILTERS} filters`)
  } else return filters
  return []
}

function filterAt(reader: Reader, json: unknown, path: string): Filter | null {
  const node = readNode(json, path, reader.problems)
  return node && readFilter(node, reader.options)
}

function isTooLarge(reader: Reader): boolean {
  if (reader.tooLarge) return true
  reader.tooLarge = reader.filters > MAX_FILTERS || reader.groups > MAX_GROUPS
  if (reader.tooLarge) {
    const message = `must have at most ${MAX_FILTERS} filters`
    reader.problems.push({ field: reader.root, message, code: 'too_big', received: 'object' })
  }
  return reader.tooLarge
}

/** Reads one filter without a tree around it; its paths are `root.field` and so on. */
export function readSingle(json: unknown, root: string, options: FilterOptions): FilterTree | Problem[] {
  const problems: Problem[] = []
  const node = readNode(json, root, problems)
  const filter = node && readFilter(node, options)
  return filter ? { logic: 'AND', groups: [{ filters: [filter], conditions: null }] } : problems
}
