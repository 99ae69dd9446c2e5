import { dataField } from './fields.rules.ts'
import { type FilterTree, filtersOf } from './tree.rules.ts'

/** Everything that a tree itself names, each once, in the order of the tree; not what its segments name. */
export type References = {
  /** `email`, `subscribed`, `createdAt`, `updatedAt` and `data.<path>`, in the spelling of `dataField`. */
  fields: string[]
  /** The custom fields behind `data.<path>`: the first key of each path. */
  keys: string[]
  /** Names of events; `email.opened` is the event `email.open`. */
  events: string[]
  /** Ids, in lower case. */
  segments: string[]
}

/** Everything that must not be deleted while the tree is in use, and that is read to match it. */
export function referencesOf(tree: FilterTree): References {
  const [fields, keys, events, segments] = [
    new Set<string>(),
    new Set<string>(),
    new Set<string>(),
    new Set<string>(),
  ]
  for (const { filter } of filtersOf(tree)) {
    const { test } = filter
    if (test.on === 'event') events.add(test.name)
    else if (test.on === 'segment') segments.add(test.id)
    else if (test.on === 'data') {
      fields.add(dataField(test.path))
      for (const key of test.path.slice(0, 1)) keys.add(key)
    } else if (test.on !== 'context') fields.add(test.on)
  }
  return { fields: [...fields], keys: [...keys], events: [...events], segments: [...segments] }
}
