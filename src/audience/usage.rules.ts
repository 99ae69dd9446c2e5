import { isJsonObject } from '../lib/json.ts'
import { readSingle, readTree } from './parse.rules.ts'
import { type References, referencesOf } from './references.rules.ts'

const NOTHING: References = { fields: [], keys: [], events: [], segments: [] }

export function joinReferences(all: References[]): References {
  const join = (part: keyof References) => [...new Set(all.flatMap((references) => references[part]))]
  return { fields: join('fields'), keys: join('keys'), events: join('events'), segments: join('segments') }
}

const texts = (...values: unknown[]): string[] =>
  values.filter((value): value is string => typeof value === 'string')

/** What a stored condition names. It was checked when it was stored; one that cannot be read names nothing. */
export function referencesOfCondition(condition: unknown, context = false): References {
  if (!isJsonObject(condition)) return NOTHING
  const tree =
    'groups' in condition ? readTree(condition, '', { context }) : readSingle(condition, '', { context })
  return Array.isArray(tree) ? NOTHING : referencesOf(tree)
}

/** What the configuration of a workflow's trigger names. */
export function referencesOfTrigger(type: string, config: unknown): References {
  if (!isJsonObject(config)) return NOTHING
  if (type === 'EVENT') return { ...NOTHING, events: texts(config.eventName) }
  return { ...NOTHING, segments: texts(config.segmentId) }
}

/** What the configuration of a workflow step names. */
export function referencesOfStep(type: string, config: unknown): References {
  if (!isJsonObject(config)) return NOTHING
  if (type === 'CONDITION') return referencesOfCondition(config.condition ?? config, true)
  if (type === 'WAIT_FOR_EVENT') return { ...NOTHING, events: texts(config.eventName) }
  if (type !== 'UPDATE_CONTACT' || !isJsonObject(config.updates)) return NOTHING
  return { ...NOTHING, keys: Object.keys(config.updates) }
}
