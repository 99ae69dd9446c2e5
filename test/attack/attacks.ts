import {
  guessedKeys,
  introspectionAliases,
  introspectionFlood,
  longComments,
  manyDocuments,
} from './cases/graphql-strangers.ts'
import { bodiesInLists, fifteenAliases, largeNestedLists } from './cases/graphql-tenant.ts'
import { largeLists } from './cases/large-lists.ts'
import { largeSends, largeWideSends } from './cases/large-sends.ts'
import { manyConnections } from './cases/many-connections.ts'
import { openApiFlood } from './cases/openapi-flood.ts'
import { stalledReaders } from './cases/stalled-readers.ts'
import type { Attack } from './define-attack.ts'

/** Every attack that is tried, in the order of the README's table. */
export const attacks: readonly Attack[] = [
  openApiFlood,
  stalledReaders,
  manyConnections,
  largeSends,
  largeWideSends,
  largeLists,
  longComments,
  manyDocuments,
  introspectionAliases,
  introspectionFlood,
  guessedKeys,
  fifteenAliases,
  largeNestedLists,
  bodiesInLists,
]
