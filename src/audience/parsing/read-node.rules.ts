import { isJsonObject, type JsonObject, typeName } from '../../lib/json.ts'
import type { Problem } from '../tree.rules.ts'

/** A node that is being read: its problems are added to `problems`, under its path. */
export type Node = { json: JsonObject; path: string; problems: Problem[] }

const MAX_TEXT = 1_000

/** Reports a problem with a part of the node; returns null, for "cannot be read". */
export function refuse(node: Node, part: string, code: string, message: string): null {
  const received = typeName(partOf(node, part))
  node.problems.push({ field: joined(node.path, part), message, code, received })
  return null
}

export const joined = (path: string, part: string | number): string =>
  path === '' ? String(part) : `${path}.${part}`

/** A part of the object itself; inherited properties do not count. */
export const partOf = ({ json }: Node, part: string): unknown =>
  Object.hasOwn(json, part) ? json[part] : undefined

/** The node as an object; null, and a problem, when it is none. */
export function readNode(json: unknown, path: string, problems: Problem[]): Node | null {
  if (isJsonObject(json)) return { json, path, problems }
  const [code, message] =
    json === undefined ? ['required', 'is required'] : ['invalid_type', 'must be an object']
  problems.push({ field: path, message, code, received: typeName(json) })
  return null
}

/** One of a few words, in exactly that spelling. */
export function readWord<Word extends string>(node: Node, part: string, words: readonly Word[]): Word | null {
  const value = partOf(node, part)
  if (value === undefined) return refuse(node, part, 'required', `is required: one of ${words.join(', ')}`)
  if (typeof value !== 'string') return refuse(node, part, 'invalid_type', 'must be a string')
  const word = words.find((known) => known === value)
  return word ?? refuse(node, part, 'invalid_enum_value', `must be one of ${words.join(', ')}`)
}

/** A string, number or boolean that can be compared with what the database holds. */
export function readScalar(node: Node, part: string): string | number | boolean | null {
  const value = partOf(node, part)
  if (value === undefined) return refuse(node, part, 'required', 'is required by this operator')
  if (typeof value === 'boolean') return value
  if (typeof value === 'number') {
    return Number.isFinite(value) ? value : refuse(node, part, 'invalid_type', 'must be a finite number')
  }
  if (typeof value !== 'string') {
    return refuse(node, part, 'invalid_type', 'must be a string, a number or a boolean')
  }
  if (value.length > MAX_TEXT) {
    return refuse(node, part, 'too_big', `must have at most ${MAX_TEXT} characters`)
  }
  if (value.isWellFormed() && !value.includes('\0')) return value
  return refuse(node, part, 'invalid_string', 'has characters that cannot be stored')
}

export function readText(node: Node, part: string): string | null {
  const value = readScalar(node, part)
  if (value === null || typeof value === 'string') return value
  return refuse(node, part, 'invalid_type', 'must be a string')
}
