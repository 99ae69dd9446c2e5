import { referencesOf } from '../../audience/references.rules.ts'
import { type Audience, filtersOf } from '../../audience/tree.rules.ts'
import { earliestId } from '../../lib/ids.ts'

export type ChangeRow = { id: string; contactId: string; name: string | null; keys: string[] | null }

/** The names that have changed; null for a new contact. */
export type Topics = { events: Set<string>; keys: Set<string> | null; lastChange: string }

/** The changes of each contact, in their order. */
export function topicsByContact(changes: ChangeRow[]): Map<string, Topics> {
  const all = new Map<string, Topics>()
  for (const { id, contactId, name, keys } of changes) {
    const topics = all.get(contactId) ?? { events: new Set(), keys: new Set(), lastChange: id }
    topics.lastChange = id
    all.set(contactId, topics)
    if (name !== null) topics.events.add(name)
    if (keys === null) topics.keys = null
    else for (const key of keys) topics.keys?.add(key)
  }
  return all
}

const strip = (prefix: string, keys: string[]) =>
  keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length))

/** The same of all contacts together, by kind of interest; null when some are new. */
export function topicsTogether(all: Iterable<Topics>) {
  const [events, keys] = [new Set<string>(), new Set<string>()]
  for (const topics of all) {
    if (topics.keys === null) return null
    for (const event of topics.events) events.add(event)
    for (const key of topics.keys) keys.add(key)
  }
  const names = [...keys]
  return {
    events: [...events],
    fields: names.filter((key) => !key.includes('.')),
    dataKeys: strip('data.', names),
    segments: strip('segment.', names),
  }
}

/** All that an audience names, through segments too, in the spelling of the feed. */
export type Named = { events: Set<string>; keys: Set<string>; lists: Set<string>; dependsOnTime: boolean }

export function namedBy({ tree, segments }: Audience): Named {
  const named: Named = { events: new Set(), keys: new Set(), lists: new Set(), dependsOnTime: false }
  const inner = [...segments.values()].flatMap((one) => (one.members === 'computed' ? [one.condition] : []))
  for (const one of [tree, ...inner]) {
    const { events, keys, fields, segments: lists } = referencesOf(one)
    for (const event of events) named.events.add(event)
    for (const field of fields) if (!field.includes('.')) named.keys.add(field)
    for (const key of keys) named.keys.add(`data.${key}`)
    for (const id of lists) {
      named.keys.add(`segment.${id}`)
      named.lists.add(id)
    }
    named.dependsOnTime ||= [...filtersOf(one)].some(({ filter }) => filter.source.unit !== undefined)
  }
  return named
}

const meet = (some: Set<string>, others: Set<string>): boolean => {
  for (const one of some) if (others.has(one)) return true
  return false
}

/** Whether what has changed may decide about the audience. */
export const concerns = ({ events, keys }: Topics, named: Named): boolean =>
  keys === null || meet(events, named.events) || meet(keys, named.keys)

/** The first id of changes that a segment may hear which listens since then. */
export const heardFrom = (listeningAt: Date | null): string => earliestId(listeningAt ?? new Date(0))
